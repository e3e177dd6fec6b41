package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
)

// Load holds the groups of records that an appender takes.
type Load struct {
	Group, Window int // commands in a group; groups that are not confirmed
	Command       int // bytes in the stream
	For           time.Duration
}

// Append adds groups of records to an appender of a new stream, and returns the commands a second.
func Append(servers jet.Remote, epoch string, copies int, by Load) (rate float64, err error) {
	conn, err := jet.Connect(servers)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	log, err := conn.Log(ctx, epoch, copies)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	found := stream.Founding{History: [16]byte{1}}
	w, err := stream.Campaign(node.Candidate(stream.State{}, 1, nil, found), 0)
	if err != nil {
		return 0, err
	}
	a := jet.NewAppender(log, w, jet.Timing{
		NowNs: clock.MachineNs, BeatAfter: node.BeatAfter, AckTimeout: 2 * time.Second,
	})
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	for status := stream.Campaigning; status != stream.Leading; status, _ = a.Status() {
		select {
		case err := <-ended:
			return 0, fmt.Errorf("journal: the appender: %w", err)
		case <-a.Wake():
		}
	}
	rate, err = by.run(a, ended)
	cancel()
	<-ended
	return rate, err
}

// run adds groups while fewer than the window are not confirmed.
func (by *Load) run(a *jet.Appender, ended chan error) (rate float64, err error) {
	records := make([][]byte, by.Group)
	for i := range records {
		records[i] = bytes.Repeat([]byte("x"), by.Command-1) // and its length
	}
	added := uint64(0)
	wait := func(open uint64) error {
		for {
			status, at := a.Status()
			if added-at.Pos.Of(stream.Engine) <= open {
				return nil
			}
			if status == stream.Fenced {
				return errors.New("journal: the appender is fenced")
			}
			select {
			case err := <-ended:
				ended <- err
				return fmt.Errorf("journal: the appender: %w", err)
			case <-a.Wake():
			}
		}
	}
	start := time.Now()
	for time.Since(start) < by.For {
		if err := wait(uint64((by.Window - 1) * by.Group)); err != nil {
			return 0, err
		}
		if added, err = a.Add(stream.Engine, records...); err != nil {
			return 0, fmt.Errorf("journal: the appender: %w", err)
		}
	}
	if err := wait(0); err != nil {
		return 0, err
	}
	return float64(added) / time.Since(start).Seconds(), nil
}
