package vfstest

import (
	"math/rand/v2"
	"path"
	"slices"
)

// Crash returns the file system as a power cut at this moment may leave it: all synced data, and a random part
// of the rest that depends on the seed. That is any subset of the written sectors, any size between the old and
// the new one, and the first changes of names up to any of them. The armed faults are applied too. The original
// file system continues. Locks are gone.
func (m *Mem) Crash(seed uint64) *Mem {
	rnd := rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15))
	return m.succeed(true, func(after *Mem) {
		c := &cut{rnd: rnd, keep: keepOf(rnd)}
		for _, name := range sortedKeys(m.dirs) {
			c.aim(m.armed, name)
			if c.modes[SkewedDirs] != nil {
				c.keep = keepOf(c.mode(SkewedDirs))
				if keep := c.modes[SkewedDirs].Keep; keep != 0 {
					c.keep = keep
				}
			}
			names := c.names(m.dirs[name])
			to := after.dir(name)
			for _, base := range sortedKeys(names) {
				c.aim(m.armed, path.Join(name, base))
				node := c.file(names[base])
				to.now[base], to.durable[base] = node, node
			}
		}
		for class, happened := range c.happened {
			if happened {
				m.tally.add(Class(class), "")
			}
		}
	})
}

// keepOf returns the probability with which an unsynced change survives a cut. One cut in four keeps none, one
// in four keeps all, because these extremes find most bugs.
func keepOf(rnd *rand.Rand) float64 { return []float64{0, 1, rnd.Float64(), 0.5}[rnd.IntN(4)] }

// succeed returns the file system that fill fills with what is left of m, changed by the armed
// faults of rest that wait for that. It uses them up, and after a power cut the faults of a cut.
func (m *Mem) succeed(power bool, fill func(after *Mem)) *Mem {
	after := NewMem()
	var rest []*armed
	m.mu.Lock()
	after.capacity, after.history, after.tally = m.capacity, m.history.copy(), m.tally
	fill(after)
	m.armed = slices.DeleteFunc(m.armed, func(a *armed) bool {
		if a.AtCut && a.Class.AtRest() {
			rest = append(rest, a)
			return true
		}
		return power && a.Class.OfCut()
	})
	m.mu.Unlock() // a fault may need a file of m
	after.mu.Lock()
	defer after.mu.Unlock()
	for _, a := range rest {
		after.spoil(&a.Injection)
	}
	return after
}

// Kill returns the file system as the end of the process at this moment leaves it: all that
// was written, synced or not, and what the armed faults of rest with AtCut add. The original goes
// on. Locks are gone.
func (m *Mem) Kill() *Mem {
	return m.succeed(false, func(after *Mem) {
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
	})
}

func (n *memNode) copyOnce(copies map[*memNode]*memNode) *memNode {
	if c := copies[n]; c != nil {
		return c
	}
	c := newMemNode()
	c.data, c.durable = slices.Clone(n.data), slices.Clone(n.durable)
	for s, middle := range n.middle {
		c.middle[s] = slices.Clone(middle)
	}
	for s, fresh := range n.dirty {
		c.dirty[s] = fresh
	}
	copies[n] = c
	return c
}

// Flip durably flips one bit of a file.
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

// Paths returns the paths of all files, sorted.
func (m *Mem) Paths() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.paths()
}

// Put durably gives a file its content, as if it had always had it.
func (m *Mem) Put(name string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dir(path.Dir(name)).put(path.Base(name), content)
}

// Lose durably removes a file.
func (m *Mem) Lose(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dir(path.Dir(name)).vanish(path.Base(name))
}

// edit changes a file behind the program's back. It panics when the file does not exist, because then the test
// is wrong.
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
