package vfs

import "io"

// SectorBytes is the largest unit that a power cut always keeps whole or drops whole.
const SectorBytes = 512

// FS is a file system; names are paths with slashes. Every error names the path.
// Safe for concurrent use.
type FS interface {
	// Create makes the file for reading and writing, empty, 0600; an existing one is
	// emptied. Its name is durable after SyncDir of its directory.
	Create(name string) (File, error)
	// Open opens an existing file, read only.
	Open(name string) (File, error)
	// OpenRW opens an existing file for reading and writing.
	OpenRW(name string) (File, error)
	// Rename gives a file a new name. It replaces the file that had that name.
	Rename(from, to string) error
	// Remove deletes a file.
	Remove(name string) error
	// List returns the names (without the directory) of the files in dir, sorted. For a directory that does not
	// exist it returns fs.ErrNotExist.
	List(dir string) ([]string, error)
	// MkdirAll makes dir and its parents, 0700.
	MkdirAll(dir string) error
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
	// Lock takes the file as a lock against other processes (and other holders in this
	// one) without waiting; *LockedError says who has it. Closing it gives it back; so
	// does the end of the process. The file's directory is locked with it, so that a file which
	// was removed and made again is no second lock: one lock a directory.
	Lock(name string, owner Owner) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	// WriteAt writes all of p at off and extends the file as needed. After an error any part of p may be in the
	// file, whatever n is.
	WriteAt(p []byte, off int64) (n int, err error)
	// Preallocate fills [off, off+n) with zeros. It writes them and does not only reserve space: a later write
	// there changes no metadata, which makes its sync cheap.
	Preallocate(off, n int64) error
	// Truncate sets the size in bytes.
	Truncate(size int64) error
	// Sync makes data and size durable (fdatasync).
	Sync() error
	// Size is the current size in bytes.
	Size() (int64, error)
	io.Closer
}

// Roomer is a file system that knows how much room it has.
type Roomer interface {
	// Room returns the bytes that this process may still write to the file system of a directory, and its size.
	Room(dir string) (free, total int64, err error)
}

// Mapper is implemented by files whose bytes can be written in memory. The files of OS implement it on Linux, where a
// mapping, ReadAt and Sync see the same pages. An access to a mapping faults when the file has been cut or its disk
// fails.
type Mapper interface {
	// Map returns the bytes [off, off+n) of the file, which must have them; off is a multiple of the page size.
	Map(off, n int64) ([]byte, error)
	// Unmap gives a mapping back; what was written to it remains in the file.
	Unmap(b []byte) error
}
