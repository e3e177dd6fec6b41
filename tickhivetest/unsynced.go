package tickhivetest

import "github.com/tickhive/tickhive/internal/vfs"

// unsynced is the machine's file system without its syncs: a test does not outlive a power cut.
type unsynced struct{ vfs.OS }

// file is a file that is never synced.
type file struct{ vfs.File }

// Sync implements vfs.File.
func (file) Sync() error { return nil }

// Create implements vfs.FS.
func (u unsynced) Create(name string) (vfs.File, error) { return plain(u.OS.Create(name)) }

// Open implements vfs.FS.
func (u unsynced) Open(name string) (vfs.File, error) { return plain(u.OS.Open(name)) }

// OpenRW implements vfs.FS.
func (u unsynced) OpenRW(name string) (vfs.File, error) { return plain(u.OS.OpenRW(name)) }

// SyncDir implements vfs.FS.
func (unsynced) SyncDir(string) error { return nil }

func plain(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}
