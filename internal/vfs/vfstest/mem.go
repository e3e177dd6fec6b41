package vfstest

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"sync"
	"syscall"

	"github.com/tickhive/tickhive/internal/vfs"
)

// Mem is a file system in memory that tracks which data is durable. Directories exist by being
// named. Safe for concurrent use; hooks run without its lock.
type Mem struct {
	mu       sync.Mutex
	dirs     map[string]*memDir
	locks    map[string]vfs.Owner
	capacity int64 // bytes in all files, 0: no limit
	before   func(Op) Fault
	after    func(Op)
	total    int
	counts   [opKinds]int

	armed   []*armed
	tally   *tally
	history history
}

// memDir holds the names of one directory: the current ones, the ones that a power cut would keep at least, and
// the changes between the two in order.
type memDir struct {
	now     map[string]*memNode
	durable map[string]*memNode
	pending []nameChange
}

// nameChange sets name to node (nil: removes it). from is the old name in a rename.
type nameChange struct {
	name, from string
	node       *memNode
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	return &Mem{
		dirs: map[string]*memDir{}, locks: map[string]vfs.Owner{}, tally: &tally{},
		history: history{names: map[string]past{}},
	}
}

// Before sets the hook that runs before every operation; nil: none. The hook may make the operation fail, or
// wait to simulate a slow disk.
func (m *Mem) Before(hook func(Op) Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = hook
}

// After sets the hook that runs after every operation that was not failed by Before.
func (m *Mem) After(hook func(Op)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.after = hook
}

// SetCapacity limits the bytes of all files together; 0 is no limit. With a limit below
// the present size no file can grow.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// Used returns the number of bytes in all files.
func (m *Mem) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used()
}

func (m *Mem) used() (n int64) {
	for _, d := range m.dirs {
		for _, node := range d.now {
			n += int64(len(node.data))
		}
	}
	return n
}

// Count returns the number of operations of a kind so far.
func (m *Mem) Count(kind OpKind) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[kind]
}

// Operations returns the number of operations so far.
func (m *Mem) Operations() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// beforeOp counts an operation and asks the hook and the armed faults.
func (m *Mem) beforeOp(op *Op) effect {
	m.mu.Lock()
	m.total++
	m.counts[op.Kind]++
	op.N, op.KindN = m.total, m.counts[op.Kind]
	hook := m.before
	m.mu.Unlock()
	var e effect
	if hook != nil {
		e.Fault = hook(*op)
	}
	if e.Err == nil {
		m.mu.Lock()
		e = m.due(*op)
		m.mu.Unlock()
	}
	if e.Err != nil {
		e.Err = &fs.PathError{Op: op.Kind.String(), Path: op.Path, Err: e.Err}
	}
	return e
}

func (m *Mem) afterOp(op Op) {
	m.mu.Lock()
	hook := m.after
	m.mu.Unlock()
	if hook != nil {
		hook(op)
	}
}

// do runs an operation that either happens completely or not at all.
func (m *Mem) do(kind OpKind, name string, run func() error) error {
	op := Op{Kind: kind, Path: name}
	if f := m.beforeOp(&op); f.Err != nil {
		return f.Err
	}
	m.mu.Lock()
	err := run()
	m.mu.Unlock()
	if err != nil {
		return &fs.PathError{Op: kind.String(), Path: name, Err: err}
	}
	m.afterOp(op)
	return nil
}

// dir returns the directory with that name. The caller holds mu.
func (m *Mem) dir(name string) *memDir {
	name = path.Clean(name)
	d := m.dirs[name]
	if d == nil {
		d = &memDir{now: map[string]*memNode{}, durable: map[string]*memNode{}}
		m.dirs[name] = d
	}
	return d
}

// change changes the names of a directory. The caller holds mu.
func (m *Mem) change(dir string, c nameChange) {
	d := m.dir(dir)
	if old := d.now[c.name]; old != nil {
		m.history.keep(path.Join(dir, c.name), old.durable)
	}
	c.apply(d.now)
	d.pending = append(d.pending, c)
}

func (c nameChange) apply(names map[string]*memNode) {
	if c.from != "" {
		delete(names, c.from)
	}
	if c.node == nil {
		delete(names, c.name)
	} else {
		names[c.name] = c.node
	}
}

// Create makes an empty file.
func (m *Mem) Create(name string) (vfs.File, error) {
	var node *memNode
	err := m.do(OpCreate, name, func() error {
		d, base := m.dir(path.Dir(name)), path.Base(name)
		if node = d.now[base]; node != nil {
			node.truncate(0)
			return nil
		}
		node = newMemNode()
		m.change(path.Dir(name), nameChange{name: base, node: node})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &memFile{m: m, name: name, node: node, write: true}, nil
}

// Open opens a file read only.
func (m *Mem) Open(name string) (vfs.File, error) { return m.open(name, false) }

// OpenRW opens an existing file for reading and writing.
func (m *Mem) OpenRW(name string) (vfs.File, error) { return m.open(name, true) }

func (m *Mem) open(name string, write bool) (vfs.File, error) {
	var node *memNode
	err := m.do(OpOpen, name, func() error {
		if node = m.dir(path.Dir(name)).now[path.Base(name)]; node == nil {
			return fs.ErrNotExist
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &memFile{m: m, name: name, node: node, write: write}, nil
}

// Rename gives a file a new name in the same directory.
func (m *Mem) Rename(from, to string) error {
	return m.do(OpRename, from, func() error {
		if path.Dir(from) != path.Dir(to) {
			return fmt.Errorf("rename to another directory: %w", syscall.EXDEV)
		}
		d := m.dir(path.Dir(from))
		node := d.now[path.Base(from)]
		if node == nil {
			return fs.ErrNotExist
		}
		m.change(path.Dir(to), nameChange{name: path.Base(to), from: path.Base(from), node: node})
		return nil
	})
}

// Remove deletes a file.
func (m *Mem) Remove(name string) error {
	return m.do(OpRemove, name, func() error {
		d := m.dir(path.Dir(name))
		if d.now[path.Base(name)] == nil {
			return fs.ErrNotExist
		}
		m.change(path.Dir(name), nameChange{name: path.Base(name)})
		return nil
	})
}

// List returns the sorted names of the files in dir.
func (m *Mem) List(dir string) (names []string, err error) {
	err = m.do(OpList, dir, func() error {
		for name := range m.dir(dir).now {
			names = append(names, name)
		}
		return nil
	})
	sort.Strings(names)
	return names, err
}

// MkdirAll does nothing: directories exist by being named.
func (m *Mem) MkdirAll(string) error { return nil }

// SyncDir makes the names in dir durable.
func (m *Mem) SyncDir(dir string) error {
	op := Op{Kind: OpSyncDir, Path: dir}
	e := m.beforeOp(&op)
	if e.Err != nil {
		return e.Err
	}
	if !e.lie {
		m.mu.Lock()
		d := m.dir(dir)
		for _, c := range d.pending {
			c.apply(d.durable)
		}
		d.pending = nil
		m.mu.Unlock()
	}
	m.afterOp(op)
	return nil
}

// Lock takes a lock that ends with Close, Crash or Kill.
func (m *Mem) Lock(name string, owner vfs.Owner) (io.Closer, error) {
	var held *vfs.LockedError
	err := m.do(OpLock, name, func() error {
		if other, ok := m.locks[name]; ok {
			held = &vfs.LockedError{Path: name, Owner: other}
			return held
		}
		m.locks[name] = owner
		return nil
	})
	if held != nil {
		return nil, held
	}
	if err != nil {
		return nil, err
	}
	return memLock{m, name}, nil
}

type memLock struct {
	m    *Mem
	name string
}

func (l memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locks, l.name)
	return nil
}
