package slots

import "unsafe"

// tableShards is the number of parts of a table, each of which grows alone. So growth moves few entries at once.
const tableShards = 64

// maxProbe bounds every search of a Table: an entry is fewer than maxProbe places behind the place that its hash names.
// With well mixed hashes, one entry in 100,000 would be farther away before a shard of 16 Ki places is three quarters
// full; the shard then grows earlier.
const maxProbe = 128

// sparse is the share of its places below which a shard does not grow any more for a put that finds no place within
// maxProbe: then the hashes collide, which more places would not change.
const sparse = 8

// Table is an open-addressing hash table of slots. It does not hold the keys: the caller compares what the slots hold.
// An entry has the hash beside the slot, so a search for an unknown key reads only the table, and neither growth nor
// a deletion reads what the slots hold.
//
// No operation passes over more than maxProbe places, whatever the hashes are. A slot for which there is no place is
// kept in a map, by its whole key; a search that finds nothing in the table goes on there (Spilled).
//
// Its zero value is empty. All bits of a hash must be well mixed. If others choose the keys, the hash should depend on
// a secret: else they can make every search pass over maxProbe places and then read the map.
type Table struct {
	shards  *[tableShards]tableShard // nil: never used
	spilled map[Key]int32            // nil: never needed
	count   int                      // of the slots in the shards
}

// Key is the whole key of a slot.
type Key = [2]uint64

// tableShard holds the entries whose hashes have equal lowest bits. Their number is a power of two; at most three
// quarters are used.
type tableShard struct {
	entries []tableEntry
	used    int // entries that are not empty
	live    int // entries with a slot
}

type tableEntry struct {
	hash uint32
	slot int32 // 0: empty; gone: a slot was deleted, and searches go on behind it
}

const gone = -1

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
	for ; at < maxProbe; at++ {
		if x := e[(hash/tableShards+at)&mask]; x.slot == 0 || x.hash == hash && x.slot != gone {
			return x.slot, at + 1
		}
	}
	return 0, at
}

// Spilled returns the slot of a key that Seek has not found, 0: it is not in the table.
func (t *Table) Spilled(key Key) int32 {
	if len(t.spilled) == 0 {
		return 0
	}
	return t.spilled[key]
}

// CacheLine returns the cache line in which a search for a hash begins.
func (t *Table) CacheLine(hash uint32) CacheLine {
	if t.shards == nil {
		return 0
	}
	e := t.shards[hash%tableShards].entries
	if len(e) == 0 {
		return 0
	}
	return CacheLine(unsafe.Pointer(&e[hash/tableShards&uint32(len(e)-1)]))
}

// Put adds a slot, which must be positive, under a hash. The table must not have the key.
func (t *Table) Put(hash uint32, slot int32, key Key) {
	if t.shards == nil {
		t.shards = new([tableShards]tableShard)
	}
	s := &t.shards[hash%tableShards]
	if 4*s.used >= 3*len(s.entries) {
		s.grow()
	}
	for !s.put(tableEntry{hash, slot}) {
		if sparse*s.live < len(s.entries) {
			if t.spilled == nil {
				t.spilled = map[Key]int32{}
			}
			t.spilled[key] = slot
			return
		}
		s.grow()
	}
	t.count++
}

// grow makes room, and drops the entries of deleted slots. It moves the entries in the order of their places, so no
// entry gets farther from the place that its hash names.
func (s *tableShard) grow() {
	old := s.entries
	size := len(old)
	if sparse*s.live >= size {
		size = max(8, 2*size)
	}
	s.entries, s.used, s.live = make([]tableEntry, size), 0, 0
	first := 0 // behind an empty place, where a run begins
	for first < len(old) && old[first].slot != 0 {
		first++
	}
	for i := range old {
		if x := old[(first+i)&(len(old)-1)]; x.slot > 0 && !s.put(x) {
			panic("BUG: engine: growth of a table takes an entry further away")
		}
	}
}

// put reports whether there is a place for x.
func (s *tableShard) put(x tableEntry) bool {
	mask := uint32(len(s.entries) - 1)
	home := x.hash / tableShards
	for at := range uint32(maxProbe) {
		e := &s.entries[(home+at)&mask]
		if e.slot > 0 {
			continue
		}
		if e.slot == 0 {
			s.used++
		}
		s.live++
		*e = x
		return true
	}
	return false
}

// Delete removes a slot, which must be there under the hash and the key. It moves the later entries of the run back, up
// to a bound: beyond it the entry stays as one that is gone.
func (t *Table) Delete(hash uint32, slot int32, key Key) {
	if len(t.spilled) > 0 && t.spilled[key] == slot {
		delete(t.spilled, key)
		return
	}
	s := &t.shards[hash%tableShards]
	e, mask := s.entries, uint32(len(s.entries)-1)
	i := hash / tableShards & mask
	for e[i].slot != slot {
		i = (i + 1) & mask
	}
	s.live--
	t.count--
	j := i
	for range maxProbe {
		j = (j + 1) & mask
		x := e[j]
		if x.slot == 0 {
			e[i] = tableEntry{}
			s.used--
			return
		}
		if home := x.hash / tableShards & mask; x.slot > 0 && (j-home)&mask >= (j-i)&mask {
			e[i] = x
			i = j
		}
	}
	e[i] = tableEntry{slot: gone}
}

// Count returns the number of slots in the table.
func (t *Table) Count() int { return t.count + len(t.spilled) }

// All calls visit for every slot, in no useful order.
func (t *Table) All(visit func(slot int32)) {
	for _, slot := range t.spilled {
		visit(slot)
	}
	if t.shards == nil {
		return
	}
	for i := range t.shards {
		for _, x := range t.shards[i].entries {
			if x.slot > 0 {
				visit(x.slot)
			}
		}
	}
}
