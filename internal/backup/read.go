package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"tickhive/internal/cmdline"
	"tickhive/internal/vfs"
)

// MetaName is the name of the file that Extract writes last: without it no program takes the directory.
const MetaName = "meta.json"

// names matches the names of the files in a backup.
var names = regexp.MustCompile(`^(meta\.json|CLOCK|engine/(\d{6,20}\.wal|\d{20}\.snap))$`)

// DamagedError reports a file that is no whole, unchanged backup.
type DamagedError struct {
	File   string
	Reason string
}

// Error returns the file, the reason and the remedy.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is not a whole backup: %s: take another backup, or restore an older one", e.File, e.Reason)
}

// ExitCode returns the code with which the program ends.
func (*DamagedError) ExitCode() int { return cmdline.ExitDamaged }

// Archive is an open backup whose bytes were verified. It is a read-only file system: names are relative to the
// data directory.
type Archive struct {
	vfs.FS // nil: an Archive only lists, opens and reads
	name   string
	f      *os.File
	files  map[string]place
}

// place is the content of a file in the tar file.
type place struct{ at, size int64 }

// Open opens a backup and verifies its bytes. A file that is not a whole backup is a *DamagedError.
func Open(name string) (*Archive, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	a := &Archive{name: name, f: f, files: map[string]place{}}
	size, err := a.checkSum()
	if err == nil {
		err = a.list(size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return a, nil
}

// Damaged returns the error of a file that is not a whole, unchanged backup.
func (a *Archive) Damaged(format string, args ...any) error {
	return &DamagedError{a.name, fmt.Sprintf(format, args...)}
}

// checkSum compares the bytes with their sum. It returns the size without the tail.
func (a *Archive) checkSum() (size int64, err error) {
	info, err := a.f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, a.Damaged("it is not a regular file")
	}
	size = info.Size() - tailBytes
	if size < 0 {
		return 0, a.Damaged("it has %d bytes", info.Size())
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(a.f, 0, size)); err != nil {
		return 0, err
	}
	want, err := tail(sum.Sum(nil))
	if err != nil {
		return 0, err
	}
	got := make([]byte, tailBytes)
	if _, err := a.f.ReadAt(got, size); err != nil {
		return 0, err
	}
	if !bytes.Equal(got, want) {
		return 0, a.Damaged("its last entry is not the SHA-256 of the bytes in front of it: it was cut short " +
			"or changed")
	}
	return size, nil
}

// list reads the headers of the files.
func (a *Archive) list(size int64) error {
	at := int64(0)
	for at < size {
		raw := make([]byte, min(blockBytes, size-at))
		if _, err := a.f.ReadAt(raw, at); err != nil {
			return err
		}
		h, err := tar.NewReader(bytes.NewReader(raw)).Next()
		switch {
		case err != nil:
			return a.Damaged("the entry at offset %d: %v", at, err)
		case !names.MatchString(h.Name):
			return a.Damaged("%q is not a file of a data directory", h.Name)
		}
		want, err := header(h.Name, h.Size)
		switch {
		case err != nil || !bytes.Equal(raw, want):
			return a.Damaged("the entry of %s is not one that this program writes", h.Name)
		case len(a.files) == maxFiles:
			return a.Damaged("it has more than %d files", maxFiles)
		}
		p := place{at + blockBytes, h.Size}
		if _, twice := a.files[h.Name]; twice || p.size > size-p.at {
			return a.Damaged("the file %s is in it twice or cut short", h.Name)
		}
		a.files[h.Name] = p
		at = p.at + padded(p.size)
	}
	if _, ok := a.files[MetaName]; !ok {
		return a.Damaged("it has no %s", MetaName)
	}
	return nil
}

// Close closes the file.
func (a *Archive) Close() error { return a.f.Close() }

// maxWhole limits the files that ReadFile reads into memory.
const maxWhole = 16 << 20

// ReadFile returns the content of a small file.
func (a *Archive) ReadFile(name string) ([]byte, error) {
	p, ok := a.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: %s: %w", a.name, name, fs.ErrNotExist)
	}
	if p.size > maxWhole {
		return nil, a.Damaged("%s has %d bytes", name, p.size)
	}
	b := make([]byte, p.size)
	_, err := a.f.ReadAt(b, p.at)
	return b, err
}

// Open implements vfs.FS.
func (a *Archive) Open(name string) (vfs.File, error) {
	p, ok := a.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: %s: %w", a.name, name, fs.ErrNotExist)
	}
	return entry{SectionReader: io.NewSectionReader(a.f, p.at, p.size)}, nil
}

// List implements vfs.FS.
func (a *Archive) List(dir string) (out []string, err error) {
	for name := range a.files {
		if path.Dir(name) == path.Clean(dir) {
			out = append(out, path.Base(name))
		}
	}
	slices.Sort(out)
	if out == nil {
		err = fmt.Errorf("%s: %s: %w", a.name, dir, fs.ErrNotExist)
	}
	return out, err
}

// entry is a file of an archive.
type entry struct {
	vfs.File // nil: an entry is only read
	*io.SectionReader
}

// ReadAt implements io.ReaderAt.
func (e entry) ReadAt(p []byte, off int64) (int, error) { return e.SectionReader.ReadAt(p, off) }

// Size implements vfs.File.
func (e entry) Size() (int64, error) { return e.SectionReader.Size(), nil }

// Close implements io.Closer.
func (entry) Close() error { return nil }

// Extract durably writes the files into dir, which must be empty or absent; MetaName, with the content meta, comes
// last. After an error it removes what it wrote.
func (a *Archive) Extract(dir string, meta []byte) (err error) {
	made, err := makeEmpty(dir)
	if err != nil {
		return err
	}
	dirs := map[string]bool{dir: true}
	defer func() {
		if err != nil {
			err = errors.Join(err, clear(dir, made))
		}
	}()
	for name := range a.files {
		if name == MetaName {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		dirs[filepath.Dir(to)] = true
		if err := a.extract(name, to); err != nil {
			return err
		}
	}
	for d := range dirs {
		if err := (vfs.OS{}).SyncDir(d); err != nil {
			return err
		}
	}
	if err := WriteFile(filepath.Join(dir, MetaName), bytes.NewReader(meta)); err != nil {
		return err
	}
	if err := (vfs.OS{}).SyncDir(dir); err != nil {
		return err
	}
	return vfs.OS{}.SyncDir(filepath.Dir(filepath.Clean(dir)))
}

// CheckEmpty returns a usage error unless dir is empty or absent.
func CheckEmpty(dir string) error {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(found) > 0 {
		return cmdline.UsageError{Err: fmt.Errorf("%s is not empty: name a new directory", dir)}
	}
	return err
}

func makeEmpty(dir string) (made bool, err error) {
	if err := CheckEmpty(dir); err != nil {
		return false, err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		made = true
	}
	return made, os.MkdirAll(dir, 0o700)
}

// clear removes what Extract wrote.
func clear(dir string, made bool) error {
	if made {
		return os.RemoveAll(dir)
	}
	return EmptyDir(dir)
}

// EmptyDir removes what is in a directory. An absent one stays absent.
func EmptyDir(dir string) error {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range found {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

func (a *Archive) extract(name, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	p := a.files[name]
	return WriteFile(to, io.NewSectionReader(a.f, p.at, p.size))
}

// WriteFile durably writes a new file. The caller syncs its directory. It is an error if the file exists.
func WriteFile(name string, content io.Reader) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
