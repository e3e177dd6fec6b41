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
	default:
		return &problem{
			fmt.Errorf("the compression is %s, want none, SNAPPY, GZIP or ZSTD", codec),
			"write the file again with one of these: " + rewrite,
		}
	}
}

// unpack unpacks a page to exactly size bytes. Its codec is one that checkCodec takes, but not none.
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
	default:
		err = errors.ErrUnsupported
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

var errValues = errors.New("the page has fewer values than its header says")

// plain reads values that are stored one behind the other.
type plain struct {
	rest  []byte
	width int  // bytes of a value; 0: a length of 4 bytes is before each
	bit   uint // booleans: the next bit of the first byte
	bits  bool
}

// plainOf returns the values of a type.
func plainOf(t format.Type, c *column, text []byte) *plain {
	switch t {
	case format.Boolean:
		return &plain{rest: text, bits: true}
	case format.Int32, format.Float:
		return &plain{rest: text, width: 4}
	case format.Int64, format.Double:
		return &plain{rest: text, width: 8}
	case format.Int96:
		return &plain{rest: text, width: 12}
	case format.FixedLenByteArray:
		return &plain{rest: text, width: c.cell.width}
	default:
		return &plain{rest: text}
	}
}

func (p *plain) next() (value, error) {
	if p.bits {
		if len(p.rest) == 0 {
			return value{}, errValues
		}
		v := value{bits: uint64(p.rest[0] >> p.bit & 1)}
		if p.bit++; p.bit == 8 {
			p.rest, p.bit = p.rest[1:], 0
		}
		return v, nil
	}
	n := uint64(p.width)
	if n == 0 {
		if len(p.rest) < 4 {
			return value{}, errValues
		}
		n = uint64(binary.LittleEndian.Uint32(p.rest))
		p.rest = p.rest[4:]
	}
	if n > uint64(len(p.rest)) {
		return value{}, errValues
	}
	v := value{text: p.rest[:n]}
	p.rest = p.rest[n:]
	switch p.width {
	case 4:
		v.bits = uint64(int64(int32(binary.LittleEndian.Uint32(v.text))))
	case 8:
		v.bits = binary.LittleEndian.Uint64(v.text)
	}
	return v, nil
}

// hybrid reads numbers of at most 32 bits: runs of one number, and groups of eight in width bits each.
type hybrid struct {
	rest  []byte
	width uint

	run    uint64 // numbers left in the run or in the groups
	packed bool
	same   uint64 // the number of the run
	bit    uint   // of the groups, from the beginning of rest
}

func (h *hybrid) next() (value, error) {
	for h.run == 0 {
		if err := h.begin(); err != nil {
			return value{}, err
		}
	}
	h.run--
	if !h.packed {
		return value{bits: h.same}, nil
	}
	var v uint64
	for i := uint(0); i < h.width; i++ {
		if h.rest[h.bit/8]>>(h.bit%8)&1 != 0 {
			v |= 1 << i
		}
		h.bit++
	}
	if h.run == 0 {
		h.rest, h.bit = h.rest[h.bit/8:], 0
	}
	return value{bits: v}, nil
}

// begin reads the header of the next run.
func (h *hybrid) begin() error {
	head, n := binary.Uvarint(h.rest)
	if n <= 0 {
		return errValues
	}
	h.rest = h.rest[n:]
	count := head >> 1
	if h.packed = head&1 != 0; h.packed {
		if h.width > 0 && count > uint64(len(h.rest))/uint64(h.width) || count > 1<<32 {
			return errValues
		}
		h.run = 8 * count
		return nil
	}
	size := int(h.width+7) / 8
	if size > len(h.rest) {
		return errValues
	}
	var b [8]byte
	copy(b[:], h.rest[:size])
	h.same, h.run, h.rest = binary.LittleEndian.Uint64(b[:]), count, h.rest[size:]
	return nil
}

// referred reads indexes of a dictionary.
type referred struct {
	hybrid
	dict []value
}

func (r *referred) next() (value, error) {
	i, err := r.hybrid.next()
	if err != nil {
		return value{}, err
	}
	if i.bits >= uint64(len(r.dict)) {
		return value{}, fmt.Errorf("entry %d of a dictionary of %d", i.bits, len(r.dict))
	}
	return r.dict[i.bits], nil
}

// deltas reads whole numbers as differences: blocks of a smallest difference, and small groups that add to it.
type deltas struct {
	rest   []byte
	begun  bool
	left   uint64 // numbers left
	last   uint64
	small  uint64 // numbers of a group
	groups uint64 // groups of a block
	least  uint64
	widths []byte // of the groups that are left in the block
	group  []byte
	in     uint64 // numbers left in the group
	width  uint
	bit    uint
}

// maxBlock bounds the numbers of a block; writers have 128 or 256.
const maxBlock = 1 << 16

func (d *deltas) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		return 0, errValues
	}
	d.rest = d.rest[n:]
	return v, nil
}

func (d *deltas) varint() (uint64, error) {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		return 0, errValues
	}
	d.rest = d.rest[n:]
	return uint64(v), nil
}

// begin reads the header.
func (d *deltas) begin() (err error) {
	block, err1 := d.uvarint()
	groups, err2 := d.uvarint()
	total, err3 := d.uvarint()
	first, err4 := d.varint()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return errValues
	}
	if groups == 0 || block > maxBlock || groups > block || block%groups != 0 || block/groups%8 != 0 {
		return fmt.Errorf("blocks of %d numbers in %d groups", block, groups)
	}
	d.begun, d.left, d.last, d.small, d.groups = true, total, first, block/groups, groups
	return nil
}

func (d *deltas) next() (value, error) {
	if !d.begun {
		if err := d.begin(); err != nil || d.left == 0 {
			return value{}, errors.Join(err, errValues)
		}
		d.left--
		return value{bits: d.last}, nil
	}
	if d.left == 0 {
		return value{}, errValues
	}
	for d.in == 0 {
		if err := d.open(); err != nil {
			return value{}, err
		}
	}
	d.in--
	d.left--
	var v uint64
	for i := uint(0); i < d.width; i++ {
		if d.group[d.bit/8]>>(d.bit%8)&1 != 0 {
			v |= 1 << i
		}
		d.bit++
	}
	d.last += d.least + v
	return value{bits: d.last}, nil
}

// open starts the next group.
func (d *deltas) open() (err error) {
	if len(d.widths) == 0 {
		if d.least, err = d.varint(); err != nil {
			return err
		}
		if d.groups > uint64(len(d.rest)) {
			return errValues
		}
		d.widths, d.rest = d.rest[:d.groups], d.rest[d.groups:]
	}
	d.width, d.widths = uint(d.widths[0]), d.widths[1:]
	if d.width > 64 {
		return fmt.Errorf("differences of %d bits", d.width)
	}
	size := d.small * uint64(d.width) / 8
	if size > uint64(len(d.rest)) {
		return errValues
	}
	d.group, d.rest, d.in, d.bit = d.rest[:size], d.rest[size:], d.small, 0
	return nil
}

// texts reads texts whose lengths are stored first, as differences.
type texts struct {
	lengths []uint64
	rest    []byte
}

// newTexts reads the lengths of at most n texts.
func newTexts(b []byte, n uint64) (*texts, error) {
	head := deltas{rest: b}
	if err := head.begin(); err != nil {
		return nil, err
	}
	if head.left > n {
		return nil, fmt.Errorf("%d texts in a page of %d values", head.left, n)
	}
	t, d := &texts{}, deltas{rest: b}
	if head.left == 0 {
		d = head
	}
	for range head.left {
		v, err := d.next()
		if err != nil {
			return nil, err
		}
		t.lengths = append(t.lengths, v.bits)
	}
	t.rest = d.rest
	return t, nil
}

func (t *texts) next() (value, error) {
	if len(t.lengths) == 0 || t.lengths[0] > uint64(len(t.rest)) {
		return value{}, errValues
	}
	v := value{text: t.rest[:t.lengths[0]]}
	t.rest, t.lengths = t.rest[t.lengths[0]:], t.lengths[1:]
	return v, nil
}
