//go:build !linux

package vfs

import "os"

// dataSync does a full sync on systems without fdatasync.
func dataSync(f *os.File) error { return f.Sync() }
