package slots

import "unsafe"

// tableShards is the number of parts of a table, each of which grows alone. So growth moves few entries at once.
const tableShards = 64

// Table is an open-addressing hash table of slots. It does not hold the keys: the caller compares what the slots hold.
// An entry has the hash beside the slot, so a search for an unknown key reads only the table, and neither growth nor
// a deletion reads what the slots hold.
//
// Its zero value is empty. All bits of a hash must be well mixed.
type Table struct {
	shards *[tableShards]tableShard // nil: never used
	count  int
}

// tableShard holds the entries whose hashes have equal lowest bits. Their number is a power of two; at most three
// quarters are used.
type tableShard struct {
	entries []tableEntry
	count   int
}

type tableEntry struct {
	hash uint32
	slot int32 // 0: empty
}

// Seek returns the next slot with a hash, and the place after it; 0: there is no further one. A search begins at
// place 0.
func (t *Table) Seek(hash, at uint32) (slot int32, next uint32) {
	if t.shards == nil {
		return 0, 0
	}
	e := t.shards[hash%tableShards].entries
	if len(e) == 0 {
		return 0, 0
	}
	mask := uint32(len(e) - 1)
	for ; ; at++ {
		if x := e[(hash/tableShards+at)&mask]; x.slot == 0 || x.hash == hash {
			return x.slot, at + 1
		}
	}
}

// Line returns the cache line in which a search for a hash begins.
func (t *Table) Line(hash uint32) Line {
	if t.shards == nil {
		return 0
	}
	e := t.shards[hash%tableShards].entries
	if len(e) == 0 {
		return 0
	}
	return Line(unsafe.Pointer(&e[hash/tableShards&uint32(len(e)-1)]))
}

// Put adds a slot, which must not be 0, under a hash.
func (t *Table) Put(hash uint32, slot int32) {
	if t.shards == nil {
		t.shards = new([tableShards]tableShard)
	}
	s := &t.shards[hash%tableShards]
	if 4*s.count >= 3*len(s.entries) {
		old := s.entries
		s.entries = make([]tableEntry, max(8, 2*len(old)))
		for _, x := range old {
			if x.slot != 0 {
				s.put(x)
			}
		}
	}
	s.put(tableEntry{hash, slot})
	s.count++
	t.count++
}

func (s *tableShard) put(x tableEntry) {
	mask := uint32(len(s.entries) - 1)
	i := x.hash / tableShards & mask
	for s.entries[i].slot != 0 {
		i = (i + 1) & mask
	}
	s.entries[i] = x
}

// Delete removes a slot, which must be there under the hash, and moves the later entries of its run back.
func (t *Table) Delete(hash uint32, slot int32) {
	s := &t.shards[hash%tableShards]
	e, mask := s.entries, uint32(len(s.entries)-1)
	i := hash / tableShards & mask
	for e[i].slot != slot {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; e[j].slot != 0; j = (j + 1) & mask {
		home := e[j].hash / tableShards & mask
		if (j-home)&mask >= (j-i)&mask {
			e[i] = e[j]
			i = j
		}
	}
	e[i] = tableEntry{}
	s.count--
	t.count--
}

// Count returns the number of slots in the table.
func (t *Table) Count() int { return t.count }

// All calls visit for every slot, in no useful order.
func (t *Table) All(visit func(slot int32)) {
	if t.shards == nil {
		return
	}
	for i := range t.shards {
		for _, x := range t.shards[i].entries {
			if x.slot != 0 {
				visit(x.slot)
			}
		}
	}
}
