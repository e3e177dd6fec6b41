package wal

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

var updateOperations = flag.Bool("update", false, "write testdata/operations.golden")

// The order of writes and syncs decides what a power cut leaves: testdata/operations.golden has it for the life of a
// log, for starts after each kind of end, and for failures. Read a difference as a change of what may be lost.
func TestTheOperationsOfALog(t *testing.T) {
	tr := &trace{t: t}
	segment := func(n uint64) string { return path.Join(testDir, segmentName(n)) }
	tr.begin("the life of a log", vfstest.NewMem())
	tr.open()
	tr.sync()
	tr.append(2)
	tr.sync()
	tr.sync()
	tr.append(1)
	tr.rotate()
	tr.rotate() // empty: nothing happens
	tr.append(1)
	tr.rotate()
	tr.append(1)
	tr.sync()
	tr.append(5) // fills the segment
	tr.step("snapshot", func() error { return tr.log.WriteSnapshot(SnapshotMeta{Seq: 4}, writeText("text")) })
	tr.state()
	tr.step("drop before 4", func() error { return tr.log.DropBefore(4) })
	tr.step("drop before 5", func() error { return tr.log.DropBefore(5) })
	tr.step("drop before 5", func() error { return tr.log.DropBefore(5) })
	tr.state()
	tr.append(1)
	tr.close()
	tr.open()
	tr.close()
	tr.step("the snapshot goes", func() error { tr.disk.Lose(path.Join(testDir, SnapshotName(4))); return nil })
	tr.open()
	tr.close()

	tr.begin("a start after a kill", tr.three(false))
	tr.open()
	tr.append(1)
	tr.sync()
	tr.close()
	tr.begin("a start after a power cut", tr.three(false))
	tr.opts.Boot = bootB
	tr.open()
	tr.close()
	tr.begin("a start in the middle of a segment", func() *vfstest.Mem {
		disk := vfstest.NewMem()
		l := mustOpen(t, disk, Options{
			Identity: Identity{History: ID{7}, Directory: ID{8}}, Boot: bootA,
			NoLock: true, SegmentBytes: 1024,
		})
		appendN(t, l, 2)
		must(t, l.Rotate())
		appendN(t, l, 1)
		must(t, l.Sync())
		appendN(t, l, 1)
		must(t, l.Rotate())
		appendN(t, l, 1)
		return disk.Kill()
	}())
	tr.open()
	tr.close()
	tr.begin("a start behind a torn write", tr.three(false))
	tr.disk.Put(segment(3), append(bytes.TrimRight(tr.disk.Content(segment(3)), "\x00"), "torn, long"...))
	tr.open()
	tr.close()
	tr.begin("a start in front of a segment that was not synced", tr.grown())
	tr.open()
	tr.close()
	tr.begin("the same, and a loss would be accepted", tr.grown())
	tr.opts.AcceptLoss = true
	tr.open()
	tr.close()
	tr.begin("the same, without the second segment", tr.grown())
	tr.opts.AcceptLoss = true
	tr.disk.Lose(segment(2))
	tr.open()
	tr.close()
	tr.begin("a file that was never written", vfstest.NewMem())
	tr.disk.Put(segment(1), make([]byte, firstFrame))
	tr.open()
	tr.append(1)
	tr.close()
	tr.begin("a record is written during a sync", vfstest.NewMem())
	tr.open()
	tr.append(2)
	tr.rotate()
	tr.append(1)
	tr.disk.After(func(op vfstest.Op) {
		tr.operation(op)
		if op.Kind == vfstest.OpSync && op.Path == segment(2) {
			tr.disk.After(tr.operation)
			tr.append(1)
		}
	})
	tr.sync()
	end := tr.log.off.Load()
	disk := tr.disk.Kill()
	disk.Cut(segment(2), end-100)
	tr.begin("that record is missing after a power cut", disk)
	tr.opts.Boot = bootB
	tr.open()
	tr.log = nil
	tr.begin("the next start", tr.disk.Kill())
	tr.opts.Boot = bootB
	tr.open()
	tr.close()
	tr.begin("a log that begins behind a record", vfstest.NewMem())
	tr.step("create", func() (err error) {
		tr.log, err = Create(tr.disk, testDir, tr.opts, Position{Seq: 100, Chain: 5})
		return err
	})
	tr.state()
	tr.append(1)
	tr.sync()
	tr.close()
	for n := uint64(1); n <= 3; n++ {
		for _, accept := range []bool{false, true} {
			tr.begin(fmt.Sprintf("damage in segment %d, accepted %v", n, accept), tr.three(true))
			tr.disk.Flip(segment(n), firstFrame+frameHead+int64(FrameBytes(200)), 0)
			tr.opts.AcceptLoss = accept
			tr.open()
			if tr.log != nil {
				tr.append(1)
				tr.close()
				tr.opts.AcceptLoss = false
				tr.open()
				tr.close()
			}
			tr.begin(fmt.Sprintf("segment %d is gone, accepted %v", n, accept), tr.three(true))
			tr.disk.Lose(segment(n))
			tr.opts.AcceptLoss = accept
			tr.open()
			if tr.log != nil {
				tr.close()
			}
			tr.begin(fmt.Sprintf("segment %d has no header, killed, accepted %v", n, accept), tr.three(false))
			tr.disk.Flip(segment(n), 3, 0)
			tr.opts.AcceptLoss = accept
			tr.open()
			if tr.log != nil {
				tr.close()
			}
		}
	}
	tr.begin("records are missing after a power cut", tr.three(false))
	tr.disk.Cut(segment(3), firstFrame+50)
	tr.opts.Boot = bootB
	tr.open()
	tr.close()
	for _, known := range []Known{
		{Position: Position{Seq: 6}},
		{Position: Position{Seq: 5}, Last: true},
		{Position: Position{Seq: 9}},
	} {
		tr.begin(fmt.Sprintf("a log that is known up to %d (last %v)", known.Seq, known.Last), tr.three(true))
		known.Chain = 77 // another history
		tr.opts.Known = &known
		tr.open()
		tr.begin("no file of it", vfstest.NewMem())
		tr.opts.Known = &known
		tr.open()
	}
	tr.begin("a snapshot ahead of the log", tr.three(true))
	tr.open()
	tr.append(1)
	tr.step("snapshot", func() error { return tr.log.WriteSnapshot(SnapshotMeta{Seq: 7}, writeText("text")) })
	tr.close()
	tr.disk.Lose(segment(4))
	tr.disk.Cut(segment(3), firstFrame)
	tr.open()
	tr.opts.AcceptLoss = true
	tr.open()
	tr.close()

	// Failures of an open log.
	for fails := 1; fails <= 4; fails++ {
		tr.begin(fmt.Sprintf("%d writes of a slot fail while a segment begins", fails), vfstest.NewMem())
		tr.open()
		tr.append(1)
		tr.sync()
		left := fails
		tr.disk.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpWrite && op.Path == segment(1) && op.Off < firstFrame && left > 0 {
				left--
				return vfstest.Fault{Err: syscall.EIO}
			}
			return vfstest.Fault{}
		})
		tr.rotate()
		tr.disk.Before(nil)
		tr.state()
		tr.append(1)
		tr.close()
	}
	for fails := 1; fails <= 4; fails++ {
		tr.begin(fmt.Sprintf("%d writes of a slot fail after a batch", fails), vfstest.NewMem())
		tr.open()
		tr.append(1)
		left := fails
		tr.disk.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpWrite && op.Off < firstFrame && left > 0 {
				left--
				return vfstest.Fault{Err: syscall.EIO}
			}
			return vfstest.Fault{}
		})
		tr.append(1)
		tr.disk.Before(nil)
		tr.state()
		tr.append(1)
		tr.close()
	}
	for _, c := range []struct {
		kind   vfstest.OpKind
		number uint64
	}{{vfstest.OpSync, 2}, {vfstest.OpSync, 1}, {vfstest.OpSyncDir, 0}, {vfstest.OpTruncate, 2}} {
		tr.begin(fmt.Sprintf("%s of segment %d fails", c.kind, c.number), vfstest.NewMem())
		tr.open()
		tr.append(1)
		tr.sync()
		tr.rotate()
		tr.append(1)
		fail := func(op vfstest.Op) vfstest.Fault {
			if op.Kind == c.kind && (c.number == 0 || op.Path == segment(c.number)) {
				return vfstest.Fault{Err: syscall.EIO}
			}
			return vfstest.Fault{}
		}
		tr.disk.Before(fail)
		if c.kind != vfstest.OpTruncate {
			tr.step("sync", tr.log.Sync)
			tr.state()
			tr.append(1)
		}
		tr.close()
	}
	tr.begin("a write fails, and its cut", vfstest.NewMem())
	tr.open()
	tr.append(1)
	for _, cut := range []bool{true, false} {
		tr.disk.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpWrite && op.Off >= firstFrame || op.Kind == vfstest.OpTruncate && !cut {
				return vfstest.Fault{Err: syscall.EIO}
			}
			return vfstest.Fault{}
		})
		tr.append(1)
		tr.disk.Before(nil)
		tr.state()
	}
	tr.close()
	tr.begin("zeros ahead", vfstest.NewMem())
	tr.opts.SegmentBytes, tr.opts.PreallocBytes = 1<<16, 1024
	tr.open()
	for _, records := range []int{1, 1, 2, 5, 20, 40, 1, 1, 100} {
		tr.step(fmt.Sprintf("%d records", records), func() error {
			_, err := tr.log.Append(slices.Repeat([][]byte{bytes.Repeat([]byte{'x'}, 200)}, records))
			return err
		})
		tr.sync()
	}
	tr.close()

	const golden = "testdata/operations.golden"
	if *updateOperations {
		must(t, os.WriteFile(golden, []byte(tr.out.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	was, is := strings.Split(string(want), "\n"), strings.Split(tr.out.String(), "\n")
	scenario := ""
	for i := range max(len(was), len(is)) {
		if i < len(was) && i < len(is) && was[i] == is[i] {
			if strings.HasPrefix(is[i], "==") {
				scenario = is[i]
			}
			continue
		}
		t.Fatalf("%s, line %d:\n%s\nwant\n%s", scenario, i+1, line(is, i), line(was, i))
	}
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}
