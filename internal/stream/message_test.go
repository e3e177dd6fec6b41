package stream

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tickhive/internal/differ"
)

// samples returns a message of each kind.
func samples() []Message {
	head := Message{
		Rules: 3, Term: 5, Node: 0x1122334455667788, SentNs: 1_700_000_000_000_000_000, Prev: 77,
		DigestPos: 9, Digest: 0xfedcba98,
	}
	records, beat, term, base := head, head, head, head
	records.Kind, beat.Kind, term.Kind, base.Kind = Records, Beat, Term, Base
	term.Info, base.Info = []byte("h4:8080"), []byte("genesis")
	base.Term, base.History, base.Start = 0, [16]byte{1, 2, 3}, 100
	return []Message{records, beat, term, base}
}

// sampleRecords are the records of the first message of samples, which begins with record 10.
var sampleRecords = []string{"place", strings.Repeat("x", 200), "cancel"}

func encoded(m *Message) []byte {
	if m.Kind != Records {
		return encode(m)
	}
	var b builder
	for i, r := range sampleRecords {
		b.add(10+uint64(i), []byte(r), 0)
	}
	return b.take(m)
}

func TestAMessageDecodesToWhatWasEncoded(t *testing.T) {
	for _, m := range samples() {
		got, err := Decode(encoded(&m))
		if err != nil {
			t.Fatalf("kind %d: %v", m.Kind, err)
		}
		var records []string
		for at, r := range got.All() {
			records = append(records, fmt.Sprint(at, r))
		}
		got.first, got.count, got.records = 0, 0, nil
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", m) && !(len(got.Info) == 0 && len(m.Info) == 0) {
			t.Errorf("kind %d: %s", m.Kind, differ.Diff(m, got))
		}
		if m.Kind != Records {
			if len(records) != 0 {
				t.Errorf("kind %d has records: %v", m.Kind, records)
			}
			continue
		}
		for i, r := range sampleRecords {
			if len(records) != len(sampleRecords) || records[i] != fmt.Sprint(10+i, []byte(r)) {
				t.Fatalf("records %v, want %v", records, sampleRecords)
			}
		}
	}
}

// The bytes are the format: a change needs another version.
func TestTheBytesOfAMessage(t *testing.T) {
	m := samples()[2]
	const want = "54484d3103040300" + "0500000000000000" +
		"8877665544332211" + "00002a36fe9c9717" + "4d00000000000000" +
		"0900000000000000" + "98badcfe00000000" + "000000002c87e8a8" + "68343a38303830"
	if got := hex.EncodeToString(encoded(&m)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEveryFlippedBitAndEveryCutIsDamage(t *testing.T) {
	n := 0
	for _, m := range samples() {
		good := encoded(&m)
		for i := range 8 * len(good) {
			bad := bytes.Clone(good)
			bad[i/8] ^= 1 << (i % 8)
			if _, err := Decode(bad); !errors.Is(err, ErrDamaged) {
				t.Fatalf("kind %d, bit %d: %v", m.Kind, i, err)
			}
			n++
		}
		for i := range good {
			if _, err := Decode(good[:i]); !errors.Is(err, ErrDamaged) {
				t.Fatalf("kind %d, cut at %d: %v", m.Kind, i, err)
			}
		}
		if _, err := Decode(append(bytes.Clone(good), 0)); !errors.Is(err, ErrDamaged) {
			t.Fatalf("kind %d, a byte too many: %v", m.Kind, err)
		}
		if _, err := Decode(good); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d flipped bits", n)
}

// A message whose checksum is right is refused if its fields do not agree.
func TestFieldsThatDoNotAgreeAreDamage(t *testing.T) {
	for name, c := range map[string]struct {
		kind   int
		change func(b []byte) []byte
		want   error
	}{
		"unknown kind":      {0, func(b []byte) []byte { b[4] = 5; return b }, ErrDamaged},
		"no kind":           {1, func(b []byte) []byte { b[4] = 0; return b }, ErrDamaged},
		"earlier format":    {0, func(b []byte) []byte { b[5] = 3; return b }, ErrVersion},
		"later format":      {0, func(b []byte) []byte { b[5] = 5; return b }, ErrVersion},
		"no node":           {1, func(b []byte) []byte { clear(b[16:24]); return b }, ErrDamaged},
		"term 0":            {2, func(b []byte) []byte { clear(b[8:16]); return b }, ErrDamaged},
		"base with a term":  {3, func(b []byte) []byte { b[8] = 1; return b }, ErrDamaged},
		"negative time":     {1, func(b []byte) []byte { b[31] = 0x80; return b }, ErrDamaged},
		"digest position":   {1, func(b []byte) []byte { b[47] = 0x40; return b }, ErrDamaged},
		"too few records":   {0, func(b []byte) []byte { b[56] = 2; return b }, ErrDamaged},
		"too many records":  {0, func(b []byte) []byte { b[56] = 4; return b }, ErrDamaged},
		"no records":        {0, func(b []byte) []byte { b[56] = 0; return b[:headBytes+firstBytes] }, ErrDamaged},
		"no position":       {0, func(b []byte) []byte { b[56] = 0; return b[:headBytes] }, ErrDamaged},
		"records of a beat": {1, func(b []byte) []byte { b[56] = 1; return b }, ErrDamaged},
		"body of a beat":    {1, func(b []byte) []byte { return append(b, 1) }, ErrDamaged},
		"count beyond":      {0, func(b []byte) []byte { b[59] = 0xff; return b }, ErrDamaged},
		"position 0":        {0, func(b []byte) []byte { b[headBytes] = 0; return b }, ErrDamaged},
		"position beyond":   {0, func(b []byte) []byte { b[headBytes+7] = 0x40; return b }, ErrDamaged},
		"empty record":      {0, func(b []byte) []byte { b[headBytes+firstBytes] = 0; return b }, ErrDamaged},
		"record beyond":     {0, func(b []byte) []byte { return b[:len(b)-1] }, ErrDamaged},
		"padded length":     {0, paddedLength, ErrDamaged},
		"short base":        {3, func(b []byte) []byte { return b[:headBytes+baseBytes-1] }, ErrDamaged},
		"no history":        {3, func(b []byte) []byte { clear(b[headBytes : headBytes+16]); return b }, ErrDamaged},
		"start beyond":      {3, func(b []byte) []byte { b[headBytes+23] = 0x40; return b }, ErrDamaged},
		"long information":  {2, func(b []byte) []byte { return append(b, make([]byte, MaxInfo)...) }, ErrDamaged},
		"too long":          {2, func(b []byte) []byte { return append(b, make([]byte, MaxMessage)...) }, ErrDamaged},
	} {
		m := samples()[c.kind]
		b := c.change(encoded(&m))
		le.PutUint32(b[60:], sum(b))
		if _, err := Decode(b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// paddedLength writes the length of the first record with a byte too many.
func paddedLength(b []byte) []byte {
	at := headBytes + firstBytes
	return append(append(bytes.Clone(b[:at]), 0x85, 0), b[at+1:]...)
}

// again encodes a decoded message.
func again(m *Message) []byte {
	if m.Kind != Records {
		return encode(m)
	}
	var b builder
	for at, r := range m.All() {
		b.add(at, r, 0)
	}
	return b.take(m)
}

// FuzzMessage changes bodies and heads; the target makes the checksum right. What decodes has only one encoding.
func FuzzMessage(f *testing.F) {
	for _, m := range samples() {
		f.Add(encoded(&m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headBytes {
			le.PutUint32(b[60:], sum(b))
		}
		m, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		if got := again(&m); !bytes.Equal(got, b) {
			t.Fatalf("%x decodes, and encodes to %x", b, got)
		}
		// a reader judges it without a panic, in every state
		for _, at := range []State{{}, {Prev: m.Prev, History: [16]byte{1}, Term: m.Term, Node: m.Node}} {
			r := NewReader(at, 1<<16-1)
			if _, _, err := r.Next(1, b); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestDecodeAllocatesNothing(t *testing.T) {
	m := samples()[0]
	b := encoded(&m)
	if n := testing.AllocsPerRun(1000, func() {
		m, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		for range m.All() {
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
