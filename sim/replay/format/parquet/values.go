package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

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
