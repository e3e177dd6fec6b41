package wal

import (
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// Boots of a machine.
var bootA, bootB = ID{1}, ID{2}

// ends is a log on a disk, and what a start finds.
type ends struct {
	t    *testing.T
	fsys *vfstest.Mem
	opts Options
	log  *Log
}

// newEnds makes a log of 6 records of which the last two are not synced: 1 to 3 with a sync each, 4, and
// 5 and 6.
func newEnds(t *testing.T) *ends {
	e := &ends{t: t, fsys: vfstest.NewMem(), opts: Options{
		PreallocBytes: -1, Boot: bootA, Identity: Identity{History: ID{7}, Directory: ID{8}},
	}}
	e.log = mustOpen(t, e.fsys, e.opts)
	for range 4 {
		appendN(t, e.log, 1)
		must(t, e.log.Sync())
	}
	appendN(t, e.log, 1)
	appendN(t, e.log, 1)
	return e
}

// start opens a log and returns its last record, or what it is refused with, and the loss that was accepted.
func (e *ends) start(fsys *vfstest.Mem, opts Options) (last uint64, loss *Loss, damage *CorruptError) {
	e.t.Helper()
	opts.Lost = func(l Loss) error {
		loss = &l
		return nil
	}
	l, err := Open(fsys, testDir, opts)
	if errors.As(err, &damage) {
		return 0, loss, damage
	}
	must(e.t, err)
	last = l.LastSeq()
	must(e.t, l.Close())
	opts.Known = nil
	checkContent(e.t, fsys, opts, 1, last)
	if again, _, damage := e.start2(fsys, opts); damage != nil || again != last {
		e.t.Errorf("the next start: %d, %v", again, damage)
	}
	return last, loss, nil
}

func (e *ends) start2(fsys *vfstest.Mem, opts Options) (uint64, *Loss, *CorruptError) {
	var damage *CorruptError
	opts.AcceptLoss = false
	opts.Lost = func(l Loss) error {
		e.t.Errorf("the next start loses %+v again", l)
		return nil
	}
	l, err := Open(fsys, testDir, opts)
	if errors.As(err, &damage) {
		return 0, nil, damage
	}
	must(e.t, err)
	defer l.Close()
	return l.LastSeq(), nil, nil
}

// cut returns a copy of the disk whose log ends within a record, counted from the end.
func (e *ends) cut(records int, fsys *vfstest.Mem) *vfstest.Mem {
	fsys = fsys.Kill()
	name := path.Join(testDir, segmentName(1))
	end := e.log.off.Load()
	for seq := e.log.LastSeq(); records > 0; records, seq = records-1, seq-1 {
		end -= int64(FrameBytes(len(payloadOf(seq, 0))))
	}
	fsys.Cut(name, end+5)
	return fsys
}

func TestTheEndOfALog(t *testing.T) {
	e := newEnds(t)
	killed := e.fsys.Kill()
	other, accept := e.opts, e.opts
	other.Boot, accept.AcceptLoss = bootB, true
	for _, c := range []struct {
		what    string
		missing int // records, from the end
		opts    Options
		last    uint64
		refused uint64 // sequence
		lost    uint64 // up to which record
	}{
		{"whole, after a kill", 0, e.opts, 6, 0, 0},
		{"whole, after a power cut", 0, other, 6, 0, 0},
		{"a written record is missing, and the power was on", 1, e.opts, 0, 6, 0},
		{"written records are missing after a power cut", 1, other, 5, 0, 6},
		{"all that was not synced is missing after a power cut", 2, other, 4, 0, 6},
		{"a synced record is missing after a power cut", 3, other, 0, 4, 0},
		{"the same, accepted", 3, accept, 3, 0, 6},
		{"a written record is missing, accepted", 1, accept, 5, 0, 6},
	} {
		disk := killed.Kill()
		if c.missing > 0 {
			disk = e.cut(c.missing, killed)
		}
		last, loss, damage := e.start(disk, c.opts)
		if last != c.last {
			t.Errorf("%s: ends at %d, want %d", c.what, last, c.last)
		}
		if (damage != nil) != (c.refused > 0) || damage != nil && (damage.Seq != c.refused ||
			!strings.HasSuffix(damage.File, ".wal") || damage.Offset == 0) {
			t.Errorf("%s: refused with %v", c.what, damage)
		}
		if (loss != nil) != (c.lost > 0) || loss != nil && (loss.To != c.lost || loss.Seq != c.last ||
			(loss.Damage == nil) == c.opts.AcceptLoss) {
			t.Errorf("%s: lost %+v", c.what, loss)
		}
	}
	// Part of a write that no slot tells of.
	name := path.Join(testDir, segmentName(1))
	torn := killed.Kill()
	torn.Put(name, append(torn.Content(name), "part of a frame"...))
	if last, loss, damage := e.start(torn, e.opts); last != 6 || loss != nil || damage != nil {
		t.Errorf("a torn write: %d, %+v, %v", last, loss, damage)
	}
}

// A log that was closed must end where it was closed, on every boot.
func TestAClosedLogEndsWhereItWasClosed(t *testing.T) {
	e := newEnds(t)
	open := e.log
	must(t, open.Close())
	other := e.opts
	other.Boot = bootB
	for _, opts := range []Options{e.opts, other} {
		if last, loss, damage := e.start(e.fsys.Kill(), opts); last != 6 || loss != nil || damage != nil {
			t.Fatalf("whole: %d, %+v, %v", last, loss, damage)
		}
		for records := 1; records <= 6; records++ {
			if _, _, damage := e.start(e.cut(records, e.fsys), opts); damage == nil || damage.To != 6 {
				t.Errorf("%d records are missing: %v", records, damage)
			}
		}
	}
	opts := e.opts
	opts.Known = &Known{Position: open.Position(), Last: true}
	empty := vfstest.NewMem()
	if _, _, damage := e.start(empty, opts); damage == nil || damage.To != 6 {
		t.Errorf("no file: %v", damage)
	}
	if _, _, damage := e.start(e.fsys.Kill(), opts); damage != nil {
		t.Errorf("whole and known: %v", damage)
	}
	opts.Known = &Known{Position: Position{Seq: 6, Chain: 1}}
	if _, _, damage := e.start(e.fsys.Kill(), opts); damage == nil || !damage.Foreign {
		t.Errorf("another history: %v", damage)
	}
	opts.Known = &Known{Position: Position{Seq: 5}, Last: true}
	if _, _, damage := e.start(e.fsys.Kill(), opts); damage == nil {
		t.Error("a record behind the last one of a clean stop is taken")
	}
	opts.Known = &Known{Position: Position{Seq: 7}}
	if _, _, damage := e.start(e.fsys.Kill(), opts); damage == nil || damage.To != 7 {
		t.Errorf("an older copy of the log: %v", damage)
	}
}

// A file of another directory, history or log is refused, also with AcceptLoss.
func TestAForeignLogIsRefused(t *testing.T) {
	e := newEnds(t)
	must(t, e.log.Close())
	for _, change := range []func(*Options){
		func(o *Options) { o.Identity.Directory = ID{9} },
		func(o *Options) { o.Identity.History = ID{9} },
		func(o *Options) { o.Name = "hive" },
	} {
		opts := e.opts
		opts.AcceptLoss = true
		change(&opts)
		if _, _, damage := e.start(e.fsys.Kill(), opts); damage == nil || !damage.Foreign {
			t.Errorf("%+v: %v", opts.Identity, damage)
		}
	}
}

// The last segments of a log cannot vanish: the one before says that there is a later one.
func TestAMissingLastSegmentIsDamage(t *testing.T) {
	fsys := vfstest.NewMem()
	opts := small()
	opts.Boot = bootA
	l := mustOpen(t, fsys, opts)
	for l.active.num < 4 {
		appendN(t, l, 1)
		must(t, l.Sync())
	}
	appendN(t, l, 1) // the last segment holds a record
	unsynced := fsys.Kill()
	must(t, l.Sync())
	for boot, disk := range map[ID]*vfstest.Mem{bootA: unsynced, bootB: fsys.Kill()} {
		opts.Boot = boot
		disk.Lose(path.Join(testDir, segmentName(4)))
		var damage *CorruptError
		if _, err := Open(disk, testDir, opts); !errors.As(err, &damage) {
			t.Errorf("boot %s: %v", boot, err)
		}
	}
}

// A log that was open once has its first segment with a slot, even when its owner knows no record of it: a file that
// is cut within its header, or gone, lost what was written since.
func TestTheOnlySegmentOfAKnownLogCannotVanish(t *testing.T) {
	for _, boot := range []ID{bootA, bootB} {
		for at := int64(-1); at < firstFrame; at += 97 {
			e := newEnds(t)
			e.opts.Known = &Known{Position: Position{Chain: chainStart(e.opts.Identity.History, e.opts.Name, 0)}}
			e.opts.Boot = boot
			disk, name := e.fsys.Kill(), path.Join(testDir, segmentName(1))
			if at < 0 {
				disk.Lose(name)
			} else {
				disk.Put(name, disk.Content(name)[:at])
			}
			if at > slotOffset(0)+slotBytes { // one slot is there
				continue
			}
			if last, _, damage := e.start(disk, e.opts); damage == nil {
				t.Errorf("cut at %d, boot %s: the log ends at %d", at, boot, last)
			}
			e.opts.AcceptLoss = true
			if at < 0 {
				continue // TestAClosedLogEndsWhereItWasClosed
			}
			if last, loss, damage := e.start(disk, e.opts); damage != nil || last != 0 || loss == nil {
				t.Errorf("cut at %d, boot %s, accepted: the log ends at %d, %+v, %v", at, boot, last, loss, damage)
			}
		}
	}
}

// A snapshot is used only on the chain of its log, and one that the log does not reach is damage.
func TestASnapshotBelongsToTheHistoryOfItsLog(t *testing.T) {
	write := func(l *Log, text string) {
		t.Helper()
		_, err := l.Append([][]byte{[]byte(text)})
		must(t, err)
		must(t, l.Sync())
	}
	var disks [2]*vfstest.Mem
	var opts Options
	for i, first := range []string{"ours", "theirs"} {
		disks[i] = vfstest.NewMem()
		l := mustOpen(t, disks[i], opts)
		write(l, first)
		write(l, "the same")
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: 2}, func(w io.Writer) error {
			_, err := w.Write([]byte(first))
			return err
		}))
		write(l, "the same")
		must(t, l.Close())
	}
	load := func(fsys *vfstest.Mem) (text string, found Loaded) {
		t.Helper()
		found, err := LoadNewest(fsys, testDir, opts, func(_ SnapshotMeta, r io.Reader) error {
			b, err := io.ReadAll(r)
			text = string(b)
			return err
		})
		must(t, err)
		return text, found
	}
	if text, found := load(disks[0]); text != "ours" || len(found.Damaged) > 0 {
		t.Fatalf("%q %+v", text, found)
	}
	name := path.Join(testDir, SnapshotName(2))
	mixed := disks[0].Kill()
	mixed.Put(name, disks[1].Content(name))
	if text, found := load(mixed); text != "" || found.OK || len(found.Damaged) != 1 {
		t.Errorf("%q %+v", text, found)
	}
	ahead := disks[0].Kill()
	other := mustOpen(t, disks[1], opts)
	write(other, "later")
	must(t, other.WriteSnapshot(SnapshotMeta{Seq: 4}, func(io.Writer) error { return nil }))
	must(t, other.Close())
	name = path.Join(testDir, SnapshotName(4))
	ahead.Put(name, disks[1].Content(name))
	var damage *CorruptError
	if _, err := Open(ahead, testDir, opts); !errors.As(err, &damage) || damage.File != name || damage.To != 4 {
		t.Errorf("a snapshot that the log does not reach: %v", err)
	}
	accept := opts
	accept.AcceptLoss = true
	l, err := Open(ahead, testDir, accept)
	must(t, err)
	must(t, l.Close())
	if text, _ := load(ahead); text != "ours" || len(ahead.Content(name+unusedExt)) == 0 {
		t.Errorf("%q after it was accepted", text)
	}
}

// Both slots of a log are damaged only by more than one fault; one damaged slot is damage while the
// power was on, and harmless after a power cut, which may have torn it, and in a closed log.
func TestADamagedSlot(t *testing.T) {
	e := newEnds(t)
	name := path.Join(testDir, segmentName(1))
	closed := e.fsys
	killed := e.fsys.Kill()
	must(t, e.log.Close())
	other := e.opts
	other.Boot = bootB
	for _, off := range []int64{slotOffset(0) + 20, slotOffset(1) + 20} {
		for what, c := range map[string]struct {
			disk    *vfstest.Mem
			opts    Options
			refused bool
		}{
			"killed": {killed, e.opts, true}, "power cut": {killed, other, false}, "closed": {closed, e.opts, false},
		} {
			disk := c.disk.Kill()
			disk.Flip(name, off, 1)
			last, _, damage := e.start(disk, c.opts)
			if (damage != nil) != c.refused || damage == nil && last != 6 {
				t.Errorf("%s, %d: %d, %v", what, off, last, damage)
			}
		}
	}
	both := killed.Kill()
	both.Flip(name, slotOffset(0)+20, 1)
	both.Flip(name, slotOffset(1)+20, 1)
	if _, _, damage := e.start(both, other); damage == nil {
		t.Error("a log without a slot is taken")
	}
}

// A slot is written with its whole sector: a power cut may have left anything behind its bytes.
func TestASlotReplacesItsWholeSector(t *testing.T) {
	for i := range 2 {
		e := newEnds(t)
		must(t, e.log.Sync())
		disk := e.fsys.Kill()
		name := path.Join(testDir, segmentName(1))
		b := disk.Content(name)
		for at := slotOffset(i); at < slotOffset(i+1); at++ {
			b[at] = 0xA5
		}
		disk.Put(name, b)
		opts := e.opts
		opts.Boot = bootB
		l := mustOpen(t, disk, opts)
		appendN(t, l, 1)
		last := l.LastSeq()
		if again, loss, damage := e.start(disk.Kill(), opts); again != last || loss != nil || damage != nil {
			t.Errorf("slot %d was garbage after a power cut, then a kill: %d of %d, %+v, %v", i, again, last, loss,
				damage)
		}
	}
}

// A snapshot whose file is gone is reported once; one that was set aside is not missing.
func TestAMissingSnapshotIsReported(t *testing.T) {
	fsys := vfstest.NewMem()
	reported := []uint64{}
	opts := Options{PreallocBytes: -1, MissingSnapshot: func(seq uint64) { reported = append(reported, seq) }}
	l := mustOpen(t, fsys, opts)
	for range 4 {
		appendN(t, l, 1)
		must(t, l.Sync())
	}
	for _, seq := range []uint64{2, 4} {
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: seq}, func(io.Writer) error { return nil }))
	}
	must(t, l.Close())
	newest := path.Join(testDir, SnapshotName(4))
	aside := fsys.Kill()
	must(t, aside.Rename(newest, newest+damagedExt))
	must(t, mustOpen(t, aside, opts).Close())
	must(t, mustOpen(t, fsys, opts).Close())
	if len(reported) > 0 {
		t.Fatalf("%v is there", reported)
	}
	fsys.Lose(newest)
	for range 2 {
		must(t, mustOpen(t, fsys, opts).Close())
	}
	if len(reported) != 1 || reported[0] != 4 {
		t.Errorf("reported %v", reported)
	}
}
