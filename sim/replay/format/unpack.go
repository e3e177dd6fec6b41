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

	"github.com/tickhive/tickhive/sim/replay/format/dbn"
	"github.com/tickhive/tickhive/sim/replay/format/parquet"
)

// The first bytes of packed files and of texts that are not plain UTF-8.
var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
	magicZip  = []byte("PK\x03\x04")

	magicParquet = []byte("PAR1")

	byteOrderMarks = [][]byte{{0xef, 0xbb, 0xbf}, {0xff, 0xfe}, {0xfe, 0xff}} // byte order byteOrderMarks
)

// maxWindow bounds the memory that unpacking a zstd file takes, in bytes.
const maxWindow = 128 << 20

const (
	// maxText bounds the text of a packed file that is more than maxRatio times the file, in bytes: a short file must
	// not make a replay read without end.
	maxText  = 64 << 20
	maxRatio = 200
)

// foreignMagics lists the first bytes of binary formats that are not read.
var foreignMagics = []struct{ magic, name, remedy string }{
	{"ARROW1", "Arrow (feather)", remedyFeather},
	{"FEA1", "feather", remedyFeather},
	{"BZh", "bzip2", remedyUnpack},
	{"\xfd7zXZ", "xz", remedyUnpack},
	{"7z\xbc\xaf", "7z", remedyUnpack},
	{"\x89HDF\r\n", "HDF5", "convert the file: pandas.read_hdf(a).to_csv(b)"},
	{"SQLite", "an SQLite database", "write a table as CSV: sqlite3 -header -csv FILE 'SELECT * FROM TABLE' > b.csv"},
	{"\x93NUMPY", "NumPy", remedyNumpy},
	{"\x80\x03", "a pickle of Python", remedyPickle},
	{"\x80\x04", "a pickle of Python", remedyPickle},
	{"\x80\x05", "a pickle of Python", remedyPickle},
	{"\x00\x0cS", "NASDAQ's ITCH", "take the order messages as LOBSTER or as Databento's mbo of XNAS.ITCH"},
}

// Remedies of files that are recognized and not read.
const (
	remedyFeather = "convert the file: pandas.read_feather(a).to_parquet(b)"
	remedyUnpack  = "unpack the file"
	remedyNumpy   = "convert the file: numpy.savetxt(b, numpy.load(a)['data'], fmt='%s', delimiter=',')"
	remedyPickle  = "convert the file: pandas.read_pickle(a).to_csv(b)"
)

// refuseForeign returns an error for a text that begins as one of the foreign formats.
func refuseForeign(head []byte) error {
	for _, f := range foreignMagics {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return flawAt(0, f.remedy, "the first bytes are those of %s", f.name)
		}
	}
	if len(head) > tarMark && bytes.HasPrefix(head[tarMark:], []byte("ustar")) {
		return flawAt(0, "unpack the archive: tar xf FILE", "the first bytes are those of a tar archive")
	}
	return nil
}

// A tar archive has its mark behind the name and the attributes of the first file.
const tarMark = 257

// plainText is the text of a file, as UTF-8. Its owner closes it before the file.
type plainText struct {
	Reader   *bufio.Reader
	Packing  string // gzip, zstd, zip or none, and by what it is known; of a binary format what its header says
	Encoding string
	Inner    string // name of the file in a zip

	closer io.Closer // nil: nothing to end
}

// Close ends the decoder of a packed text. It does not close the file.
func (t *plainText) Close() {
	if t.closer != nil {
		_ = t.closer.Close() // it decodes: no data can be lost
	}
}

// isPacked reports whether a text with these first bytes is not plain UTF-8.
func isPacked(head []byte) bool {
	for _, magic := range append([][]byte{magicGzip, magicZstd, magicZip}, byteOrderMarks...) {
		if bytes.HasPrefix(head, magic) {
			return true
		}
	}
	return isDBN(head) || bytes.HasPrefix(head, magicParquet) || isTape(head)
}

// openParquet returns the rows of a Parquet file, whose end is read first.
func openParquet(in io.Reader, inside bool) (plainText, error) {
	r, ok := in.(io.ReaderAt)
	if !ok || inside {
		return plainText{}, flawAt(0, remedyUnpack, "parquet in a packed file: its end must be read first")
	}
	p, err := parquet.NewReader(r, sizeOf(in))
	if err != nil {
		return plainText{}, err //nolint:wrapcheck // it names its format
	}
	text := &bounded{p, max(maxText, maxRatio*sizeOf(in))}
	return plainText{
		Reader: bufio.NewReaderSize(text, 64<<10), Packing: p.String(), Encoding: "UTF-8: the texts of the columns",
	}, nil
}

// isDBN reports whether a file begins as one of DBN: its version follows the name, a byte that no text has.
func isDBN(head []byte) bool { return len(head) > 3 && string(head[:3]) == "DBN" && head[3] < '\t' }

// openText returns the text of a plain, gzip, zstd or zip file, or the rows of a DBN or Parquet file as CSV. The first
// bytes, not the name, decide. A zip must hold one file.
func openText(in io.Reader) (t plainText, err error) {
	r := bufio.NewReaderSize(in, 64<<10)
	head, _ := r.Peek(6) // a shorter file has less
	t.Packing = "none: the first bytes are those of no packed file"
	inner, what, err := t.unpack(in, r, head)
	if err != nil {
		return plainText{}, err
	}
	if inner != nil {
		t.Packing = fmt.Sprintf("%s: the first bytes are % x", what, head[:min(4, len(head))])
		r = bufio.NewReaderSize(&bounded{inner, max(maxText, maxRatio*sizeOf(in))}, 64<<10)
		head, _ = r.Peek(6)
	}
	begin, _ := r.Peek(tarMark + len("ustar")) // a shorter file has less
	if err := refuseForeign(begin); err != nil {
		t.Close()
		return plainText{}, err
	}
	if bytes.HasPrefix(head, magicParquet) {
		return openParquet(in, inner != nil)
	}
	if isDBN(head) {
		d, err := dbn.NewReader(r)
		if err != nil {
			t.Close()
			return plainText{}, err //nolint:wrapcheck // it names its format
		}
		if inner == nil {
			t.Packing = ""
		} else {
			t.Packing += "; then "
		}
		t.Packing += d.Header.String()
		r = bufio.NewReaderSize(d, 64<<10)
	}
	if isTape(head) {
		if r, err = tapeRows(r); err != nil {
			t.Close()
			return plainText{}, err
		}
		t.Packing += "; then the trades of an aggregator's answer, in order of their ids"
	}
	t.Reader, t.Encoding = r, "UTF-8: no byte order mark"
	for i, mark := range byteOrderMarks {
		if bytes.HasPrefix(head, mark) {
			t.Encoding = fmt.Sprintf("%s: the byte order mark % x", [...]string{"UTF-8", "UTF-16", "UTF-16"}[i], mark)
			utf8 := transform.NewReader(r, unicode.BOMOverride(encoding.Nop.NewDecoder()))
			t.Reader = bufio.NewReaderSize(utf8, 64<<10)
			break
		}
	}
	return t, nil
}

// unpack returns the text of a compressed file and the name of the compression, nil for another file.
func (t *plainText) unpack(in io.Reader, r *bufio.Reader, head []byte) (inner io.Reader, what string, err error) {
	switch {
	case bytes.HasPrefix(head, magicGzip):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, "", fmt.Errorf("gzip: %w", err)
		}
		return z, "gzip", nil
	case bytes.HasPrefix(head, magicZstd):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, "", fmt.Errorf("zstd: %w", err)
		}
		t.closer = z.IOReadCloser()
		return z, "zstd", nil
	case bytes.HasPrefix(head, magicZip):
		inner, t.Inner, err = unzip(in)
		return inner, "zip", err
	}
	return nil, "", nil
}

// bounded reads at most left bytes.
type bounded struct {
	in   io.Reader
	left int64
}

// Read implements io.Reader. It returns an error instead of io.EOF when the text is longer.
func (b *bounded) Read(p []byte) (int, error) {
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

// unzip returns the content of the one file in a zip, and its name. The file must be a file of the disk.
func unzip(in io.Reader) (inner io.Reader, name string, err error) {
	f, ok := in.(*os.File)
	if !ok {
		return nil, "", errors.New("zip: it can be read from a file only")
	}
	info, err := f.Stat()
	if err != nil {
		return nil, "", fmt.Errorf("zip: %w", err)
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return nil, "", fmt.Errorf("zip: %w", err)
	}
	var files []*zip.File
	for _, e := range z.File {
		if !e.FileInfo().IsDir() && !strings.HasPrefix(e.Name, "__MACOSX/") {
			files = append(files, e)
		}
	}
	if len(files) > 0 && strings.HasSuffix(files[0].Name, ".npy") {
		return nil, "", flawAt(0, remedyNumpy, "zip: it holds arrays of NumPy (npz)")
	}
	if len(files) != 1 {
		return nil, "", flawAt(0, "unpack it and give one of its files", "zip: it holds %d files, not one", len(files))
	}
	r, err := files[0].Open()
	if err != nil {
		return nil, "", fmt.Errorf("zip: %s: %w", files[0].Name, err)
	}
	return r, files[0].Name, nil
}
