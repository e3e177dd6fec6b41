package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// script runs batches, syncs, rotations, deletions and restarts on a log. It goes on
// after errors that leave the log usable and ends when it is stopped or cannot be opened.
// It notes what a user of the log may rely on.
type script struct {
	fsys  *vfstest.Mem
	opts  Options
	steps int

	log      *Log
	kept     []int  // attempt that was accepted, for sequence i+1
	acked    uint64 // a Sync that returned nil covers it
	tries    int
	dropped  uint64 // DropBefore was called with at most this
	refused  int    // writes refused and gone on after
	restarts int
}

func (s *script) run(seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 1))
	if err := s.open(); err != nil {
		return err
	}
	for range s.steps {
		var err error
		switch n := rnd.IntN(20); {
		case n < 13:
			err = s.batch(1 + rnd.IntN(5))
		case n < 16:
			if err = s.log.Sync(); err == nil {
				s.acked = s.log.LastSeq()
			}
		case n < 17:
			_ = s.log.Rotate()
		case n < 18:
			s.dropped = max(s.dropped, s.acked/2)
			_ = s.log.DropBefore(s.acked / 2)
		default:
			if s.log.Close() == nil {
				s.acked = uint64(len(s.kept))
			}
			s.restarts++
			err = s.open()
		}
		if errors.Is(err, ErrUnavailable) {
			s.refused++
			continue
		}
		if err != nil {
			return err
		}
		if err := s.log.Stopped(); err != nil {
			return err
		}
	}
	err := s.log.Close()
	if err == nil {
		s.acked = uint64(len(s.kept))
	}
	return err
}

func (s *script) open() (err error) {
	s.log, err = Open(s.fsys, testDir, s.opts)
	if err == nil && s.log.LastSeq() != uint64(len(s.kept)) {
		panic(fmt.Sprintf("BUG: reopened at %d, %d were written", s.log.LastSeq(), len(s.kept)))
	}
	return err
}

func (s *script) batch(n int) error {
	s.tries++
	s.log.Begin()
	for i := range n {
		seq := uint64(len(s.kept) + i + 1)
		s.log.Add(func(dst []byte) []byte { return append(dst, payloadOf(seq, s.tries)...) })
	}
	last, err := s.log.Write()
	if err != nil && !errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	for range n {
		s.kept = append(s.kept, s.tries)
	}
	if err != nil {
		return err // a start may find the batch
	}
	if last != uint64(len(s.kept)) {
		panic(fmt.Sprintf("BUG: last %d after %d", last, len(s.kept)))
	}
	return nil
}

// verify opens what a crash left and fails unless it is a prefix of what was accepted
// that holds everything acknowledged; then it appends and reads once more.
func verify(fsys *vfstest.Mem, opts Options, kept []int, acked, dropped uint64) (lost uint64, torn bool, err error) {
	l, err := Open(fsys, testDir, opts)
	if err != nil {
		return 0, false, fmt.Errorf("reopen: %w", err)
	}
	info := l.Recovered()
	if info.LastSeq < acked || info.LastSeq > uint64(len(kept)) {
		return 0, false, fmt.Errorf("ends at %d: %d acknowledged, %d written", info.LastSeq, acked, len(kept))
	}
	if info.FirstSeq > max(dropped, 1) {
		return 0, false, fmt.Errorf("begins at %d, dropped before %d at most", info.FirstSeq, dropped)
	}
	lost = uint64(len(kept)) - info.LastSeq
	kept = append(kept[:info.LastSeq:info.LastSeq], 1<<30, 1<<30)
	for i := range 2 {
		seq := info.LastSeq + 1 + uint64(i)
		if _, err := l.Append([][]byte{payloadOf(seq, 1<<30)}); err != nil {
			return 0, false, fmt.Errorf("append after reopening: %w", err)
		}
	}
	if err := l.Close(); err != nil {
		return 0, false, fmt.Errorf("close after reopening: %w", err)
	}
	seqs, payloads, _, err := readAll(fsys, opts)
	if err != nil {
		return 0, false, fmt.Errorf("read after reopening: %w", err)
	}
	if n := uint64(len(seqs)); n == 0 || seqs[0] != info.FirstSeq || seqs[n-1] != uint64(len(kept)) ||
		n != uint64(len(kept))+1-info.FirstSeq {
		return 0, false, fmt.Errorf("%d records after reopening, want %d to %d", n, info.FirstSeq, len(kept))
	}
	for i, seq := range seqs {
		if string(payloads[i]) != string(payloadOf(seq, kept[seq-1])) {
			return 0, false, fmt.Errorf("record %d reads %.40q", seq, payloads[i])
		}
	}
	return lost, info.TornTail > 0, nil
}

func TestPowerCutAfterEveryOperationLeavesAPrefixWithAllAcknowledged(t *testing.T) {
	const subsets = 5
	runs, cuts, tornCuts, lossy := scale(5), 0, 0, 0
	for seed := range uint64(runs) {
		for _, opts := range []Options{
			small(),
			{SegmentBytes: 1 << 14, PreallocBytes: 1 << 12},
			{SegmentBytes: 2 << 10, PreallocBytes: -1},
		} {
			s := &script{fsys: vfstest.NewMem(), opts: opts, steps: 60}
			s.fsys.After(func(op vfstest.Op) {
				if op.Kind == vfstest.OpRead || op.Kind == vfstest.OpOpen || op.Kind == vfstest.OpList {
					return
				}
				acked := s.acked
				if s.log != nil {
					acked = max(acked, s.log.DurableSeq())
				}
				// The batch under way is not in kept yet; its content is known all the same.
				kept := s.kept
				if op.Kind == vfstest.OpWrite && s.log != nil && s.log.count > 0 {
					for range s.log.count {
						kept = append(kept[:len(kept):len(kept)], s.tries)
					}
				}
				for sub := range uint64(subsets) {
					after := s.fsys.Crash(seed<<32 | uint64(op.N)<<8 | sub)
					if sub == 0 {
						after = s.fsys.Kill()
					}
					lost, torn, err := verify(after, opts, kept, acked, max(s.dropped, 1))
					if err != nil {
						t.Fatalf("seed %d, operation %d (%s %s), subset %d: %v", seed, op.N, op.Kind, op.Path, sub, err)
					}
					cuts++
					if torn {
						tornCuts++
					}
					if lost > 0 {
						lossy++
					}
				}
			})
			must(t, s.run(seed))
		}
	}
	t.Logf("%d cuts: %d with a torn tail, %d lost something not acknowledged, 0 lost anything else", cuts,
		tornCuts, lossy)
	if tornCuts < cuts/50 || lossy < cuts/10 {
		t.Fatal("too few cuts had anything to lose: the test is blunt")
	}
}

// faults are the ways in which operation n fails.
var faults = []struct {
	name string
	f    func(n int) func(vfstest.Op) vfstest.Fault
}{
	{"fail", func(n int) func(vfstest.Op) vfstest.Fault { return vfstest.FailNth(n, vfstest.ErrInjected) }},
	{"short", func(n int) func(vfstest.Op) vfstest.Fault {
		return func(op vfstest.Op) vfstest.Fault {
			if op.N == n {
				return vfstest.Fault{Err: vfstest.ErrInjected, Keep: int(op.Len) * 2 / 3}
			}
			return vfstest.Fault{}
		}
	}},
	{"torn", func(n int) func(vfstest.Op) vfstest.Fault {
		return func(op vfstest.Op) vfstest.Fault {
			if op.N == n {
				return vfstest.Fault{Err: vfstest.ErrInjected, Tear: true}
			}
			return vfstest.Fault{}
		}
	}},
	{"whole, and said to have failed", func(n int) func(vfstest.Op) vfstest.Fault {
		return func(op vfstest.Op) vfstest.Fault {
			if op.N == n {
				return vfstest.Fault{Err: vfstest.ErrInjected, Keep: int(op.Len)}
			}
			return vfstest.Fault{}
		}
	}},
	{"from then on", func(n int) func(vfstest.Op) vfstest.Fault {
		return func(op vfstest.Op) vfstest.Fault {
			if op.N >= n {
				return vfstest.Fault{Err: vfstest.ErrInjected}
			}
			return vfstest.Fault{}
		}
	}},
}

func TestEveryOperationFailingOnceNeverLies(t *testing.T) {
	for _, fault := range faults {
		total, stopped, refused, clean := 0, 0, 0, 0
		for seed := range uint64(scale(2)) {
			for n := 1; ; n++ {
				s := &script{fsys: vfstest.NewMem(), opts: small(), steps: 50}
				s.fsys.Before(fault.f(n))
				err := s.run(seed)
				if s.fsys.Operations() < n {
					break
				}
				total++
				switch {
				case err != nil:
					stopped++
				case s.refused > 0:
					refused++
				default:
					clean++
				}
				for sub := range uint64(4) {
					after := s.fsys.Crash(seed<<32 | uint64(n)<<8 | sub)
					if sub == 0 {
						after = s.fsys.Kill()
					}
					if _, _, err := verify(after, small(), s.kept, s.acked, max(s.dropped, 1)); err != nil {
						t.Fatalf("%s: seed %d, n %d, subset %d: %v", fault.name, seed, n, sub, err)
					}
				}
			}
		}
		t.Logf("%s: %d runs: %d ended by the fault, %d refused a batch and went on, %d did not care", fault.name,
			total, stopped, refused, clean)
	}
}

// buildSmallLog makes a closed log of several segments and batches, everything synced
// batch by batch, and returns its records.
func buildSmallLog(t testing.TB) (*vfstest.Mem, [][]byte) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, Options{SegmentBytes: 400, PreallocBytes: 64})
	var all [][]byte
	for i := range 12 {
		var batch [][]byte
		for k := range 1 + i%3 {
			p := fmt.Appendf(nil, "batch %d record %d %.*s", i, k, i*3, "......................................")
			batch, all = append(batch, p), append(all, p)
		}
		_, err := l.Append(batch)
		must(t, err)
		must(t, l.Sync())
	}
	must(t, l.Close())
	return fsys, all
}

// outcome opens a damaged copy and says how that went; it fails when something is
// silently wrong.
func outcome(t *testing.T, fsys *vfstest.Mem, all [][]byte, what string) string {
	t.Helper()
	opts := Options{SegmentBytes: 400, PreallocBytes: 64}
	l, err := Open(fsys, testDir, opts)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return "refused at the start"
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	info := l.Recovered()
	must(t, l.Close())
	seqs, payloads, _, err := readAll(fsys, opts)
	for i, p := range payloads {
		if seqs[i] != uint64(i+1) || string(p) != string(all[i]) {
			t.Fatalf("%s: record %d reads %d %q", what, i+1, seqs[i], p)
		}
	}
	switch {
	case errors.As(err, &corrupt):
		return "refused when read"
	case err != nil:
		t.Fatalf("%s: %v", what, err)
	case len(seqs) == len(all) && info.TornTail == 0:
		return "whole"
	case len(seqs) == len(all):
		return "whole, garbage behind the end cut"
	case info.TornTail == 0:
		return "ends early, at a record's end"
	case len(seqs) == len(all)-1:
		return "last record cut and said"
	}
	return "several records cut and said"
}

func TestFlipOfEveryBitIsNeverSilentlyWrong(t *testing.T) {
	fsys, all := buildSmallLog(t)
	names, _ := fsys.List(testDir)
	counts := map[string]int{}
	for _, name := range names {
		name = path.Join(testDir, name)
		for off := range fsys.Content(name) {
			for bit := range uint(8) {
				damaged := fsys.Kill()
				damaged.Flip(name, int64(off), bit)
				counts[outcome(t, damaged, all, fmt.Sprintf("%s byte %d bit %d", name, off, bit))]++
			}
		}
	}
	t.Logf("%d records in %d segments, %v", len(all), len(names), counts)
	onlyWholeOrRefused(t, counts)
}

func TestTruncationAtEveryByteIsNeverSilentlyWrong(t *testing.T) {
	fsys, all := buildSmallLog(t)
	names, _ := fsys.List(testDir)
	counts := map[string]int{}
	for i, name := range names {
		name = path.Join(testDir, name)
		for size := range fsys.Content(name) {
			damaged := fsys.Kill()
			damaged.Cut(name, int64(size))
			got := outcome(t, damaged, all, fmt.Sprintf("%s cut at %d", name, size))
			counts[got]++
			if i+1 < len(names) && got != "refused at the start" && got != "refused when read" && got != "whole" {
				t.Fatalf("%s cut at %d: %s", name, size, got)
			}
		}
	}
	t.Logf("%v", counts)
	onlyWholeOrRefused(t, counts)
}

// onlyWholeOrRefused fails if a closed log came back without a record that it had.
func onlyWholeOrRefused(t *testing.T, counts map[string]int) {
	t.Helper()
	for what, n := range counts {
		if !strings.HasPrefix(what, "refused") && !strings.HasPrefix(what, "whole") {
			t.Errorf("%s: %d", what, n)
		}
	}
	if counts["refused at the start"] == 0 || counts["refused when read"] == 0 {
		t.Error("some outcome never came up")
	}
}
