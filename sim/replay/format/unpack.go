package format

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The first bytes of packed files and of texts that are not plain UTF-8.
var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
	magicZip  = []byte("PK\x03\x04")
	marks     = [][]byte{{0xef, 0xbb, 0xbf}, {0xff, 0xfe}, {0xfe, 0xff}} // byte order marks
)

// maxWindow bounds the memory that unpacking a zstd file takes, in bytes.
const maxWindow = 128 << 20

const (
	// maxText bounds the text of a packed file that is more than maxRatio times the file, in bytes: a short file must
	// not make a replay read without end.
	maxText  = 64 << 20
	maxRatio = 200
)

const remedyUnpack = "unpack the file, or fetch it again"

// unpacked is the text of a file, as UTF-8.
type unpacked struct {
	text     *bufio.Reader
	closer   io.Closer // ends it, before the file; nil: nothing to end
	packing  string    // for Detect: gzip, zstd, zip or none, and by what it is known
	encoding string    // for Detect
}

// unpack returns the text of a plain, gzip, zstd or zip file. The first bytes, not the name, decide. A zip must hold
// one file.
func unpack(name string, in io.Reader) (u unpacked, err error) {
	r := bufio.NewReaderSize(in, 64<<10)
	head, _ := r.Peek(4) // a shorter file has less
	u = unpacked{packing: "none: the first bytes are those of no packed file"}
	var packed io.Reader
	what := ""
	switch {
	case bytes.HasPrefix(head, magicGzip):
		what = "gzip"
		packed, err = gzip.NewReader(r)
	case bytes.HasPrefix(head, magicZstd):
		what = "zstd"
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err == nil {
			packed, u.closer = z, z.IOReadCloser()
		}
	case bytes.HasPrefix(head, magicZip):
		what = "zip"
		packed, err = unzip(in)
	}
	if err != nil {
		return unpacked{}, Position{name, 1, 1}.refuse(remedyUnpack, "%v", err)
	}
	if packed != nil {
		u.packing = fmt.Sprintf("%s: the first bytes are % x", what, head)
		r = bufio.NewReaderSize(&boundedText{packed, max(maxText, maxRatio*sizeOf(in))}, 64<<10)
		head, _ = r.Peek(4)
	}
	u.text, u.encoding = r, "UTF-8: no byte order mark"
	for i, mark := range marks {
		if bytes.HasPrefix(head, mark) {
			u.encoding = fmt.Sprintf("%s: the byte order mark % x", [...]string{"UTF-8", "UTF-16", "UTF-16"}[i], mark)
			u.text = bufio.NewReaderSize(transform.NewReader(r, unicode.BOMOverride(encoding.Nop.NewDecoder())), 64<<10)
			break
		}
	}
	return u, nil
}

// boundedText reads at most left bytes.
type boundedText struct {
	in   io.Reader
	left int64
}

// Read implements io.Reader. It returns an error instead of io.EOF when the text is longer.
func (b *boundedText) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the text is longer than %d bytes and %d times its packed size", maxText, maxRatio)
	}
	return n, err //nolint:wrapcheck // the caller adds the file
}

// sizeOf returns the number of bytes of a file, 0 when it is unknown.
func sizeOf(in io.Reader) int64 {
	switch f := in.(type) {
	case *os.File:
		if info, err := f.Stat(); err == nil {
			return info.Size()
		}
	case interface{ Size() int64 }:
		return f.Size()
	}
	return 0
}

// unzip returns the content of the one file in a zip. The file must be a file of the disk.
func unzip(in io.Reader) (io.Reader, error) {
	f, ok := in.(*os.File)
	if !ok {
		return nil, errors.New("zip: it can be read from a file only")
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("zip: %w", err)
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("zip: %w", err)
	}
	var files []*zip.File
	for _, e := range z.File {
		if !e.FileInfo().IsDir() && !strings.HasPrefix(e.Name, "__MACOSX/") {
			files = append(files, e)
		}
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("zip: it holds %d files, not one", len(files))
	}
	r, err := files[0].Open()
	if err != nil {
		return nil, fmt.Errorf("zip: %s: %w", files[0].Name, err)
	}
	return r, nil
}
