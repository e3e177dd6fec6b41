package vfstest

import (
	"bytes"
	"math/rand/v2"
	"path"
	"slices"

	"github.com/tickhive/tickhive/internal/vfs"
)

// KeepVersions stores up to n earlier durable contents of each file from now on, for StaleFile.
func (m *Mem) KeepVersions(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history.limit = n
}

// history stores earlier durable contents of files.
type history struct {
	limit int // contents of each name; 0: none are kept
	names map[string]past
}

// past holds earlier contents of a file, oldest first. A stored content never changes.
type past struct {
	content [][]byte
	drop    int
}

// keep stores a content that a file has durably had. Above the limit it drops one of the stored contents, each
// time at another position, so that both old and recent ones remain.
func (h *history) keep(name string, content []byte) {
	if h.limit == 0 || len(content) == 0 {
		return
	}
	p := h.names[name]
	if last := len(p.content) - 1; last >= 0 && bytes.Equal(p.content[last], content) {
		return
	}
	if len(p.content) >= h.limit {
		at := p.drop % len(p.content)
		p.content, p.drop = slices.Delete(slices.Clone(p.content), at, at+1), p.drop+1
	}
	p.content = append(p.content, bytes.Clone(content))
	h.names[name] = p
}

func (h *history) copy() history {
	c := history{h.limit, map[string]past{}}
	for name, p := range h.names {
		c.names[name] = past{slices.Clone(p.content), p.drop}
	}
	return c
}

// spoil applies a fault of rest to one matching file, which the seed selects. The caller holds mu.
func (m *Mem) spoil(in *Injection) {
	rnd := rand.New(rand.NewPCG(in.Seed, uint64(in.Class)))
	targets := m.paths()
	if in.Class == StaleFile {
		targets = sortedKeys(m.history.names)
	}
	targets = slices.DeleteFunc(targets, func(name string) bool { return !in.matches(name) })
	rnd.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	for _, name := range targets {
		if in.spoil(m, name, rnd) {
			m.tally.add(in.Class, name)
			return
		}
	}
}

// spoil applies the fault to a file and reports whether the file has changed. The caller holds m.mu.
func (in *Injection) spoil(m *Mem, name string, rnd *rand.Rand) bool {
	d, base := m.dir(path.Dir(name)), path.Base(name)
	switch in.Class {
	case BitRot:
		return d.now[base].rot(rnd)
	case LostFile:
		d.vanish(base)
		return true
	case StaleFile:
		contents := m.history.names[name].content
		return d.put(base, contents[rnd.IntN(len(contents))])
	case MixedFile:
		ours, theirs := d.now[base].data, in.foreign(m, name, rnd)
		sectors := min(len(ours), len(theirs)) / vfs.SectorBytes
		if sectors == 0 {
			return false
		}
		at := (1 + rnd.IntN(sectors)) * vfs.SectorBytes
		return d.put(base, slices.Concat(ours[:at], theirs[at:]))
	default:
		theirs := in.foreign(m, name, rnd)
		return theirs != nil && d.put(base, theirs)
	}
}

// foreign returns the other file's content that an injection puts into a file, nil when there is none.
func (in *Injection) foreign(m *Mem, name string, rnd *rand.Rand) []byte {
	from := m
	if in.From != nil && in.From != m {
		from = in.From
		from.mu.Lock()
		defer from.mu.Unlock()
		if node := from.dir(path.Dir(name)).now[path.Base(name)]; node != nil {
			return slices.Clone(node.data)
		}
	}
	names := slices.DeleteFunc(from.paths(), func(n string) bool { return n == name || path.Ext(n) != path.Ext(name) })
	if len(names) == 0 {
		return nil
	}
	other := names[rnd.IntN(len(names))]
	return slices.Clone(from.dir(path.Dir(other)).now[path.Base(other)].data)
}

// put durably gives a file a content. It returns false when the file had that content already.
func (d *memDir) put(base string, content []byte) bool {
	node := d.now[base]
	if node != nil && bytes.Equal(node.data, content) {
		return false
	}
	if node == nil {
		node = newMemNode()
		d.now[base] = node
	}
	node.data, node.durable = slices.Clone(content), slices.Clone(content)
	clear(node.dirty)
	clear(node.middle)
	d.durable[base] = node
	return true
}

// vanish removes a file as if it had never existed.
func (d *memDir) vanish(base string) {
	node := d.now[base]
	delete(d.now, base)
	delete(d.durable, base)
	d.pending = slices.DeleteFunc(d.pending, func(c nameChange) bool { return c.node == node })
}

// rot flips a bit on the disk and in memory. It returns false for an empty file.
func (n *memNode) rot(rnd *rand.Rand) bool {
	if len(n.data) == 0 {
		return false
	}
	off, bit := rnd.IntN(len(n.data)), byte(1)<<rnd.IntN(8)
	n.data[off] ^= bit
	if off < len(n.durable) {
		n.durable[off] ^= bit
	}
	return true
}

// paths returns the paths of all files, sorted.
func (m *Mem) paths() (names []string) {
	for dir, d := range m.dirs {
		for base := range d.now {
			names = append(names, path.Join(dir, base))
		}
	}
	slices.Sort(names)
	return names
}
