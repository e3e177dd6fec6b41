package tickhivetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/sim/replay"
)

// recordingFiles names recorded market data.
type recordingFiles struct {
	format string
	files  []string
}

// playback feeds the records of a recording as the test advances the clock.
//
// Owner: the test's goroutine. The replay runs on a goroutine of its own, which waits in due while the test's goroutine
// goes on, and reverse.
type playback struct {
	replay *replay.Replay
	pair   string // code

	to     chan int64    // time up to which records are due; closed: the end
	played chan struct{} // the replay waits: all records up to the time are fed
	done   chan struct{} // closed when the replay has ended
	err    error         // of the replay; valid once done is closed
	until  int64         // the newest value of to; the replay's
	next   int64         // time of the record that waits; the replay's until it waits
	began  bool
}

// open reads the files once.
func (r *recordingFiles) open(s *setup) (p *playback, err error) {
	if s.real {
		return nil, errors.New("Recording: the recorded times drive the clock: leave out RealClock")
	}
	if s.text.Len() > 0 {
		return nil, errors.New("Recording: the pair comes from the files: leave out Pairs")
	}
	p = &playback{
		to: make(chan int64), played: make(chan struct{}), done: make(chan struct{}), until: math.MinInt64,
	}
	o := replay.Options{Format: r.format, Files: r.files, Due: p.due}
	for _, flag := range s.flags {
		if err := setFlag(&o, flag); err != nil {
			return nil, err
		}
	}
	if p.replay, err = replay.New(o); err != nil {
		if strings.Contains(err.Error(), "--") {
			err = fmt.Errorf("%w (RecordingFlags takes the flag)", err)
		}
		return nil, err
	}
	if p.replay.Unnamed() {
		return nil, fmt.Errorf("Recording: %s does not name the pair: give RecordingFlags(\"--pair=BASE_QUOTE\")",
			strings.Join(r.files, ", "))
	}
	p.pair = p.replay.PairSpec().Code
	return p, nil
}

// setFlag sets what a flag of RecordingFlags says.
func setFlag(o *replay.Options, flag string) error {
	name, value, given := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	fields := map[string]*string{"pair": &o.Pair, "digits": &o.Digits, "from": &o.From, "quotes": &o.Quotes}
	layout := reflect.ValueOf(&o.Layout).Elem()
	for i := range layout.NumField() {
		fields[layout.Type().Field(i).Tag.Get("toml")] = layout.Field(i).Addr().Interface().(*string)
	}
	field := fields[name]
	switch {
	case !strings.HasPrefix(flag, "--") || !given || value == "":
		return fmt.Errorf("RecordingFlags: %q must have the form --NAME=VALUE", flag)
	case field == nil:
		return fmt.Errorf("RecordingFlags: --%s is none of --%s", name,
			strings.Join(slices.Sorted(maps.Keys(fields)), ", --"))
	}
	*field = value
	return nil
}

// errEnded ends a replay with its test.
var errEnded = errors.New("the exchange has ended")

// due waits until records of a time are due.
func (p *playback) due(ns int64) error {
	for p.next = ns; ns > p.until; {
		p.played <- struct{}{}
		to, more := <-p.to
		if !more {
			return errEnded
		}
		p.until = to
	}
	return nil
}

// begin starts the replay, which waits before its first record.
func (p *playback) begin(x *exchange.Running) error {
	id, err := p.replay.Join(x)
	if err != nil {
		return err
	}
	p.began = true
	go func() {
		defer close(p.done)
		_, p.err = p.replay.Run(context.Background(), x, id, nil)
	}()
	return p.settle()
}

// settle returns when the replay waits or has ended.
func (p *playback) settle() error {
	select {
	case <-p.played:
		return nil
	case <-p.done:
		return p.err
	}
}

// advance feeds the records up to a time.
func (p *playback) advance(ns int64) error {
	select {
	case <-p.done:
		return p.err
	case p.to <- ns:
		return p.settle()
	}
}

// end ends the replay. p may be nil.
func (p *playback) end() {
	if p == nil || !p.began {
		return
	}
	p.began = false
	close(p.to)
	<-p.done
}
