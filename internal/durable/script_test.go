package durable

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tickhive/internal/clock"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// script is one store over its starts, and the disk that it leaves behind.
type script struct {
	t     *testing.T
	fsys  *vfstest.Mem
	clk   *clock.Manual
	store *toyStore // nil: no process runs
}

// Scripts list the steps of a store, one a line, in a `store` block; the expected text below it
// shows its answers. The steps of a running store:
//
//	add KEY AMOUNT [N times] · alarm TIME · time TIME (virtual clock, then Tick) · reflect SEQ (of the other log)
//	snapshot · show · close
//
// The steps without one; the process ends with the first two:
//
//	kill (what was written stays) · power-cut SEED (of what is not synced, the seed chooses)
//	asleep-until TIME (no Tick) · fail sync (the next one) · full (no byte more) · room
//	cut FILE BYTES · flip FILE BYTES (one bit, so many bytes before the end) · remove FILE · files
//
// FILE is segment-N, the N-th of those that are there, or snapshot-SEQ. `open` starts the store
// and prints its recovery.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t, fsys: vfstest.NewMem(), clk: clock.NewManual(1000)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "store" {
				t.Fatalf("%s: unknown block %q", d.Pos, d.Cmd)
			}
			s.t = t
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				fmt.Fprintf(&out, "> %s\n", line)
				for answer := range strings.Lines(s.step(strings.Fields(line))) {
					fmt.Fprintf(&out, "  %s\n", strings.TrimSpace(answer))
				}
			}
			return out.String()
		})
		s.end(nil)
	})
}

func (s *script) step(f []string) string {
	switch f[0] {
	case "open", "add", "alarm", "time", "reflect", "snapshot", "show", "close":
		return s.process(f)
	case "kill":
		s.end(s.fsys.Kill())
	case "power-cut":
		s.end(s.fsys.Crash(uint64(s.number(f[1]))))
	case "fail":
		s.fsys.FailNext(vfstest.OpSync, vfstest.Fault{Err: syscall.EIO})
	case "full":
		s.fsys.SetCapacity(s.fsys.Used())
	case "asleep-until":
		s.clk.Set(s.number(f[1]))
	case "room":
		s.fsys.SetCapacity(0)
	case "cut":
		name := s.file(f[1])
		s.fsys.Cut(name, int64(len(s.fsys.Content(name)))-s.number(f[2]))
	case "garbage":
		name := s.file(f[1])
		s.fsys.Put(name, append(s.fsys.Content(name), strings.Repeat("x", int(s.number(f[2])))...))
	case "flip":
		name := s.file(f[1])
		s.fsys.Flip(name, int64(len(s.fsys.Content(name)))-s.number(f[2]), 0)
	case "remove":
		must(s.t, s.fsys.Remove(s.file(f[1])))
	case "files":
		return strings.Join(s.files(""), "\n")
	default:
		s.t.Fatalf("unknown step %q", f)
	}
	return ""
}

// end leaves disk behind. The goroutine of the store ends on the disk of before.
func (s *script) end(disk *vfstest.Mem) {
	if s.store != nil {
		_ = s.store.Close() // a script may have ended its log
	}
	s.fsys, s.store = disk, nil
}

func (s *script) process(f []string) string {
	switch f[0] {
	case "open":
		return s.open()
	case "add":
		got, times := int64(0), int64(1)
		if len(f) == 5 {
			times = s.number(f[3])
		}
		for range times {
			var err error
			if got, err = s.store.Do(toyCommand{key: f[1], add: s.number(f[2])}); err != nil {
				return answer(err)
			}
		}
		return fmt.Sprintf("%s is %d", f[1], got)
	case "alarm":
		_, err := s.store.Do(toyCommand{alarm: s.number(f[1])})
		return answer(err)
	case "time":
		s.clk.Set(s.number(f[1]))
		return answer(s.store.Tick(s.clk.NowNs()))
	case "reflect":
		return answer(s.store.WithState(func(st *toyState) { st.reflects = uint64(s.number(f[1])) }))
	case "snapshot":
		return answer(s.store.Snapshot())
	case "close":
		err := s.store.Close()
		s.store = nil
		return answer(err)
	}
	text := ""
	if err := s.store.WithState(func(st *toyState) { text = st.summary() }); err != nil {
		return answer(err)
	}
	return text
}

func (s *script) open() string {
	opts := toyOpts(s.fsys)
	opts.Clock, opts.Log.PreallocBytes, opts.Log.SegmentBytes = s.clk, -1, 256
	store, err := openToy(opts)
	if err != nil {
		return answer(err)
	}
	s.store = store
	info := store.Recovered()
	out := fmt.Sprintf("records to %d: snapshot %d, %d replayed", info.LastSeq, info.SnapshotSeq, info.Replayed)
	if info.TornTail > 0 {
		out += fmt.Sprintf(", %d bytes torn", info.TornTail)
	}
	if from := store.RetainFrom(); from != 1 {
		out += fmt.Sprintf(", the other log from %d", from)
	}
	for _, bad := range info.Damaged {
		out += "\npassed over: " + bad
	}
	return out
}

// summary is the state in one line.
func (s *toyState) summary() string {
	var out []string
	for _, key := range sortedNames(s.amounts) {
		out = append(out, fmt.Sprintf("%s=%d", key, s.amounts[key]))
	}
	return fmt.Sprintf("records=%d %s alarms=%d rung=%d", s.records, strings.Join(out, " "), s.alarms, s.rung)
}

// answer names the error as a caller tells it apart.
func answer(err error) string {
	var corrupt *wal.CorruptError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errToyShort):
		return "refused"
	case errors.Is(err, wal.ErrOutcomeUnknown):
		return "outcome unknown, the log has ended"
	case errors.Is(err, wal.ErrStopped):
		return "the log has ended"
	case errors.Is(err, wal.ErrUnavailable):
		return "no room"
	case errors.Is(err, wal.ErrTruncated):
		return "the start is refused: records are missing before the oldest"
	case errors.As(err, &corrupt):
		return fmt.Sprintf("the start is refused: record %d: %s", corrupt.Seq, corrupt.Reason)
	}
	return err.Error()
}

// file is the path that a script's name for a file means.
func (s *script) file(name string) string {
	kind, n, _ := strings.Cut(name, "-")
	if kind == "snapshot" {
		return testDir + "/" + wal.SnapshotName(uint64(s.number(n)))
	}
	return testDir + "/" + s.files(wal.SegmentExt)[s.number(n)-1]
}

func (s *script) files(ext string) []string {
	names, err := s.fsys.List(testDir)
	must(s.t, err)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ext) })
}

func (s *script) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	must(s.t, err)
	return n
}
