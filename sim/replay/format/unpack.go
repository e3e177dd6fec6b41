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

const remedyUnpack = "unpack the file, or fetch it again"

// unpack returns the text of a plain, gzip, zstd or zip file, as UTF-8. The first bytes, not the
// name, decide. A zip must hold one file. closer ends it, before in.
func unpack(name string, in io.Reader) (text *bufio.Reader, closer io.Closer, err error) {
	r := bufio.NewReaderSize(in, 64<<10)
	head, _ := r.Peek(4) // a shorter file has less
	var packed io.Reader
	switch {
	case bytes.HasPrefix(head, magicGzip):
		packed, err = gzip.NewReader(r)
	case bytes.HasPrefix(head, magicZstd):
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err == nil {
			packed, closer = z, z.IOReadCloser()
		}
	case bytes.HasPrefix(head, magicZip):
		packed, err = unzip(in)
	}
	if err != nil {
		return nil, nil, Position{name, 1, 1}.refuse(remedyUnpack, "%v", err)
	}
	if packed != nil {
		r = bufio.NewReaderSize(packed, 64<<10)
		head, _ = r.Peek(4)
	}
	for _, mark := range marks {
		if bytes.HasPrefix(head, mark) {
			r = bufio.NewReaderSize(transform.NewReader(r, unicode.BOMOverride(encoding.Nop.NewDecoder())), 64<<10)
			break
		}
	}
	return r, closer, nil
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
