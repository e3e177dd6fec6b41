package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// maxValues bounds the values of a page.
const maxValues = 1 << 22

// valueBytes is the size of a value in a dictionary.
const valueBytes = 32

// plainDictionary is the encoding that writers of the format's version 1 name in place of Plain, in a dictionary, and
// of RLEDictionary, in data. The package format calls it deprecated, and files have it.
const plainDictionary format.Encoding = 2

// rewrite writes a file again with SNAPPY, pages of 1 MiB and the encodings PLAIN and RLE_DICTIONARY.
const rewrite = "pandas.read_parquet(a).to_parquet(b)"

// problem is an error that says what to do about it.
type problem struct {
	error
	remedy string
}

// Remedy returns what to do.
func (p *problem) Remedy() string { return p.remedy }

var errPage = errors.New("the page is cut off")

// open reads the next page. A dictionary replaces the one of the chunk.
func (k *chunk) open() error {
	k.page = k.at
	head := make([]byte, min(k.end-k.at, 1<<10))
	if len(head) == 0 {
		return fmt.Errorf("no page is left, %d values are missing", k.left)
	}
	var h format.PageHeader
	n, err := 0, error(nil)
	for {
		if err := readAt(k.f.r, head, k.at); err != nil {
			return err
		}
		h = format.PageHeader{}
		if n, err = decode(head, &h); err == nil {
			break
		}
		if int64(len(head)) == min(k.end-k.at, maxHeader) {
			return fmt.Errorf("the header of a page: %w", err)
		}
		head = make([]byte, min(k.end-k.at, maxHeader)) // long statistics
	}
	packed, size := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	switch {
	case packed < 0 || packed > k.end-k.at-int64(n):
		return fmt.Errorf("a page of %d bytes, %d are left", packed, k.end-k.at-int64(n))
	case size < 0 || size > maxPage || packed > maxPage:
		return &problem{
			fmt.Errorf("a page of %d bytes, packed %d, at most %d", size, packed, maxPage),
			"write the file again with smaller pages: " + rewrite,
		}
	}
	body := k.at + int64(n)
	k.at = body + packed
	switch h.Type {
	case format.DictionaryPage:
		return k.dictionary(&h, body)
	case format.DataPage:
		return k.first(&h, body)
	case format.DataPageV2:
		return k.second(&h, body)
	default:
		return nil // an index
	}
}

// read returns the text of a page; levels bytes at its beginning are not packed. It counts the text as the dictionary's
// (0) or the page's (1).
func (k *chunk) read(h *format.PageHeader, body, levels int64, plain bool, as int) ([]byte, error) {
	packed, size := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if err := k.hold(as, size); err != nil {
		return nil, err
	}
	if levels < 0 || levels > packed || levels > size {
		return nil, errPage
	}
	in := make([]byte, packed)
	if err := readAt(k.f.r, in, body); err != nil {
		return nil, err
	}
	if plain || k.meta.Codec == format.Uncompressed {
		if packed != size {
			return nil, fmt.Errorf("a page of %d bytes that is not packed has %d", size, packed)
		}
		return in, nil
	}
	out, err := unpack(k.meta.Codec, in[levels:], size-levels)
	if err != nil {
		return nil, err
	}
	return append(in[:levels:levels], out...), nil
}

// hold counts the bytes of the dictionary (0) or of the page (1).
func (k *chunk) hold(as int, size int64) error {
	k.f.held += size - k.held[as]
	if k.held[as] = size; k.f.held > maxHeld {
		return fmt.Errorf("the pages of all columns have more than %d bytes", maxHeld)
	}
	return nil
}

// checkCodec returns an error for a compression that is not read.
func checkCodec(codec format.CompressionCodec) error {
	switch codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd:
		return nil
	}
	return &problem{
		fmt.Errorf("the compression is %s, want none, SNAPPY, GZIP or ZSTD", codec),
		"write the file again with one of these: " + rewrite,
	}
}

// unpack unpacks a page to exactly size bytes.
func unpack(codec format.CompressionCodec, in []byte, size int64) ([]byte, error) {
	if size == 0 && len(in) == 0 {
		return nil, nil
	}
	var out []byte
	var err error
	switch codec {
	case format.Snappy:
		n, bad := snappy.DecodedLen(in)
		if bad != nil || int64(n) != size {
			return nil, fmt.Errorf("a page of %d bytes, the header says %d", n, size)
		}
		out, err = snappy.Decode(nil, in)
	case format.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(in)); err == nil {
			out, err = io.ReadAll(io.LimitReader(z, size+1))
		}
	case format.Zstd:
		var z *zstd.Decoder
		z, err = zstd.NewReader(bytes.NewReader(in), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxPage))
		if err == nil {
			defer z.Close()
			out, err = io.ReadAll(io.LimitReader(z, size+1))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", codec, err)
	}
	if int64(len(out)) != size {
		return nil, fmt.Errorf("a page of more or fewer bytes than its header says, %d", size)
	}
	return out, nil
}

// dictionary reads a page of values to which data pages refer.
func (k *chunk) dictionary(h *format.PageHeader, body int64) error {
	if e := h.DictionaryPageHeader.V.Encoding; e != format.Plain && e != plainDictionary {
		return fmt.Errorf("a dictionary with the encoding %s", e)
	}
	text, err := k.read(h, body, 0, false, 0)
	if err != nil {
		return err
	}
	n := int64(h.DictionaryPageHeader.V.NumValues)
	if n < 0 || n > int64(len(text))*8 {
		return fmt.Errorf("a dictionary of %d values in %d bytes", n, len(text))
	}
	if err := k.hold(0, int64(len(text))+n*valueBytes); err != nil {
		return err
	}
	k.dict = nil
	from := plainOf(k.meta.Type, k.c, text)
	for range n {
		v, err := from.next()
		if err != nil {
			return err
		}
		k.dict = append(k.dict, v)
	}
	return nil
}

// first opens a data page of version 1: levels with their length, then values.
func (k *chunk) first(h *format.PageHeader, body int64) error {
	text, err := k.read(h, body, 0, false, 1)
	if err != nil {
		return err
	}
	d := &h.DataPageHeader.V
	k.levels = nil
	if k.c.optional {
		if d.DefinitionLevelEncoding != format.RLE || len(text) < 4 {
			return fmt.Errorf("levels with the encoding %s", d.DefinitionLevelEncoding)
		}
		n := binary.LittleEndian.Uint32(text)
		if text = text[4:]; uint64(n) > uint64(len(text)) {
			return errPage
		}
		k.levels = &hybrid{rest: text[:n], width: 1}
		text = text[n:]
	}
	return k.begin(int64(d.NumValues), d.Encoding, text)
}

// second opens a data page of version 2: levels that are not packed, then values.
func (k *chunk) second(h *format.PageHeader, body int64) error {
	d := &h.DataPageHeaderV2.V
	levels := int64(d.DefinitionLevelsByteLength)
	if d.RepetitionLevelsByteLength != 0 {
		return errors.New("levels of repetition in a flat column")
	}
	text, err := k.read(h, body, levels, d.IsCompressed.Valid && !d.IsCompressed.V, 1)
	if err != nil {
		return err
	}
	if levels > int64(len(text)) {
		return errPage
	}
	k.levels = nil
	if k.c.optional {
		k.levels = &hybrid{rest: text[:levels], width: 1}
	}
	return k.begin(int64(d.NumValues), d.Encoding, text[levels:])
}

// begin starts to read n values.
func (k *chunk) begin(n int64, encoding format.Encoding, text []byte) error {
	if n < 0 || n > min(k.left, maxValues) {
		return fmt.Errorf("a page of %d values, at most %d", n, min(k.left, maxValues))
	}
	k.inPage = n
	switch encoding {
	case format.Plain:
		k.values = plainOf(k.meta.Type, k.c, text)
	case plainDictionary, format.RLEDictionary:
		if len(text) == 0 { // all values are null
			k.values = &referred{}
			return nil
		}
		if text[0] > 32 {
			return fmt.Errorf("indexes of %d bits", text[0])
		}
		k.values = &referred{hybrid{rest: text[1:], width: uint(text[0])}, k.dict}
	case format.RLE:
		if k.meta.Type != format.Boolean || len(text) < 4 {
			return errors.New("the encoding RLE is for booleans")
		}
		k.values = &hybrid{rest: text[4:], width: 1}
	case format.DeltaBinaryPacked:
		if k.meta.Type != format.Int32 && k.meta.Type != format.Int64 {
			return errors.New("the encoding DELTA_BINARY_PACKED is for whole numbers")
		}
		k.values = &deltas{rest: text}
	case format.DeltaLengthByteArray:
		if k.meta.Type != format.ByteArray {
			return errors.New("the encoding DELTA_LENGTH_BYTE_ARRAY is for texts")
		}
		if err := k.hold(1, k.held[1]+8*n); err != nil {
			return err
		}
		t, err := newTexts(text, uint64(n))
		k.values = t
		return err
	default:
		return &problem{
			fmt.Errorf("the encoding is %s, want PLAIN, RLE_DICTIONARY, RLE, DELTA_BINARY_PACKED or "+
				"DELTA_LENGTH_BYTE_ARRAY", encoding),
			"write the file again with one of these: " + rewrite,
		}
	}
	return nil
}
