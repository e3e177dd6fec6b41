package engine_test

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// market is a core with one pair, whose every command is read back and checked.
type market struct {
	t      testing.TB
	core   *engine.Core
	opts   engine.Options
	inst   engine.Instrument
	reader *enginetest.Reader
	now    int64
	buf    []engine.Event
	quick  bool // without the full walk after each command
	// restarts says whether the core is written and read before the next part of a command, nil: never.
	restarts func() bool
	purse    *purse
	before   engine.OrderID // newest order before those of trades of a script, 0: no trade is newer than it
	given    [2]*big.Int    // all quote and base of the purse, nil: not checked
}

func newMarket(t testing.TB, o engine.Options, inst engine.Instrument) *market {
	m := &market{
		t: t, core: engine.NewCore(o), opts: o, inst: inst, reader: enginetest.NewReader(0),
		now: 20000 * enginetest.DayNs,
	}
	m.do(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &m.inst})
	return m
}

// do applies a command and checks the book, the stream and what a reader makes of it.
func (m *market) do(cmd engine.Command) []engine.Event {
	m.t.Helper()
	m.now++
	cmd.TimeNs, cmd.First = m.now, true
	m.buf = m.core.Apply(&cmd, m.buf[:0])
	for m.core.Unfinished(cmd.Pair) {
		if m.restarts != nil && m.restarts() {
			m.restore()
		}
		m.buf = m.core.Apply(&engine.Command{
			TimeNs: m.now, Kind: engine.Continue, First: true, Pair: cmd.Pair,
		}, m.buf)
	}
	for i := range m.buf {
		if m.buf[i].TimeNs != m.now {
			m.t.Fatalf("event %d has time %d, the command %d", m.buf[i].Seq, m.buf[i].TimeNs, m.now)
		}
	}
	if m.buf[0].Pair != engine.ControlPair { // else the refusal of a change of the pair, which is no event of it
		if err := m.reader.Read(m.buf); err != nil {
			m.t.Fatalf("after %+v: %v", cmd, err)
		}
	}
	if m.purse != nil {
		m.purse.checkFolded(m.buf)
	}
	if m.quick {
		return m.buf
	}
	m.check()
	return m.buf
}

// control applies a command that belongs to no pair.
func (m *market) control(cmd engine.Command) []engine.Event {
	m.now++
	cmd.TimeNs, cmd.Pair = m.now, engine.ControlPair
	cmd.First = true
	return m.core.Apply(&cmd, nil)
}

// restore replaces the core by one that has read its state.
func (m *market) restore() {
	m.t.Helper()
	state := m.core.EncodePair(nil, 0)
	back := engine.NewCore(m.opts)
	if _, err := back.DecodePair(state); err != nil {
		m.t.Fatal(err)
	}
	if err := back.Check(); err != nil {
		m.t.Fatal("restored: ", err)
	}
	if !bytes.Equal(back.EncodePair(nil, 0), state) {
		m.t.Fatal("the restored core has another state")
	}
	if m.core = back; m.purse != nil {
		back.SetFunds(m.purse)
	}
}

func (m *market) check() {
	m.t.Helper()
	if err := m.reader.Agree(m.core); err != nil {
		m.t.Fatal(err)
	}
	if err := m.core.Check(); err != nil {
		m.t.Fatal(err)
	}
	if m.purse != nil {
		if err := m.purse.agree(m.core, m.given); err != nil {
			m.t.Fatal(err)
		}
	}
}
