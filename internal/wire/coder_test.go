package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

type sample struct {
	u64   uint64
	i64   int64
	i63   int64
	u32   uint32
	u8    uint8
	yes   bool
	fixed [4]byte
	text  string
	list  []string
}

func (s *sample) walk(c *Coder) {
	c.U64(&s.u64)
	c.I64(&s.i64)
	c.I63(&s.i63)
	c.U32(&s.u32)
	c.U8(&s.u8, 9)
	c.Bool(&s.yes)
	c.Fixed(s.fixed[:])
	c.Text(&s.text, 10)
	n := c.Len(len(s.list))
	if c.Reading() {
		s.list = make([]string, n)
	}
	for i := range s.list {
		c.Text(&s.list[i], 10)
	}
}

func encode(s sample) []byte {
	w := Writer([]byte("x"))
	s.walk(w)
	return w.Bytes()[1:]
}

func TestWhatIsWrittenReadsBackEqual(t *testing.T) {
	want := sample{1<<64 - 1, -1 << 63, 1<<63 - 1, 1<<32 - 1, 9, true, [4]byte{1, 2, 3, 4}, "abc", []string{"", "z"}}
	c := Reader(encode(want))
	var got sample
	got.walk(c)
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	if got.u64 != want.u64 || got.i64 != want.i64 || got.i63 != want.i63 || got.u32 != want.u32 ||
		got.u8 != want.u8 || !got.yes || got.fixed != want.fixed || got.text != want.text ||
		len(got.list) != 2 || got.list[1] != "z" {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestEveryCutAndEveryLeftoverIsAnError(t *testing.T) {
	full := encode(sample{u64: 300, i64: -5, text: "abc", list: []string{"q"}})
	for n := range full {
		c := Reader(full[:n])
		new(sample).walk(c)
		if err := c.End(); !errors.Is(err, ErrShort) {
			t.Fatalf("%d of %d bytes: %v", n, len(full), err)
		}
	}
	c := Reader(append(full, 0))
	new(sample).walk(c)
	if err := c.End(); err == nil || !strings.Contains(err.Error(), "left over") {
		t.Fatalf("one byte too many: %v", err)
	}
}

// A stream passes the same bytes on in parts, and reports a write that fails.
func TestStreamWritesTheSameBytesInParts(t *testing.T) {
	parts := &parts{}
	w, s := Writer(nil), Stream(parts)
	for i := range 40_000 {
		u := uint64(i) << (i % 50)
		for _, c := range []*Coder{w, s} {
			c.U64(&u)
			c.Fixed([]byte{1, 2})
		}
	}
	if err := s.End(); err != nil || len(s.Bytes()) != 0 {
		t.Fatalf("%v, %d bytes are left", err, len(s.Bytes()))
	}
	if !bytes.Equal(parts.all, w.Bytes()) || parts.n < 3 {
		t.Fatalf("%d bytes in %d parts, want %d", len(parts.all), parts.n, len(w.Bytes()))
	}
	parts.err = errors.New("full")
	if s.Fixed([]byte{1}); !errors.Is(s.End(), parts.err) {
		t.Fatalf("a failed write: %v", s.Err())
	}
}

type parts struct {
	all []byte
	n   int
	err error
}

func (p *parts) Write(b []byte) (int, error) {
	p.all = append(p.all, b...)
	p.n++
	return len(b), p.err
}

// A number has one encoding, so that equal states have equal bytes.
func TestPaddedNumbersAreErrors(t *testing.T) {
	for _, b := range [][]byte{{0x80, 0}, {0x85, 0x80, 0}} {
		c := Reader(b)
		v := uint64(7)
		if c.U64(&v); v != 0 || !errors.Is(c.End(), ErrPadded) {
			t.Errorf("%x: %d, %v", b, v, c.Err())
		}
	}
	c := Reader([]byte{0, 5})
	v := uint64(7)
	if c.U64(&v); v != 0 || c.Err() != nil || c.Left() != 1 {
		t.Errorf("zero: %d, %v, %d left", v, c.Err(), c.Left())
	}
}

func TestValuesOutOfRangeAreErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		b    []byte
		read func(c *Coder)
	}{
		{"up to", []byte{9}, func(c *Coder) { var v uint64; c.UpTo(&v, 8) }},
		{"i63", []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, func(c *Coder) { var v int64; c.I63(&v) }},
		{"u32", []byte{0xff, 0xff, 0xff, 0xff, 0x7f}, func(c *Coder) { var v uint32; c.U32(&v) }},
		{"u8", []byte{7}, func(c *Coder) { var v uint8; c.U8(&v, 6) }},
		{"bool", []byte{2}, func(c *Coder) { var v bool; c.Bool(&v) }},
		{"text", []byte{3, 'a', 'b', 'c'}, func(c *Coder) { var v string; c.Text(&v, 2) }},
		{"len", []byte{200, 1, 0}, func(c *Coder) { c.Len(0) }},
	} {
		c := Reader(tc.b)
		tc.read(c)
		if c.Err() == nil {
			t.Errorf("%s: no error", tc.name)
		}
	}
}
