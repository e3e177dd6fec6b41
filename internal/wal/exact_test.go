package wal

import (
	"errors"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tickhive/internal/vfs"
)

func sector(s slot, seed uint32) []byte {
	var b [vfs.SectorBytes]byte
	s.put(&b, seed)
	return b[:]
}

// A slot is read if its sector has the magic, the checksum and nothing else; of two, the newer one counts.
func TestASlotIsReadAsItWasWritten(t *testing.T) {
	one := slot{gen: 1, synced: 2, written: 3, snapshot: 4, flags: 5, boot: ID{6}}
	whole := sector(one, 7)
	for n, ok := range map[int]bool{0: false, 8: false, slotBytes - 1: false, slotBytes: true, vfs.SectorBytes: true} {
		if got, read := parseSlot(whole[:n], 7); read != ok || ok && got != one {
			t.Errorf("%d bytes: %+v, %v", n, got, read)
		}
	}
	if _, ok := parseSlot(whole, 8); ok {
		t.Error("a slot of another file is read")
	}
	for _, at := range []int{0, 7, 8, 20, 43, 59, 60, 63, slotBytes, slotBytes + 1, vfs.SectorBytes - 1} {
		b := slices.Clone(whole)
		b[at] ^= 1
		if _, ok := parseSlot(b, 7); ok {
			t.Errorf("byte %d is another one: read", at)
		}
	}
	other := one
	var b [vfs.SectorBytes]byte
	other.put(&b, 7)
	b[0] = 'X'
	le.PutUint32(b[60:], crcOf(b[:60], 7))
	if _, ok := parseSlot(b[:], 7); ok {
		t.Error("a slot without magic is read")
	}
	for _, c := range []struct {
		gens    [2]int64 // of the slots; -1: nothing was written, -2: damaged
		gen     uint64
		valid   bool
		at      int
		damaged int64
	}{
		{[2]int64{5, 6}, 6, true, 1, 0}, {[2]int64{6, 5}, 6, true, 0, 0}, {[2]int64{5, 5}, 5, true, 0, 0},
		{[2]int64{0, -1}, 0, true, 0, 0}, {[2]int64{-1, 0}, 0, true, 1, 0}, {[2]int64{-1, -1}, 0, false, 0, 0},
		{[2]int64{-2, 4}, 4, true, 1, slotOffset(0)}, {[2]int64{4, -2}, 4, true, 0, slotOffset(1)},
	} {
		disk := vfs.NewMem()
		content := make([]byte, slotOffset(0))
		for _, gen := range c.gens {
			one := make([]byte, vfs.SectorBytes)
			if gen != -1 {
				one = sector(slot{gen: uint64(max(gen, 0))}, 7)
			}
			if gen == -2 {
				one[20] ^= 1
			}
			content = append(content, one...)
		}
		disk.Put("f", content)
		f, err := disk.Open("f")
		must(t, err)
		s, err := readSlots(f, 7)
		must(t, err)
		if s.gen != c.gen || s.valid != c.valid || s.at != c.at || s.damaged != c.damaged {
			t.Errorf("%v: %+v", c.gens, s)
		}
		must(t, f.Close())
	}
}

func crcOf(b []byte, seed uint32) uint32 { return crc32.Update(seed, castagnoli, b) }

// What the slots of a log say of its end, from the oldest segment on.
func TestWhatTheSlotsSay(t *testing.T) {
	valid := func(s slot) slots { return slots{slot: s, valid: true} }
	for name, c := range map[string]struct {
		segs []segment
		boot ID
		k    *Known
		want ending
		bad  int64 // offset of damage in the last segment, -1 for none
		why  string
	}{
		"newer first": {[]segment{
			{num: 1, slots: valid(slot{gen: 9, synced: 5, written: 6, snapshot: 4, boot: bootA})},
			{num: 2, slots: valid(slot{gen: 7, synced: 3, written: 8, snapshot: 2, boot: bootB})},
		}, bootA, nil, ending{synced: 5, must: 6, written: 8, snapshot: 4, gen: 9}, -1, ""},
		"newer last": {[]segment{
			{num: 1, slots: valid(slot{gen: 7, synced: 3, written: 8, snapshot: 2, boot: bootB})},
			{num: 2, slots: valid(slot{gen: 9, synced: 5, written: 6, snapshot: 4, boot: bootA})},
		}, bootA, nil, ending{synced: 5, must: 6, written: 8, snapshot: 4, gen: 9}, -1, ""},
		"another boot": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, boot: bootB})},
		}, bootA, nil, ending{synced: 3, must: 3, written: 8, gen: 1}, -1, ""},
		"no boot is known": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8})},
		}, ID{}, nil, ending{synced: 3, must: 3, written: 8, gen: 1}, -1, ""},
		"known": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, boot: bootA, flags: slotSealed})},
		}, bootA, &Known{Position: Position{Seq: 50}}, ending{synced: 50, must: 50, written: 50, gen: 1}, -1, ""},
		"sealed, and the next one is gone": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, flags: slotSealed})},
		}, bootA, nil, ending{synced: 3, must: 9, written: 9, gen: 1}, -1, ""},
		"followed, and the next one is gone": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, boot: bootA, flags: slotFollowed})},
		}, bootA, nil, ending{synced: 3, must: 9, written: 9, gen: 1}, -1, ""},
		"followed before a power cut": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, boot: bootB, flags: slotFollowed})},
		}, bootA, nil, ending{synced: 3, must: 3, written: 8, gen: 1}, -1, ""},
		"sealed, and the next one has no slot": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, flags: slotSealed})}, {num: 2},
		}, bootA, nil, ending{synced: 3, must: 3, written: 8, gen: 1}, slotOffset(0), "no slot says where the log ends"},
		"sealed, and the next one has no header": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, flags: slotSealed})}, {num: 2, reason: "torn"},
		}, bootA, nil, ending{synced: 3, must: 9, written: 9, gen: 1}, 0, "torn"},
		"sealed, and another one follows": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, flags: slotSealed})}, {num: 3},
		}, bootA, nil, ending{synced: 3, must: 3, written: 8, gen: 1}, -1, ""},
		"closed, and one without a slot follows": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, flags: slotClosed})}, {num: 2, used: true},
		}, bootA, nil, ending{synced: 3, must: 3, written: 8, gen: 1}, -1, ""},
		"sealed, and a sound one behind it": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 3, written: 8, flags: slotSealed})},
			{num: 2, slots: valid(slot{gen: 2, synced: 8, written: 8})},
		}, bootA, nil, ending{synced: 8, must: 8, written: 8, gen: 2}, -1, ""},
		"sealed later than the next one was written": {[]segment{
			{num: 1, slots: valid(slot{gen: 1, synced: 30, written: 40})},
			{num: 2, slots: valid(slot{gen: 2, synced: 8, written: 8, flags: slotSealed})},
		}, bootA, nil, ending{synced: 30, must: 30, written: 40, gen: 2}, -1, ""},
		"new":             {[]segment{{num: 1}}, bootA, nil, ending{}, -1, ""},
		"used":            {[]segment{{num: 1, used: true}}, bootA, nil, ending{}, slotOffset(0), "no slot says where the log ends"},
		"new and known":   {[]segment{{num: 1}}, bootA, &Known{}, ending{}, slotOffset(0), "no slot says where the log ends"},
		"second of a new": {[]segment{{num: 1}, {num: 2, used: true}}, bootA, nil, ending{}, -1, ""},
		"damaged slot": {[]segment{{num: 1, slots: slots{
			slot: slot{boot: bootA}, valid: true, damaged: slotOffset(1),
		}}}, bootA, nil, ending{}, slotOffset(1), "the slot that says where the log ends is damaged"},
		"damaged slot, sealed": {[]segment{{num: 1, slots: slots{
			slot: slot{boot: bootA, flags: slotSealed}, valid: true, damaged: slotOffset(1),
		}}, {num: 2, slots: valid(slot{})}}, bootA, nil, ending{}, -1, ""},
		"damaged slot, closed": {[]segment{{num: 1, slots: slots{
			slot: slot{boot: bootA, flags: slotClosed}, valid: true, damaged: slotOffset(1),
		}}}, bootA, nil, ending{}, -1, ""},
		"damaged slot after a power cut": {[]segment{{num: 1, slots: slots{
			slot: slot{boot: bootB}, valid: true, damaged: slotOffset(1),
		}}}, bootA, nil, ending{}, -1, ""},
		"two damaged slots": {[]segment{{num: 3}, {num: 4, slots: slots{
			slot: slot{boot: bootA}, damaged: slotOffset(1),
		}}}, bootA, nil, ending{}, -1, ""},
	} {
		for i := range c.segs {
			c.segs[i].path = segmentName(c.segs[i].num)
		}
		got := endOf(c.segs, &Options{Boot: c.boot, Known: c.k})
		damage := got.damage
		if got.damage = nil; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		last := c.segs[len(c.segs)-1].path
		if (damage != nil) != (c.bad >= 0) || damage != nil &&
			(damage.Offset != c.bad || damage.Reason != c.why || damage.File != last) {
			t.Errorf("%s: damage %+v", name, damage)
		}
	}
}

// A segment was used if anything is behind its header; its header's sector has nothing else.
func TestWhatAHeaderSays(t *testing.T) {
	opts := Options{Identity: Identity{History: ID{7}, Directory: ID{8}}}
	must(t, opts.validateFor(testDir))
	h := header{
		version: FormatVersion, record: 1, segment: 1, first: 5, writer: "w", Identity: opts.Identity, chain: 9, name: "log",
	}
	whole := append(h.append(segmentMagic, nil), make([]byte, firstFrame-headerBytes)...)
	later := h
	later.version++
	newer := append(later.append(segmentMagic, nil), make([]byte, firstFrame-headerBytes)...)
	edit := func(b []byte, at int, v byte) []byte {
		b = slices.Clone(b)
		for len(b) <= at {
			b = append(b, 0)
		}
		b[at] = v
		return b
	}
	for name, c := range map[string]struct {
		content []byte
		used    bool
		reason  string
		version bool // another one
	}{
		"whole":              {whole, false, "", false},
		"header alone":       {whole[:headerBytes], false, "", false},
		"one byte less":      {whole[:headerBytes-1], false, "header is cut short", false},
		"nothing":            {nil, false, "header is cut short", false},
		"without slots":      {whole[:slotOffset(0)], false, "", false},
		"zeros behind it":    {edit(whole, firstFrame+frameHead-1, 0), false, "", false},
		"first byte":         {edit(whole, firstFrame, 1), true, "", false},
		"last byte of head":  {edit(whole, firstFrame+frameHead-1, 1), true, "", false},
		"rest of the sector": {edit(whole, headerBytes, 1), false, "the rest of the header's sector is not zero", false},
		"end of the sector":  {edit(whole, int(slotOffset(0))-1, 1), false, "the rest of the header's sector is not zero", false},
		"rest without slots": {
			edit(whole[:slotOffset(0)], 200, 1), false, "the rest of the header's sector is not zero", false,
		},
		"checksum, and the rest": {edit(edit(whole, 100, 1), 200, 1), false, "header checksum differs", false},
		"another version":        {edit(newer, 200, 1), false, "", true},
	} {
		disk := vfs.NewMem()
		disk.Put("f", c.content)
		s, o := segment{num: 1, path: "f"}, opts
		err := s.load(disk, &o)
		var version *VersionError
		if errors.As(err, &version) != c.version || err != nil && !c.version {
			t.Errorf("%s: %v", name, err)
		}
		if s.used != c.used || s.reason != c.reason || err == nil && c.reason == "" && (s.first != 5 || s.chain != 9) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// backwards is a file system that lists its files in no order.
type backwards struct{ vfs.FS }

func (b backwards) List(dir string) ([]string, error) {
	names, err := b.FS.List(dir)
	slices.Reverse(names)
	return names, err
}

// Segments and snapshots have an order, whichever order a directory has.
func TestTheOrderOfFiles(t *testing.T) {
	disk, opts := vfs.NewMem(), small()
	opts.Identity = Identity{History: ID{7}, Directory: ID{8}}
	l := mustOpen(t, disk, opts)
	for range 3 {
		appendN(t, l, 1)
		must(t, l.Sync())
		must(t, l.WriteSnapshot(SnapshotMeta{Seq: l.LastSeq()}, writeText("x")))
		must(t, l.Rotate())
	}
	must(t, l.Close())
	must(t, opts.validateFor(testDir))
	segs, err := loadSegments(backwards{disk}, testDir, &opts)
	must(t, err)
	for i, seg := range segs {
		if seg.num != uint64(i+1) {
			t.Errorf("segment %d is at place %d", seg.num, i)
		}
	}
	for _, fsys := range []vfs.FS{disk, backwards{disk}} {
		if seqs, err := snapshotSeqs(fsys, testDir); err != nil || !slices.Equal(seqs, []uint64{3, 2}) {
			t.Errorf("snapshots %v, %v", seqs, err)
		}
	}
	// The chain after each record, also with a last segment whose header cannot be read.
	var chains []uint64
	r, err := newReader(disk, segs, 0, 1<<40, 0)
	must(t, err)
	for {
		if _, err := r.Next(); err != nil {
			break
		}
		chains = append(chains, r.Position().Chain)
	}
	must(t, r.Close())
	segs[len(segs)-1].reason, segs[len(segs)-1].first = "torn", 0
	for i, want := range chains {
		if got, err := chainAt(disk, segs, uint64(i+1)); err != nil || got != want {
			t.Errorf("after record %d: %d, %v, want %d", i+1, got, err, want)
		}
	}
	if len(chains) != 3 {
		t.Errorf("%d records", len(chains))
	}
	meta, bare := SnapshotMeta{Seq: 2, Chain: 77}, Options{RecordVersion: 1, Name: "log"}
	must(t, meta.place(disk, testDir, &bare))
	if meta.Chain != 77 || bare.Identity != opts.Identity {
		t.Errorf("%+v, %+v", meta, bare.Identity)
	}
	meta.Chain = 0
	must(t, meta.place(disk, testDir, &bare))
	if meta.Chain != chains[1] {
		t.Errorf("chain %d, want %d", meta.Chain, chains[1])
	}
}

// A reader of a segment without a header names it; what is behind it counts as torn, from its first byte.
func TestAReaderOfASegmentWithoutAHeader(t *testing.T) {
	disk := vfs.NewMem()
	opts := small()
	l := mustOpen(t, disk, opts)
	appendN(t, l, 2)
	must(t, l.Rotate())
	appendN(t, l, 1)
	must(t, l.Close())
	must(t, opts.validateFor(testDir))
	second := path.Join(testDir, segmentName(2))
	torn := disk.Kill()
	torn.Flip(second, 3, 0)
	segs, err := loadSegments(torn, testDir, &opts)
	must(t, err)
	r, err := newReader(torn, segs, 0, 1<<40, 0)
	must(t, err)
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) || r.TornTail() != int64(len(strings.TrimRight(string(torn.Content(second)), "\x00"))) {
		t.Errorf("%v, %d bytes are torn", err, r.TornTail())
	}
	must(t, r.Close())
	if err := r.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	first := disk.Kill()
	first.Flip(path.Join(testDir, segmentName(1)), 3, 0)
	_, _, _, err = readAll(first, small())
	var damage *CorruptError
	if !errors.As(err, &damage) || damage.Reason != "header has no magic" || damage.Offset != 0 || damage.Seq != 0 {
		t.Errorf("%+v, %v", damage, err)
	}
	// A segment that begins with a record that was there before is one of another history.
	segs, err = loadSegments(disk, testDir, &opts)
	must(t, err)
	segs[1].first--
	r, err = newReader(disk, segs, 0, 1<<40, 3)
	must(t, err)
	for err == nil {
		_, err = r.Next()
	}
	if !errors.As(err, &damage) || damage.Reason != "the segment begins at record 2 of another history" {
		t.Errorf("%v", err)
	}
	must(t, r.Close())
}

// A record that is larger than the buffer is read; so is a part of a file, and of a snapshot.
func TestReadsOfAnySize(t *testing.T) {
	disk := vfs.NewMem()
	l := mustOpen(t, disk, Options{PreallocBytes: -1})
	sizes := []int{1, readBuffer - 300, readBuffer + 1, 5, 3 * readBuffer, 7}
	for i, n := range sizes {
		_, err := l.Append([][]byte{append(make([]byte, n-1), byte(i+1))})
		must(t, err)
	}
	must(t, l.Close())
	_, payloads, _, err := readAll(disk, Options{})
	must(t, err)
	for i, p := range payloads {
		if len(p) != sizes[i] || p[len(p)-1] != byte(i+1) {
			t.Errorf("record %d has %d bytes, the last is %d", i+1, len(p), p[len(p)-1])
		}
	}
	content := []byte(strings.Repeat("0123456789", 40_000))
	disk.Put("f", content)
	var writes [][2]int64
	disk.After(func(op vfs.Op) {
		if op.Kind == vfs.OpWrite {
			writes = append(writes, [2]int64{op.Off, op.Len})
		}
	})
	f, err := disk.OpenRW("f")
	must(t, err)
	must(t, rewrite(f, 1000, 300_000))
	must(t, rewrite(f, 300_000, 300_000))
	if want := [][2]int64{{1000, readBuffer}, {1000 + readBuffer, 299_000 - readBuffer}}; !slices.Equal(writes, want) {
		t.Errorf("writes %v, want %v", writes, want)
	}
	if string(disk.Content("f")) != string(content) {
		t.Error("another content")
	}
	must(t, f.Close())
	for reason, body := range map[string][]byte{
		"snapshot is cut short": nil, "chunk length is impossible": make([]byte, chunkHead),
	} {
		disk.Put("s", body)
		f, err := disk.Open("s")
		must(t, err)
		_, err = SnapshotBody(f, "s", 1, 0, 0).Read(make([]byte, 10))
		var damage *CorruptError
		if !errors.As(err, &damage) || damage.Reason != reason {
			t.Errorf("%v, want %s", err, reason)
		}
		if _, err = SnapshotBody(f, "s", 1, 500, 0).Read(make([]byte, 10)); !errors.As(err, &damage) ||
			damage.Reason != "snapshot is cut short" {
			t.Errorf("behind the end of the file: %v", err)
		}
		must(t, f.Close())
	}
	w := &chunkWriter{f: nil, buf: make([]byte, chunkHead)}
	if n, err := w.Write(make([]byte, 100)); n != 100 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	// A snapshot that is shorter than its header is damaged, and has no figures.
	disk = vfs.NewMem()
	l = mustOpen(t, disk, small())
	appendN(t, l, 1)
	must(t, l.WriteSnapshot(SnapshotMeta{Seq: 1}, writeText("x")))
	must(t, l.Close())
	name := path.Join(testDir, SnapshotName(1))
	later := header{version: SnapshotVersion + 1, record: 1, segment: 1, first: 1, createdNs: 5}
	disk.Put("later", later.append(snapshotMagic, nil)[:100])
	var none figures
	none.noteSnapshot(disk, "later")
	if none.snapshotBytes.Load() != 0 || none.snapshotNs.Load() != 0 {
		t.Errorf("%d bytes at %d", none.snapshotBytes.Load(), none.snapshotNs.Load())
	}
	disk.Cut(name, 100)
	loaded, err := LoadNewest(disk, testDir, small(), func(SnapshotMeta, io.Reader) error { return nil })
	if err != nil || loaded.OK || len(loaded.Damaged) != 1 || !strings.Contains(loaded.Damaged[0], "header is cut short") {
		t.Errorf("%+v, %v", loaded, err)
	}
	disk.Lose(name) // nobody is told that it is gone
	l = mustOpen(t, disk, small())
	must(t, l.Close())
}

// Full segments are sealed from the oldest on, up to one that waits for a sync or is not followed by a durable one.
func TestWhichSegmentsAreSealed(t *testing.T) {
	for name, c := range map[string]struct {
		unsynced []int // indexes of segments
		unnamed  int   // index of a segment
		sealed   int
	}{
		"all": {nil, 0, 2}, "the active one waits": {[]int{2}, 0, 2}, "the second waits": {[]int{1}, 0, 1},
		"both wait": {[]int{0, 1}, 0, 0}, "the second and the active one wait": {[]int{1, 2}, 0, 1},
		"the active one is not named": {nil, 2, 1}, "the second is not named": {nil, 1, 0},
	} {
		disk := vfs.NewMem()
		opts := small()
		opts.PreallocBytes = -1
		l := mustOpen(t, disk, opts)
		appendN(t, l, 1)
		must(t, l.Rotate())
		appendN(t, l, 1)
		must(t, l.Rotate())
		appendN(t, l, 1)
		segs := slices.Clone(l.segments)
		l.unsynced = nil
		for i, seg := range segs {
			seg.named = c.unnamed == 0 || c.unnamed != i
			seg.synced = seg.gen
		}
		for _, i := range c.unsynced {
			l.unsynced = append(l.unsynced, segs[i])
		}
		must(t, l.sealSynced())
		for i, seg := range segs[:2] {
			if sealed := seg.file == nil; sealed != (i < c.sealed) || sealed != (seg.flags == slotFollowed|slotSealed) {
				t.Errorf("%s: segment %d is sealed: %v", name, i, sealed)
			}
		}
		if len(l.full) != 2-c.sealed {
			t.Errorf("%s: %d full segments", name, len(l.full))
		}
	}
}

// A segment is sealed in the slot behind a durable one: a slot that was not synced is synced first.
func TestTheOrderInWhichASegmentIsSealed(t *testing.T) {
	for _, synced := range []bool{true, false} {
		disk := vfs.NewMem()
		opts := small()
		opts.PreallocBytes = -1
		l := mustOpen(t, disk, opts)
		appendN(t, l, 1)
		must(t, l.Rotate())
		seg := l.full[0]
		if seg.synced = 0; synced {
			seg.synced = seg.gen
		}
		slot := seg.slot
		var ops []string
		disk.After(func(op vfs.Op) { ops = append(ops, op.Kind.String()) })
		must(t, l.seal(seg))
		disk.After(nil)
		want := []string{"write", "sync"}
		if !synced {
			want = []string{"sync", "write", "sync"}
		}
		if !slices.Equal(ops, want) || seg.slot == slot || seg.file != nil {
			t.Errorf("%v, want %v; slot %d", ops, want, seg.slot)
		}
	}
}

// After the end of a log every call says so and waits for nothing, also the end itself.
func TestALogThatHasEnded(t *testing.T) {
	for _, failed := range []bool{false, true} {
		disk := vfs.NewMem()
		l := mustOpen(t, disk, small())
		appendN(t, l, 1)
		if failed {
			must(t, l.Sync())
			must(t, l.Rotate())
			appendN(t, l, 1)
			disk.Before(func(op vfs.Op) vfs.Fault {
				if op.Kind == vfs.OpSync {
					return vfs.Fault{Err: syscall.EIO}
				}
				return vfs.Fault{}
			})
			if err := l.Sync(); !errors.Is(err, ErrStopped) {
				t.Errorf("%v", err)
			}
			if !l.slotMu.TryLock() {
				t.Fatal("a sync that failed holds the slots")
			}
			l.slotMu.Unlock()
		}
		must(t, l.Close())
		for range 2 {
			must(t, l.Close())
			if _, err := l.Append([][]byte{[]byte("x")}); err == nil {
				t.Error("appended")
			}
			if l.Sync() == nil || l.Rotate() == nil || l.DropBefore(1<<40) == nil && failed || l.Room() || len(l.Segments()) == 0 {
				t.Error("a log that has ended goes on")
			}
		}
	}
}

// A drop of segments ends with the error of its sync.
func TestADropReportsItsSync(t *testing.T) {
	disk := vfs.NewMem()
	l := mustOpen(t, disk, small())
	appendN(t, l, 1)
	must(t, l.Rotate())
	appendN(t, l, 1)
	disk.Before(func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpSync {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	if err := l.DropBefore(2); !errors.Is(err, syscall.EIO) || len(l.Segments()) != 2 {
		t.Errorf("%v, %d segments", err, len(l.Segments()))
	}
}

// Zeros are written ahead when less than half a step of them is left, and a sync with something to do is one.
func TestWhenZerosAreWrittenAhead(t *testing.T) {
	l := mustOpen(t, vfs.NewMem(), Options{SegmentBytes: 1 << 20, PreallocBytes: 1200})
	for left, want := range map[int64]int64{599: 599 + 1200, 600: 600, 0: 1200, 1500: 1500} {
		l.filledAt = l.bytes.Load()
		l.active.filled.Store(l.off.Load() + left)
		l.fillAhead()
		if got := l.active.filled.Load() - l.off.Load(); got != want {
			t.Errorf("%d bytes are left: %d afterwards, want %d", left, got, want)
		}
	}
	before := FiguresOf(l).Syncs
	must(t, l.Sync())
	if FiguresOf(l).Syncs != before {
		t.Error("a sync without anything to do is counted")
	}
	appendN(t, l, 1)
	must(t, l.Sync())
	if FiguresOf(l).Syncs == before {
		t.Error("a sync is not counted")
	}
	must(t, l.Close())
	o := Options{Name: strings.Repeat("n", nameBytes+4)}
	must(t, o.validateFor(testDir))
	if o.Name != strings.Repeat("n", nameBytes) {
		t.Errorf("name %q", o.Name)
	}
}

// A loss reaches up to the last record that was there, whether or not a slot tells of it.
func TestHowFarALossReaches(t *testing.T) {
	for _, c := range []struct{ written, found, to uint64 }{{9, 7, 9}, {7, 9, 9}, {8, 8, 8}} {
		var got Loss
		l := &opening{Log: &Log{opts: Options{AcceptLoss: true, Lost: func(l Loss) error { got = l; return nil }}}}
		l.found.Position = Position{Seq: c.found, Chain: 5}
		l.end.written, l.found.damage = c.written, &CorruptError{}
		must(t, l.judge())
		if got.To != c.to || got.Seq != c.found || got.Chain != 5 || l.info.Lost != c.to {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// A log and a reader close each file once, and a log does not release the lock of the next holder.
func TestWhatIsClosedIsClosedOnce(t *testing.T) {
	disk := vfs.NewMem()
	b := &brittle{FS: disk}
	first := mustOpen(t, b, small())
	appendN(t, first, 1)
	must(t, first.Close())
	next := mustOpen(t, disk, small())
	for range 2 {
		must(t, first.Close())
		if b.open != 0 {
			t.Errorf("%d files are open", b.open)
		}
	}
	var locked *vfs.LockedError
	if _, err := Open(disk, testDir, small()); !errors.As(err, &locked) {
		t.Errorf("the lock was released: %v", err)
	}
	must(t, next.Close())
	r, err := OpenReader(b, testDir, small(), 0)
	must(t, err)
	for range 2 {
		must(t, r.Close())
		if b.open != 0 {
			t.Errorf("%d files are open", b.open)
		}
	}
}
