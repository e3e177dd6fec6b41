package vfstest

import (
	"errors"
)

// ErrInjected is the cause of the faults that tests inject.
var ErrInjected = errors.New("injected fault")

// OpKind is a kind of operation.
type OpKind uint8

// The operations that Mem counts and can fail.
const (
	OpCreate OpKind = iota
	OpOpen
	OpRead
	OpWrite
	OpPreallocate
	OpTruncate
	OpSync
	OpRename
	OpRemove
	OpList
	OpSyncDir
	OpLock
	opKinds
)

var opNames = [opKinds]string{
	"create", "open", "read", "write", "preallocate", "truncate", "sync",
	"rename", "remove", "list", "syncdir", "lock",
}

func (k OpKind) String() string { return opNames[k] }

// Op is one operation as a hook sees it.
type Op struct {
	Kind  OpKind
	Path  string
	N     int   // number among all operations, from 1
	KindN int   // number among the operations of its kind, from 1
	Off   int64 // offset in bytes; for reads, writes, preallocations and truncations
	Len   int64 // length in bytes
}

// Fault is the failure that a hook injects into an operation. The zero value lets it pass.
type Fault struct {
	// Err is the error that the operation returns.
	Err error
	// Keep is the number of bytes of a failing write that still reach the file.
	Keep int
	// Tear lets every second sector of a failing write reach the file.
	Tear bool
}

// FailNth fails operation n and no other.
func FailNth(n int, err error) func(Op) Fault {
	return func(op Op) Fault {
		if op.N == n {
			return Fault{Err: err}
		}
		return Fault{}
	}
}

// FailNthKind fails the n-th operation of a kind, in the way that f says.
func FailNthKind(kind OpKind, n int, f Fault) func(Op) Fault {
	return func(op Op) Fault {
		if op.Kind == kind && op.KindN == n {
			return f
		}
		return Fault{}
	}
}

// FailNext fails the next operation of a kind, in the way that f says, by the hook of Before.
func (m *Mem) FailNext(kind OpKind, f Fault) { m.Before(FailNthKind(kind, m.Count(kind)+1, f)) }
