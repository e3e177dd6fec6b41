package vfstest

import (
	"math/rand/v2"
	"path"
	"sync"
	"syscall"
)

// Class is a class of storage faults.
type Class uint8

// The classes. A class of a power cut changes what the next Crash keeps of unsynced data and names. A class of
// operations makes operations fail. A class of rest changes files between operations, behind the program's
// back.
const (
	// ReorderedSectors happens at every cut and needs no injection: sectors of one file reach the
	// disk in any order.
	ReorderedSectors Class = iota
	// TornSector leaves a sector whose first part is from one write and whose rest is from another.
	TornSector
	// GarbageSector leaves random bytes in a sector that was being written.
	GarbageSector
	// BlockAtomic makes 4 KiB instead of 512 bytes the unit that is kept whole or not at all. With GarbageSector
	// the whole block is garbage, including synced sectors in it.
	BlockAtomic
	// MiddleVersion leaves a sector that was written several times with the content of one of the earlier
	// writes.
	MiddleVersion
	// ReorderedNames keeps any subset of the changes of names instead of the first ones.
	ReorderedNames
	// SkewedDirs cuts each directory at its own moment: one may keep everything, another nothing.
	SkewedDirs

	// ReadError, WriteError and SyncError return EIO. A part of a write may reach the file. After a failed sync,
	// reads return the new content, but no later sync writes it.
	ReadError
	WriteError
	SyncError
	// SyncErrorOld is a SyncError after which reads return the old content.
	SyncErrorOld
	// LyingSync lets Sync and SyncDir report success without making anything durable.
	LyingSync
	// FullDisk returns ENOSPC. A part of a write may reach the file: behind its end any number of bytes, before it
	// whole sectors, because a file system asks for space by the block and not within one.
	FullDisk

	// BitRot flips one bit of a file.
	BitRot
	// LostFile removes a file.
	LostFile
	// StaleFile gives a file an earlier durable content; a removed file may come back. It needs KeepVersions.
	StaleFile
	// ForeignFile gives a file the content of a file of From. MixedFile does so from some sector on.
	ForeignFile
	MixedFile

	Classes // the number of classes
)

var classNames = [Classes]string{
	"reordered sectors", "torn sector", "garbage sector", "4 KiB atomicity", "middle version",
	"reordered names", "skewed directories", "read error", "write error", "sync error",
	"sync error with old content", "lying sync", "full disk", "bit rot", "lost file", "stale file",
	"foreign file", "mixed file",
}

// String returns the name of a class.
func (c Class) String() string { return classNames[c] }

// OfCut reports whether the class changes what a power cut keeps.
func (c Class) OfCut() bool { return c <= SkewedDirs }

// AtRest reports whether the class changes files behind the program's back.
func (c Class) AtRest() bool { return c >= BitRot }

// Injection describes a fault: class, target and moment. The same injections into the same
// operations do the same.
type Injection struct {
	Class Class
	// Path is a pattern of path.Match over whole paths; empty: every file and directory. ReorderedNames,
	// SkewedDirs and the sync of a directory have the directory's path, the other ones a file's.
	Path string
	// After is the number of operations before the fault. For a class of operations, only operations that the
	// class can hit count; for a class of rest, all operations count. A class of rest with After 0 happens at
	// once. A class of a cut waits for Crash.
	After int
	Count int // number of operations that a class of operations hits; 0: one; -1: all
	// AtCut makes a class of rest wait for the next Crash or Kill, and happen in the result.
	AtCut bool
	// From holds the files of ForeignFile and MixedFile: the one of the same path, or any of the same
	// extension; nil: another file of this file system with the same extension.
	From *Mem
	Keep float64 // SkewedDirs: the chance of an unsynced change to survive; 0: a random one; below 0: none survives
	Seed uint64
}

// Inject arms a fault. Crash uses up the classes of a cut; Crash and Kill use up the faults with AtCut. The
// file systems that they return have no armed faults. Injected counts the faults that happened.
func (m *Mem) Inject(in Injection) {
	if in.Count == 0 {
		in.Count = 1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if in.Class.AtRest() && in.After == 0 && !in.AtCut {
		m.spoil(&in)
		return
	}
	m.armed = append(m.armed, &armed{Injection: in, rnd: rand.New(rand.NewPCG(in.Seed, uint64(in.Class)))})
}

// Disarm forgets every armed fault.
func (m *Mem) Disarm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.armed = nil
}

// Injected returns the number of faults of a class that happened in this file system and in all file systems
// related to it by Crash and Kill. A class of a cut counts once a cut, a class of operations once an operation.
func (m *Mem) Injected(c Class) int {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	return m.tally.n[c]
}

// Spoiled returns the path of the file that the last fault of a class of rest has changed, empty for none, in the
// same file systems as Injected.
func (m *Mem) Spoiled(c Class) string {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	return m.tally.spoiled[c]
}

// tally counts the faults of all file systems that came from one.
type tally struct {
	mu      sync.Mutex
	n       [Classes]int
	spoiled [Classes]string
}

func (t *tally) add(c Class, file string) {
	t.mu.Lock()
	t.n[c]++
	t.spoiled[c] = file
	t.mu.Unlock()
}

// armed is a fault that has not happened yet.
type armed struct {
	Injection
	rnd *rand.Rand
}

// matches reports whether a path is a target. It panics for an invalid pattern, because then the test is wrong.
func (in *Injection) matches(name string) bool {
	if in.Path == "" {
		return true
	}
	ok, err := path.Match(in.Path, path.Clean(name))
	if err != nil {
		panic("BUG: " + in.Path + ": " + err.Error())
	}
	return ok
}

// hits reports whether the class can hit an operation.
func (c Class) hits(k OpKind) bool {
	switch c {
	case ReadError:
		return k == OpRead
	case WriteError:
		return k == OpWrite || k == OpPreallocate || k == OpTruncate
	case FullDisk:
		return k == OpWrite || k == OpPreallocate || k == OpCreate
	case SyncError, LyingSync:
		return k == OpSync || k == OpSyncDir
	case SyncErrorOld:
		return k == OpSync
	default:
		return c.AtRest()
	}
}

// effect is the outcome of an operation: the fault of the hook, or of an armed one.
type effect struct {
	Fault
	lie bool // a sync that does nothing and reports success
	old bool // a failed sync after which reads return the old content
}

// due returns the effect of the first armed fault that hits an operation, and lets the other ones
// count it. The caller holds mu.
func (m *Mem) due(op Op) (e effect) {
	left := m.armed[:0]
	for _, a := range m.armed {
		switch {
		case a.AtCut || !a.Class.hits(op.Kind) || (!a.Class.AtRest() && !a.matches(op.Path)):
		case a.After > 0:
			a.After--
		case a.Class.AtRest():
			m.spoil(&a.Injection)
			continue
		case e.Err == nil && !e.lie:
			e = a.effect(op)
			m.tally.add(a.Class, "")
			if a.Count--; a.Count == 0 {
				continue
			}
		}
		left = append(left, a)
	}
	clear(m.armed[len(left):])
	m.armed = left
	return e
}

func (a *armed) effect(op Op) effect {
	e := effect{Fault: Fault{Err: syscall.EIO, Keep: int(a.rnd.Int64N(op.Len + 1))}}
	switch a.Class {
	case FullDisk:
		e.Err = syscall.ENOSPC
	case WriteError:
		e.Tear = a.rnd.IntN(2) == 0
	case SyncErrorOld:
		e.old = true
	case LyingSync:
		return effect{lie: true}
	default:
	}
	return e
}
