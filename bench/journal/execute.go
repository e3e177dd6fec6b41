package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"tickhive/bench/proc"
	"tickhive/engine"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/wal"
	"tickhive/marketdata"
	"tickhive/marketdata/replica"
)

// Records holds the records of the market in a stream, by message.
type Records struct {
	Messages [][]wal.Record
	Commands int

	log  jet.Log
	last uint64
}

// Read reads the records of a stream up to the message last into memory.
func Read(ctx context.Context, log jet.Log, last uint64) (r *Records, err error) {
	r = &Records{log: log, last: last}
	err = eachMessage(ctx, log, last, func(m *stream.Message) error {
		records := ofMarket(nil, m)
		r.Messages, r.Commands = append(r.Messages, records), r.Commands+len(records)
		return nil
	})
	return r, err
}

func ofMarket(dst []wal.Record, m *stream.Message) []wal.Record {
	for at, record := range m.All() {
		if at.Log == stream.Engine {
			dst = append(dst, wal.Record{Seq: at.Pos, Payload: record})
		}
	}
	return dst
}

// FromMemory executes the records over an empty market, with a publication a message, and returns the CPU ns a command.
func (r *Records) FromMemory() (ns float64, err error) {
	return executed(r.Commands, func(m *replica.Replica) error {
		for _, records := range r.Messages {
			if err := show(m, records); err != nil {
				return err
			}
		}
		return nil
	})
}

// FromStream does the same with the records that it follows in the stream.
func (r *Records) FromStream(ctx context.Context) (ns float64, err error) {
	return executed(r.Commands, func(m *replica.Replica) error {
		var records []wal.Record
		return eachMessage(ctx, r.log, r.last, func(msg *stream.Message) error {
			records = ofMarket(records[:0], msg)
			return show(m, records)
		})
	})
}

// eachMessage follows a stream up to the message last.
func eachMessage(ctx context.Context, log jet.Log, last uint64, each func(m *stream.Message) error) error {
	reader := stream.NewReader(stream.State{}, ^uint16(0))
	enough := errors.New("journal: the last message")
	err := log.Follow(ctx, 1, func(seq uint64, data []byte) error {
		m, valid, err := reader.Next(seq, data)
		if err == nil && valid {
			err = each(&m)
		}
		if err == nil && seq >= last {
			err = enough
		}
		return err
	})
	if errors.Is(err, enough) {
		return nil
	}
	return fmt.Errorf("journal: the stream: %w", err)
}

// show executes the records of a message and publishes.
func show(m *replica.Replica, records []wal.Record) error {
	for _, rec := range records {
		if err := m.Apply(rec); err != nil {
			return err
		}
	}
	m.Feed.Publish(m.LastNs)
	return nil
}

// executed returns the CPU a command of a run over an empty market, and checks that it executed all commands.
func executed(commands int, run func(m *replica.Replica) error) (ns float64, err error) {
	m := replica.New(replica.Options{Engine: engine.Options{}, Market: marketdata.Options{}})
	runtime.GC() // the collector's work for what was before is not part of the run
	before := proc.OwnCPU()
	if err := run(m); err != nil {
		return 0, err
	}
	if m.Pos != uint64(commands) {
		return 0, fmt.Errorf("journal: %d commands were executed, want %d", m.Pos, commands)
	}
	return float64((proc.OwnCPU() - before).Nanoseconds()) / float64(commands), nil
}
