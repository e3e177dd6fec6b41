package wal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// trace writes down what a log does to its files, and what it knows.
type trace struct {
	t    *testing.T
	out  strings.Builder
	disk *vfstest.Mem
	opts Options
	log  *Log
}

// begin begins a scenario on a disk with segments of a kilobyte, of which 256 bytes are written ahead.
func (tr *trace) begin(name string, disk *vfstest.Mem) {
	fmt.Fprintf(&tr.out, "\n== %s\n", name)
	tr.disk = disk
	tr.opts = Options{
		SegmentBytes: 1024, PreallocBytes: 256, Boot: bootA, Identity: Identity{
			History:   ID{7},
			Directory: ID{8},
		}, NoLock: true,
	}
	tr.opts.Ended = func(p Position) { fmt.Fprintf(&tr.out, "ended at %d\n", p.Seq) }
	tr.opts.Failed = func() { tr.out.WriteString("failed\n") }
	tr.opts.MissingSnapshot = func(seq uint64) { fmt.Fprintf(&tr.out, "snapshot %d is missing\n", seq) }
	tr.opts.Lost = func(l Loss) error {
		fmt.Fprintf(&tr.out, "lost %d to %d, damage %v\n", l.Seq+1, l.To, l.Damage)
		return nil
	}
	disk.After(tr.operation)
}

func (tr *trace) operation(op vfstest.Op) {
	name := strings.TrimPrefix(op.Path, testDir+"/")
	switch op.Kind {
	case vfstest.OpRead, vfstest.OpList:
		return
	case vfstest.OpWrite:
		for i := range 2 {
			if op.Off == slotOffset(i) && op.Len == vfs.SectorBytes {
				content := tr.disk.Content(op.Path)[op.Off:]
				num, _ := parseSegmentName(name)
				s, ok := parseSlot(content[:vfs.SectorBytes], seedOf(tr.opts.Identity.Directory, "log", num))
				fmt.Fprintf(&tr.out, "  slot %d of %s: %v gen %d synced %d written %d snapshot %d flags %b\n", i,
					name, ok, s.gen,
					s.synced, s.written, s.snapshot, s.flags)
				return
			}
		}
		fallthrough
	case vfstest.OpPreallocate, vfstest.OpTruncate:
		fmt.Fprintf(&tr.out, "  %s %s at %d, %d bytes\n", op.Kind, name, op.Off, op.Len)
	default:
		fmt.Fprintf(&tr.out, "  %s %s\n", op.Kind, name)
	}
}

// step notes a step and runs it.
func (tr *trace) step(name string, do func() error) {
	fmt.Fprintf(&tr.out, "%s\n", name)
	if err := do(); err != nil {
		fmt.Fprintf(&tr.out, "  error: %v\n", err)
	}
}

func (tr *trace) open() {
	tr.step("open", func() (err error) {
		tr.log, err = Open(tr.disk, testDir, tr.opts)
		return err
	})
	if tr.log != nil {
		tr.state()
		fmt.Fprintf(&tr.out, "  found %+v\n", tr.log.Recovered())
	}
}

// append appends records of 200 bytes, one in each batch.
func (tr *trace) append(records int) {
	for range records {
		tr.step("append", func() error {
			_, err := tr.log.Append([][]byte{bytes.Repeat([]byte{'x'}, 200)})
			return err
		})
	}
}

func (tr *trace) sync() {
	tr.step("sync", tr.log.Sync)
	tr.state()
}

func (tr *trace) rotate() { tr.step("rotate", tr.log.Rotate) }

func (tr *trace) close() {
	tr.step("close", tr.log.Close)
	tr.log = nil
}

// state writes down what the log knows.
func (tr *trace) state() {
	l := tr.log
	fmt.Fprintf(&tr.out, "  durable %d written %d, slots %d/%d/%d/%d", l.DurableSeq(), l.LastSeq(), l.end.gen,
		l.end.synced,
		l.end.written, l.end.snapshot)
	for _, seg := range l.segments {
		fmt.Fprintf(&tr.out, "; %d: %d bytes of %d, slot %d flags %b gen %d-%d named %v waits %v open %v", seg.num,
			seg.bytes,
			seg.filled.Load(), seg.slot, seg.flags, seg.gen, seg.synced, seg.named, seg.waits.Load(), seg.file != nil)
	}
	fmt.Fprintf(&tr.out, "; %d unsynced, %d full, next at %d\n", len(l.unsynced), len(l.full), l.off.Load())
}

// three returns the disk of a log with three segments of two records, closed or killed before anything was synced.
func (tr *trace) three(closed bool) *vfstest.Mem {
	disk := vfstest.NewMem()
	opts := Options{
		SegmentBytes: 1024, PreallocBytes: 256, Boot: bootA, Identity: Identity{
			History:   ID{7},
			Directory: ID{8},
		}, NoLock: true,
	}
	l := mustOpen(tr.t, disk, opts)
	for n := range 6 {
		if n == 2 || n == 4 {
			must(tr.t, l.Rotate())
		}
		_, err := l.Append([][]byte{bytes.Repeat([]byte{'x'}, 200)})
		must(tr.t, err)
	}
	if closed {
		must(tr.t, l.Close())
		return disk
	}
	return disk.Kill()
}

// grown returns the disk of a killed log: two sealed segments, a third that was synced, and a fourth that was not.
func (tr *trace) grown() *vfstest.Mem {
	disk := vfstest.NewMem()
	l := mustOpen(tr.t, disk, Options{
		SegmentBytes: 1024, PreallocBytes: -1, Boot: bootA, Identity: Identity{
			History:   ID{7},
			Directory: ID{8},
		}, NoLock: true,
	})
	for n := range 7 {
		if n == 2 || n == 4 || n == 6 {
			must(tr.t, l.Rotate())
		}
		_, err := l.Append([][]byte{bytes.Repeat([]byte{'x'}, 200)})
		must(tr.t, err)
		if n == 5 {
			must(tr.t, l.Sync())
		}
	}
	return disk.Kill()
}
