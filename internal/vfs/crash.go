package vfs

import (
	"math/rand/v2"
	"path"
	"slices"
)

// Crash returns the file system as a power cut at this moment may leave it: what was synced,
// and of the rest what the seed chooses: any subset of the written sectors, any size
// between the old and the new one, any first part of the changes of names. The original
// goes on as if nothing had happened. Locks are gone.
func (m *Mem) Crash(seed uint64) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	rnd := rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15))
	// One cut in four keeps nothing, one everything: the two ends matter most.
	keep := []float64{0, 1, rnd.Float64(), 0.5}[rnd.IntN(4)]
	after := NewMem()
	after.capacity = m.capacity
	for _, name := range sortedKeys(m.dirs) {
		d := m.dirs[name]
		names := copyNames(d.durable)
		for _, c := range d.pending {
			if rnd.Float64() >= keep {
				break
			}
			c.apply(names)
		}
		to := after.dir(name)
		for _, base := range sortedKeys(names) {
			node := names[base].crash(rnd, keep)
			to.now[base], to.durable[base] = node, node
		}
	}
	return after
}

// crash returns the file as a power cut leaves it.
func (n *memNode) crash(rnd *rand.Rand, keep float64) *memNode {
	size := len(n.durable)
	if rnd.Float64() < keep {
		size = len(n.data)
		if rnd.Float64() >= keep {
			lo := min(len(n.data), len(n.durable))
			size = lo + rnd.IntN(max(len(n.data), len(n.durable))-lo+1)
		}
	}
	b := make([]byte, max(size, len(n.data)))
	copy(b, n.durable)
	for _, s := range sortedKeys(n.dirty) {
		if n.dirty[s] && rnd.Float64() < keep {
			lo := min(s*SectorBytes, int64(len(b)))
			hi := min(lo+SectorBytes, int64(len(b)))
			clear(b[lo:hi])
			if lo < int64(len(n.data)) {
				copy(b[lo:hi], n.data[lo:])
			}
		}
	}
	b = b[:size:size]
	return &memNode{data: b, durable: slices.Clone(b), dirty: map[int64]bool{}}
}

// Kill returns the file system as the end of the process at this moment leaves it: all that
// was written, synced or not. The original goes on. Locks are gone.
func (m *Mem) Kill() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMem()
	after.capacity = m.capacity
	for name, d := range m.dirs {
		copies := map[*memNode]*memNode{}
		to := after.dir(name)
		for base, node := range d.now {
			to.now[base] = node.copyOnce(copies)
		}
		for base, node := range d.durable {
			to.durable[base] = node.copyOnce(copies)
		}
		for _, c := range d.pending {
			if c.node != nil {
				c.node = c.node.copyOnce(copies)
			}
			to.pending = append(to.pending, c)
		}
	}
	return after
}

func (n *memNode) copyOnce(copies map[*memNode]*memNode) *memNode {
	if c := copies[n]; c != nil {
		return c
	}
	c := &memNode{data: slices.Clone(n.data), durable: slices.Clone(n.durable), dirty: map[int64]bool{}}
	for s, fresh := range n.dirty {
		c.dirty[s] = fresh
	}
	copies[n] = c
	return c
}

// Flip turns one bit of a file, durably.
func (m *Mem) Flip(name string, off int64, bit uint) {
	m.edit(name, func(b []byte) []byte {
		b[off] ^= 1 << bit
		return b
	})
}

// Cut shortens a file, durably.
func (m *Mem) Cut(name string, size int64) {
	m.edit(name, func(b []byte) []byte { return b[:size] })
}

// Content returns a copy of a file's bytes.
func (m *Mem) Content(name string) (content []byte) {
	m.edit(name, func(b []byte) []byte {
		content = slices.Clone(b)
		return b
	})
	return content
}

// edit changes a file behind everybody's back. A name that is not there is a mistake of
// the test.
func (m *Mem) edit(name string, change func([]byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.dir(path.Dir(name)).now[path.Base(name)]
	if node == nil {
		panic("BUG: no file " + name)
	}
	node.data = change(node.data)
	if len(node.dirty) == 0 {
		node.durable = slices.Clone(node.data)
	}
}

func copyNames(names map[string]*memNode) map[string]*memNode {
	c := make(map[string]*memNode, len(names))
	for name, node := range names {
		c[name] = node
	}
	return c
}

func sortedKeys[K string | int64, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
