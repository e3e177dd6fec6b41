package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"tickhive/internal/clock"
	"tickhive/internal/vfs"
)

// toyState is a small state with everything a store deals with: amounts by key that may
// not go below zero, and alarms that go off by time alone.
type toyState struct {
	amounts  map[string]int64
	alarms   []int64  // times, ascending
	rung     []int64  // times at which alarms went off
	records  uint64   // applied
	lastNs   int64    // time of the last record
	reflects uint64   // of another log
	folded   []string // not in the records

	published *atomic.Pointer[toyView]
}

type toyCommand struct {
	key   string
	add   int64
	alarm int64 // sets an alarm
	ring  bool  // the first alarm goes off
}

type toyRecord struct {
	toyCommand
	nowNs int64
}

type toyView struct {
	amounts map[string]int64
	records uint64
	rung    int
	folded  int
}

var errToyShort = errors.New("not enough")

func newToy() *toyState {
	return &toyState{amounts: map[string]int64{}, published: new(atomic.Pointer[toyView])}
}

func (s *toyState) Plan(nowNs int64, cmd toyCommand) (toyRecord, error) {
	if s.amounts[cmd.key]+cmd.add < 0 {
		return toyRecord{}, errToyShort
	}
	return toyRecord{cmd, nowNs}, nil
}

func (s *toyState) Apply(rec *toyRecord) int64 {
	s.records++
	s.lastNs = rec.nowNs
	switch {
	case rec.ring:
		s.alarms = s.alarms[1:]
		s.rung = append(s.rung, rec.nowNs)
	case rec.alarm > 0:
		s.alarms = append(s.alarms, rec.alarm)
	default:
		s.amounts[rec.key] += rec.add
	}
	return s.amounts[rec.key]
}

func (s *toyState) Publish() {
	s.published.Store(&toyView{maps.Clone(s.amounts), s.records, len(s.rung), len(s.folded)})
}

func (s *toyState) NextNs() int64 {
	if len(s.alarms) == 0 {
		return 0
	}
	return s.alarms[0]
}

func (s *toyState) Due(int64) []toyCommand { return []toyCommand{{ring: true}} }

func (s *toyState) LastNs() int64 { return s.lastNs }

func (s *toyState) ReflectsSeq() uint64 { return s.reflects }

func appendToyRecord(dst []byte, r *toyRecord) []byte {
	dst = binary.AppendVarint(dst, r.nowNs)
	dst = binary.AppendVarint(dst, r.add)
	dst = binary.AppendVarint(dst, r.alarm)
	ring := byte(0)
	if r.ring {
		ring = 1
	}
	dst = append(dst, ring)
	return append(dst, r.key...)
}

func decodeToyRecord(b []byte) (r toyRecord, err error) {
	for _, p := range []*int64{&r.nowNs, &r.add, &r.alarm} {
		v, n := binary.Varint(b)
		if n <= 0 {
			return r, errors.New("short record")
		}
		*p, b = v, b[n:]
	}
	if len(b) == 0 {
		return r, errors.New("short record")
	}
	r.ring, r.key = b[0] == 1, string(b[1:])
	return r, nil
}

func (s *toyState) AppendSnapshot(dst []byte) []byte {
	return fmt.Appendf(dst, "%v", s.lines())
}

// lines is the state as text, the same for equal states.
func (s *toyState) lines() string {
	text := fmt.Sprintf("%d %d %d %d\n", s.records, s.lastNs, s.reflects, len(s.amounts))
	for _, key := range sortedNames(s.amounts) {
		text += fmt.Sprintf("%s %d\n", key, s.amounts[key])
	}
	for _, list := range [][]int64{s.alarms, s.rung} {
		text += fmt.Sprintln(len(list))
		for _, at := range list {
			text += fmt.Sprintln(at)
		}
	}
	return text
}

func decodeToySnapshot(b []byte) (*toyState, error) {
	s := newToy()
	in := &scanner{text: string(b)}
	s.records, s.lastNs, s.reflects = uint64(in.int()), in.int(), uint64(in.int())
	for n := in.int(); n > 0 && in.err == nil; n-- {
		key := in.word()
		s.amounts[key] = in.int()
	}
	for _, list := range []*[]int64{&s.alarms, &s.rung} {
		for n := in.int(); n > 0 && in.err == nil; n-- {
			*list = append(*list, in.int())
		}
	}
	return s, in.err
}

type scanner struct {
	text string
	err  error
}

func (s *scanner) word() (w string) {
	if _, err := fmt.Sscan(s.text, &w); err != nil {
		s.err = err
		return ""
	}
	for i := 0; i < len(s.text); i++ {
		if s.text[i] == ' ' || s.text[i] == '\n' {
			continue
		}
		s.text = s.text[i+len(w):]
		break
	}
	return w
}

func (s *scanner) int() (n int64) {
	if _, err := fmt.Sscan(s.word(), &n); err != nil {
		s.err = err
	}
	return n
}

func sortedNames(m map[string]int64) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	for i := range names {
		for j := i; j > 0 && names[j] < names[j-1]; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	return names
}

type toyOptions = Options[toyCommand, toyRecord, int64]

type toyMachine = State[toyCommand, toyRecord, int64]

// toyStore is the wrapper that a package makes of its Store.
type toyStore struct {
	*Store[toyCommand, toyRecord, int64]
	state *toyState
}

func (s *toyStore) View() *toyView { return s.state.published.Load() }

func (s *toyStore) WithState(f func(*toyState)) error {
	return s.Store.WithState(func() { f(s.state) })
}

func toyOpts(fsys vfs.FS) toyOptions {
	return toyOptions{
		Config: Config{
			FS: fsys, Dir: testDir, Log: small(), Clock: clock.NewManual(1000), SnapshotBytes: 1 << 40,
		},
		New:          func() toyMachine { return newToy() },
		AppendRecord: appendToyRecord, DecodeRecord: decodeToyRecord,
		DecodeSnapshot: func(b []byte) (toyMachine, error) { return decodeToySnapshot(b) },
	}
}

func openToy(opts toyOptions) (*toyStore, error) {
	s, err := Open(opts)
	if err != nil {
		return nil, err
	}
	return &toyStore{s, s.State().(*toyState)}, nil
}

func mustStore(t testing.TB, opts toyOptions) *toyStore {
	t.Helper()
	s, err := openToy(opts)
	must(t, err)
	return s
}

// textOf is the state of a store as text.
func textOf(t testing.TB, s *toyStore) (text string) {
	t.Helper()
	must(t, s.WithState(func(st *toyState) { text = st.lines() }))
	return text
}
