package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

const (
	blockBytes = 512
	sumName    = "SHA256"
	// tailBytes is the size of the last entry and of the end of the tar file.
	tailBytes = 4 * blockBytes
	// maxFiles limits the files of a backup: 64 TiB of segments.
	maxFiles = 1 << 20
)

// File is a file to back up.
type File struct {
	Name string // relative to the data directory, with slashes
	Size int64
	Open func() (io.ReadCloser, error)
}

// Bytes returns a File with a content.
func Bytes(name string, content []byte) File {
	return File{name, int64(len(content)), func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
}

// Reader yields a backup. It opens one file at a time. Owned by one goroutine.
type Reader struct {
	files []File
	size  int64
	sum   hash.Hash
	cur   io.Reader     // the rest of the current entry
	file  io.Closer     // under cur
	left  int64         // bytes of file that are not read
	end   *bytes.Reader // the tail, once all files are read
}

// NewReader returns the backup of files.
func NewReader(files []File) (*Reader, error) {
	if len(files) > maxFiles {
		return nil, fmt.Errorf("backup: %d files, at most %d", len(files), maxFiles)
	}
	r := &Reader{files: files, size: tailBytes, sum: sha256.New()}
	for _, f := range files {
		if _, err := header(f.Name, f.Size); err != nil {
			return nil, err
		}
		r.size += blockBytes + padded(f.Size)
	}
	return r, nil
}

// Size returns the size of the whole backup in bytes.
func (r *Reader) Size() int64 { return r.size }

// padded returns the bytes that a content of n bytes takes.
func padded(n int64) int64 { return (n + blockBytes - 1) / blockBytes * blockBytes }

// header returns the header of an entry.
func header(name string, size int64) ([]byte, error) {
	var b bytes.Buffer
	err := tar.NewWriter(&b).WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, Format: tar.FormatUSTAR,
	})
	if err != nil {
		return nil, fmt.Errorf("backup: %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// tail returns the end of a backup whose bytes in front of it have this sum.
func tail(sum []byte) ([]byte, error) {
	text := hex.AppendEncode(nil, sum)
	b, err := header(sumName, int64(len(text)))
	if err != nil {
		return nil, err
	}
	return append(append(b, text...), make([]byte, tailBytes-len(b)-len(text))...), nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for r.end == nil {
		if r.cur == nil {
			if err := r.next(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := r.cur.Read(p)
		r.sum.Write(p[:n])
		if errors.Is(err, io.EOF) {
			err = r.Close()
			if err == nil && r.left > 0 {
				err = fmt.Errorf("backup: a file is %d bytes shorter than it was: %w", r.left, io.ErrUnexpectedEOF)
			}
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return r.end.Read(p)
}

// next begins the entry of the next file, or the tail.
func (r *Reader) next() error {
	if len(r.files) == 0 {
		text, err := tail(r.sum.Sum(nil))
		r.end = bytes.NewReader(text)
		return err
	}
	f := r.files[0]
	r.files = r.files[1:]
	head, err := header(f.Name, f.Size)
	if err != nil {
		return err
	}
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("backup: %s: %w", f.Name, err)
	}
	r.file, r.left = content, f.Size
	r.cur = io.MultiReader(bytes.NewReader(head), counted{content, &r.left},
		bytes.NewReader(make([]byte, padded(f.Size)-f.Size)))
	return nil
}

// counted reads at most left bytes, and counts them.
type counted struct {
	r    io.Reader
	left *int64
}

func (c counted) Read(p []byte) (int, error) {
	if *c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), *c.left)])
	*c.left -= int64(n)
	return n, err
}

// Close closes the file of the directory that the Reader is reading, if there is one.
func (r *Reader) Close() error {
	r.cur = nil
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}
