package realism

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/sim"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// recording names the files of one recording and the format in which they are read.
type recording struct {
	format string
	files  []string
}

// group detects the formats and puts together the files that make one recording: a LOBSTER message file and its
// book, and all answers of Kraken. Every other file is a recording of its own.
func group(files []string) ([]recording, error) {
	var out []recording
	for _, file := range files {
		name := format.Detect(file, "", format.Layout{}).Format
		if name == "" {
			return nil, fmt.Errorf("realism: %s: the format is unknown; tickhive replay --detect says why", file)
		}
		at := slices.IndexFunc(out, func(r recording) bool {
			return r.format == name && (name == "kraken" || name == "lobster" && len(r.files) == 1)
		})
		if at < 0 {
			out = append(out, recording{format: name})
			at = len(out) - 1
		}
		out[at].files = append(out[at].files, file)
	}
	return out, nil
}

// Record reads recordings and returns the samples of each.
func Record(files []string) ([]Samples, error) {
	recordings, err := group(files)
	if err != nil {
		return nil, err
	}
	var all []Samples
	for _, r := range recordings {
		s, err := r.read()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (r *recording) read() (Samples, error) {
	in, err := format.New(r.format, r.files)
	if err != nil {
		return nil, fmt.Errorf("realism: %w", err)
	}
	survey, err := format.Learn(in)
	if err != nil {
		return nil, err //nolint:wrapcheck // a LineError names its file and line
	}
	if _, _, err := survey.Choose(0, 0, false); err != nil {
		return nil, err //nolint:wrapcheck // it names the digits
	}
	window := windowLong
	if survey.LastNs-survey.FirstNs < int64(time.Hour) {
		window = windowShort
	}
	p := player{tape: newTape(window), shape: survey.Shape}
	defer in.Close()
	if err := in.Open(survey); err != nil {
		return nil, err //nolint:wrapcheck // a LineError names its file and line
	}
	var rec format.Record
	for {
		switch err := in.Next(&rec); {
		case errors.Is(err, io.EOF):
			return p.tape.finish(), nil
		case err != nil:
			return nil, err //nolint:wrapcheck // a LineError names its file and line
		}
		p.play(&rec)
	}
}

// player enters the records of one recording on a tape.
type player struct {
	*tape
	shape  format.Shape
	bookAt uint64 // number of the newest update in the book; 0: no book yet
}

func (p *player) play(r *format.Record) {
	if r.Kind < format.Candle {
		p.advance(r.NS)
	}
	switch r.Kind {
	case format.Place:
		p.place(r.Amount)
	case format.Cancel:
		if r.Amount > 0 || p.shape == format.Messages {
			p.cancel()
		}
	case format.Execute:
		if p.shape == format.Orders {
			return // the file has its trade, too
		}
		p.trade(r.NS, r.Side.Opposite(), r.Price, r.Amount)
	case format.Trade, format.Report:
		p.public(r)
	case format.Book:
		p.setBook(r)
		p.bookAt = max(r.Last, 1)
	case format.Update:
		p.update(r)
	case format.Touch:
		if len(r.Levels[0]) > 0 && len(r.Levels[1]) > 0 {
			p.bid, p.ask = r.Levels[0][0].Price, r.Levels[1][0].Price
		}
	case format.Bar:
		p.fine = p.fine || r.NS%(60*secondNs) != 0
		p.price(r.Bar.Close)
	case format.Other, format.Change, format.Reduce, format.Candle, format.Today:
	}
	if p.shape == format.Messages && r.Depth > 0 {
		p.setBook(r)
	}
}

// public records a public trade with a displayed order. Without a side it is the side of the nearer quote.
func (p *player) public(r *format.Record) {
	if r.Hidden { // the statistics put trades beside the displayed book
		return
	}
	taker := r.Side
	if !r.Sided {
		if p.bid == 0 || p.ask == 0 {
			p.price(r.Price)
			return
		}
		taker = engine.Buy
		if 2*r.Price < p.bid+p.ask {
			taker = engine.Sell
		}
	}
	p.trade(r.NS, taker, r.Price, r.Amount)
}

// setBook replaces the book.
func (p *player) setBook(r *format.Record) {
	for side := range p.levels {
		p.levels[side] = append(p.levels[side][:0], r.Levels[side]...)
	}
	p.complete = p.shape == format.Levels
	p.setTouch()
}

// update changes levels of the book. It leaves out updates that are older than the book.
func (p *player) update(r *format.Record) {
	if p.bookAt == 0 || r.Last <= p.bookAt {
		return
	}
	for side := range r.Levels {
		for _, l := range r.Levels[side] {
			p.levels[side] = setLevel(p.levels[side], engine.Side(side), l)
		}
	}
	p.setTouch()
}

// setLevel sets or removes one level of a side.
func setLevel(levels []format.Level, side engine.Side, l format.Level) []format.Level {
	i, found := slices.BinarySearchFunc(levels, l.Price, func(at format.Level, price int64) int {
		switch {
		case at.Price == price:
			return 0
		case format.Worse(side, at.Price, price):
			return 1
		}
		return -1
	})
	switch {
	case l.Amount == 0 && found:
		return slices.Delete(levels, i, i+1)
	case l.Amount == 0:
		return levels
	case found:
		levels[i] = l
		return levels
	}
	return slices.Insert(levels, i, l)
}

// levelsMost bounds the levels of a side that are looked at.
const levelsMost = 100_000

// Simulate runs a market without a server and returns the samples of all its pairs, by code. instruments holds the
// instruments of the pairs in o; o.Core must be nil.
func Simulate(ctx context.Context, o sim.Options, instruments []*engine.Instrument, length time.Duration) (
	map[string]Samples, error,
) {
	s := simulation{core: engine.NewCore(engine.Options{}), tapes: map[engine.PairID]*tape{}}
	o.Core = s.core
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("realism: %w", err)
	}
	out := map[string]Samples{}
	for _, ins := range instruments {
		cmd := engine.Command{Kind: engine.AddPair, Instrument: ins, TimeNs: o.StartNs, First: true}
		s.events = s.core.Apply(&cmd, s.events[:0])
		id, ok := s.core.PairByCode(ins.Code)
		if !ok {
			return nil, fmt.Errorf("realism: the engine refuses the pair %s", ins.Code)
		}
		t := newTape(windowLong)
		t.complete, t.tick = true, 1
		s.tapes[id] = t
		out[ins.Code] = t.out
	}
	s.market = sim.New(o)
	end := o.StartNs + int64(length)
	for n := 0; s.market.NextNs() <= end; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("realism: %w", ctx.Err())
		}
		s.step(s.market.NextNs())
	}
	return out, nil
}

// simulation runs a market on a core. Owner: Simulate.
type simulation struct {
	core   *engine.Core
	market *sim.Market
	tapes  map[engine.PairID]*tape
	cmds   []engine.Command
	events []engine.Event
	depth  []engine.DepthLevel
}

// step carries out one step of the market's agents.
func (s *simulation) step(ns int64) {
	s.cmds = s.market.Act(ns, s.cmds[:0])
	if len(s.cmds) == 0 {
		return
	}
	id := s.cmds[0].Pair
	t := s.tapes[id]
	s.look(t, id, t.sampleAt <= ns)
	t.advance(ns)
	for i := range s.cmds {
		c := &s.cmds[i]
		c.TimeNs, c.First = ns, true
		s.events = s.core.Apply(c, s.events[:0])
		s.market.Observe(s.events)
		for j := range s.events {
			t.see(&s.events[j])
		}
	}
}

// look copies the book of a pair to its tape: the touch, and the levels when a sample is due.
func (s *simulation) look(t *tape, id engine.PairID, sampled bool) {
	depth := 1
	if sampled {
		depth = levelsMost
	}
	for side := range t.levels {
		s.depth = s.core.AppendDepth(s.depth[:0], id, engine.Side(side), depth)
		t.levels[side] = t.levels[side][:0]
		for _, l := range s.depth {
			t.levels[side] = append(t.levels[side], format.Level{Price: l.Price, Amount: l.Shown})
		}
	}
	t.setTouch()
}

// see enters an event on the tape.
func (t *tape) see(ev *engine.Event) {
	switch {
	case ev.Kind == engine.EventAccepted && ev.TIF == engine.GTC:
		t.place(ev.Amount)
	case ev.Kind == engine.EventCanceled && ev.Cause == engine.CauseRequest:
		t.cancel()
	case ev.Kind == engine.EventTrade:
		t.trade(ev.TimeNs, ev.Side, ev.Price, ev.Amount)
	}
}
