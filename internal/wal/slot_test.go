package wal

import (
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
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
		{[2]int64{5, 6}, 6, true, 1, 0},
		{[2]int64{6, 5}, 6, true, 0, 0},
		{[2]int64{5, 5}, 5, true, 0, 0},
		{[2]int64{0, -1}, 0, true, 0, 0},
		{[2]int64{-1, 0}, 0, true, 1, 0},
		{[2]int64{-1, -1}, 0, false, 0, 0},
		{[2]int64{-2, 4}, 4, true, 1, slotOffset(0)},
		{[2]int64{4, -2}, 4, true, 0, slotOffset(1)},
	} {
		disk := vfstest.NewMem()
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
		}, bootA, nil, ending{
			synced: 3, must: 3, written: 8,
			gen: 1,
		}, slotOffset(0), "no slot says where the log ends"},
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
		"new": {[]segment{{num: 1}}, bootA, nil, ending{}, -1, ""},
		"used": {
			[]segment{{num: 1, used: true}},
			bootA, nil,
			ending{},
			slotOffset(0),
			"no slot says where the log ends",
		},
		"new and known": {
			[]segment{{num: 1}},
			bootA, &Known{},
			ending{},
			slotOffset(0),
			"no slot says where the log ends",
		},
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
		version: FormatVersion, record: 1, segment: 1, first: 5, writer: "w", Identity: opts.Identity, chain: 9,
		name: "log",
	}
	whole := append(h.encode(segmentMagic), make([]byte, firstFrame-headerBytes)...)
	later := h
	later.version++
	newer := append(later.encode(segmentMagic), make([]byte, firstFrame-headerBytes)...)
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
		"whole":             {whole, false, "", false},
		"header alone":      {whole[:headerBytes], false, "", false},
		"one byte less":     {whole[:headerBytes-1], false, "header is cut short", false},
		"nothing":           {nil, false, "header is cut short", false},
		"without slots":     {whole[:slotOffset(0)], false, "", false},
		"zeros behind it":   {edit(whole, firstFrame+frameHead-1, 0), false, "", false},
		"first byte":        {edit(whole, firstFrame, 1), true, "", false},
		"last byte of head": {edit(whole, firstFrame+frameHead-1, 1), true, "", false},
		"rest of the sector": {
			edit(whole, headerBytes, 1), false, "the rest of the header's sector is not zero",
			false,
		},
		"end of the sector": {
			edit(whole, int(slotOffset(0))-1, 1), false,
			"the rest of the header's sector is not zero", false,
		},
		"rest without slots": {
			edit(whole[:slotOffset(0)], 200, 1), false, "the rest of the header's sector is not zero", false,
		},
		"checksum, and the rest": {edit(edit(whole, 100, 1), 200, 1), false, "header checksum differs", false},
		"another version":        {edit(newer, 200, 1), false, "", true},
	} {
		disk := vfstest.NewMem()
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
