package stream

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/wal"
)

// secret returns a secret of tests.
func secret(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

// testKeys are the keys of the cluster in tests.
var testKeys = NewKeys(secret(1), secret(2))

// samples returns a message of each kind.
func samples() []Message {
	head := Message{
		Rules: 3, Term: 5, Node: 0x1122334455667788, SentNs: 1_700_000_000_000_000_000, Prev: 77,
		At: wal.Position{Seq: 9, Chain: 0xfedcba98}, key: testKeys.first(),
	}
	records, beat, term, base := head, head, head, head
	records.Kind, beat.Kind, term.Kind, base.Kind = Records, Beat, Term, Base
	records.DigestPos, records.Digest = 11, [4]uint64{0x11, 0x22, 0x33, 0x44}
	beat.DigestPos, beat.Digest = 9, [4]uint64{1, 2, 3, 4}
	term.Info, base.Info = []byte("h4:8080"), []byte("genesis")
	base.Term, base.History = 0, [16]byte{1, 2, 3}
	return []Message{records, beat, term, base}
}

// sampleRecords are the records of the first message of samples.
var sampleRecords = []string{"place", strings.Repeat("x", 200), "cancel"}

func encoded(m *Message) []byte {
	if m.Kind != Records {
		return encode(m, testKeys)
	}
	var b builder
	for _, r := range sampleRecords {
		b.add([]byte(r), 0)
	}
	return b.take(m, testKeys)
}

func TestAMessageDecodesToWhatWasEncoded(t *testing.T) {
	for _, m := range samples() {
		got, err := Decode(encoded(&m), testKeys)
		if err != nil {
			t.Fatalf("kind %d: %v", m.Kind, err)
		}
		var records []string
		for at, r := range got.All() {
			records = append(records, fmt.Sprint(at, r))
		}
		got.count, got.records = 0, nil
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
	const want = "54484d3203050300" + "0500000000000000" +
		"8877665544332211" + "00002a36fe9c9717" + "4d00000000000000" +
		"0900000000000000" + "98badcfe00000000" + "0000000000000000" +
		"0000000000000000" + "0000000000000000" + "0000000000000000" + "0000000000000000" +
		"0b32941800000000" + "d1c500ca75066eb07f1fdfce7b5542de" + "68343a38303830"
	if got := hex.EncodeToString(encoded(&m)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Whatever is changed in a message, it is refused: each byte, to each other value, each cut and each addition.
func TestEveryFlippedByteAndEveryCutIsRefused(t *testing.T) {
	n := 0
	for _, m := range samples() {
		good := encoded(&m)
		for i := range good {
			for x := 1; x < 256; x++ {
				bad := bytes.Clone(good)
				bad[i] ^= byte(x)
				want := ErrDamaged
				switch {
				case i == 3:
					want = ErrVersion
				case i >= 96 && i < 100:
					want = ErrKey
				}
				if _, err := Decode(bad, testKeys); !errors.Is(err, want) {
					t.Fatalf("kind %d, byte %d: %v, want %v", m.Kind, i, err, want)
				}
				n++
			}
		}
		for i := range good {
			if _, err := Decode(good[:i], testKeys); !errors.Is(err, ErrDamaged) {
				t.Fatalf("kind %d, cut at %d: %v", m.Kind, i, err)
			}
		}
		if _, err := Decode(append(bytes.Clone(good), 0), testKeys); !errors.Is(err, ErrDamaged) {
			t.Fatalf("kind %d, a byte too many: %v", m.Kind, err)
		}
		if _, err := Decode(good, testKeys); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d changed bytes", n)
}

// Each key of the ring verifies, the first one signs. A key that the ring does not have, a message of an earlier format
// and no keys at all are named, with the remedy.
func TestKeysOfAMessage(t *testing.T) {
	m := samples()[1]
	data := encoded(&m)
	former := append([]byte("THM1"), data[4:]...)
	for name, c := range map[string]struct {
		data []byte
		keys *Keys
		want error
		text string
	}{
		"the first key":   {data, NewKeys(secret(1)), nil, ""},
		"a further key":   {data, NewKeys(secret(3), secret(1)), nil, ""},
		"another key":     {data, NewKeys(secret(3), secret(2)), ErrKey, "cluster.key_file"},
		"an empty ring":   {data, NewKeys(), ErrKey, "cluster.key_file"},
		"no ring":         {data, nil, ErrKey, "cluster.key_file"},
		"earlier format":  {former, testKeys, ErrVersion, "the writer's version"},
		"without its end": {data[:headBytes-1], testKeys, ErrDamaged, "119 bytes"},
	} {
		_, err := Decode(c.data, c.keys)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.text)
		}
	}
	same := NewKeys(secret(3))
	same.ring[0].id = testKeys.first() // as if two secrets had one id
	if _, err := Decode(data, same); !errors.Is(err, ErrDamaged) {
		t.Errorf("another secret of this id: %v", err)
	}
}

// A message of a node of the cluster is refused if its fields do not agree.
func TestFieldsThatDoNotAgreeAreDamage(t *testing.T) {
	for name, c := range map[string]struct {
		kind   int
		change func(b []byte) []byte
		want   error
	}{
		"unknown kind":      {0, func(b []byte) []byte { b[4] = 5; return b }, ErrDamaged},
		"no kind":           {1, func(b []byte) []byte { b[4] = 0; return b }, ErrDamaged},
		"earlier format":    {0, func(b []byte) []byte { b[5] = 4; return b }, ErrVersion},
		"later format":      {0, func(b []byte) []byte { b[5] = 6; return b }, ErrVersion},
		"no node":           {1, func(b []byte) []byte { clear(b[16:24]); return b }, ErrDamaged},
		"term 0":            {2, func(b []byte) []byte { clear(b[8:16]); return b }, ErrDamaged},
		"base with a term":  {3, func(b []byte) []byte { b[8] = 1; return b }, ErrDamaged},
		"negative time":     {1, func(b []byte) []byte { b[31] = 0x80; return b }, ErrDamaged},
		"position beyond":   {1, func(b []byte) []byte { b[47] = 0x40; return b }, ErrDamaged},
		"digest before":     {0, func(b []byte) []byte { b[56] = 8; return b }, ErrDamaged},
		"digest behind":     {0, func(b []byte) []byte { b[56] = 13; return b }, ErrDamaged},
		"digest of a later": {1, func(b []byte) []byte { b[56] = 10; return b }, ErrDamaged},
		"digest of nothing": {1, func(b []byte) []byte { b[56] = 0; return b }, ErrDamaged},
		"too few records":   {0, func(b []byte) []byte { b[100] = 2; return b }, ErrDamaged},
		"too many records":  {0, func(b []byte) []byte { b[100] = 4; return b }, ErrDamaged},
		"no records":        {0, func(b []byte) []byte { clear(b[56:104]); return b[:headBytes] }, ErrDamaged},
		"records of a beat": {1, func(b []byte) []byte { b[100] = 1; return b }, ErrDamaged},
		"body of a beat":    {1, func(b []byte) []byte { return append(b, 1) }, ErrDamaged},
		"count beyond":      {0, func(b []byte) []byte { b[103] = 0xff; return b }, ErrDamaged},
		"empty record":      {0, func(b []byte) []byte { b[headBytes] = 0; return b }, ErrDamaged},
		"record beyond":     {0, func(b []byte) []byte { return b[:len(b)-1] }, ErrDamaged},
		"padded length":     {0, paddedLength, ErrDamaged},
		"short base":        {3, func(b []byte) []byte { return b[:headBytes+baseBytes-1] }, ErrDamaged},
		"no history":        {3, func(b []byte) []byte { clear(b[headBytes : headBytes+16]); return b }, ErrDamaged},
		"long information":  {2, func(b []byte) []byte { return append(b, make([]byte, MaxInfo)...) }, ErrDamaged},
		"too long":          {2, func(b []byte) []byte { return append(b, make([]byte, MaxMessage)...) }, ErrDamaged},
	} {
		m := samples()[c.kind]
		b := c.change(encoded(&m))
		testKeys.sign(b, testKeys.first())
		if _, err := Decode(b, testKeys); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// paddedLength writes the length of the first record with a byte too many.
func paddedLength(b []byte) []byte {
	at := headBytes
	return append(append(bytes.Clone(b[:at]), 0x85, 0), b[at+1:]...)
}

// again encodes a decoded message.
func again(m *Message) []byte {
	if m.Kind != Records {
		return encode(m, testKeys)
	}
	var b builder
	for _, r := range m.All() {
		b.add(r, 0)
	}
	return b.take(m, testKeys)
}

// FuzzMessage changes bodies and heads; the target signs them. What decodes has only one encoding.
func FuzzMessage(f *testing.F) {
	for _, m := range samples() {
		f.Add(encoded(&m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headBytes {
			testKeys.sign(b, testKeys.first())
		}
		m, err := Decode(b, testKeys)
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
		for _, at := range []State{
			{}, {Prev: m.Prev, History: [16]byte{1}, Term: m.Term, Node: m.Node, Key: m.key, End: m.At},
		} {
			r := NewReader(at, 1<<16-1, testKeys)
			if _, _, err := r.Next(1, b); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// BenchmarkMessage encodes, decodes and judges a message of 64 KiB in records of 100 bytes.
func BenchmarkMessage(b *testing.B) {
	record := bytes.Repeat([]byte("r"), 100)
	at := State{History: [16]byte{7}, Term: 1, Node: 1, Rules: 1, Prev: 1, Key: testKeys.first()}
	b.SetBytes(64 << 10)
	b.ReportAllocs()
	for b.Loop() {
		m := Message{Kind: Records, Rules: 1, Term: 1, Node: 1, Prev: 1, key: testKeys.first()}
		var open builder
		for range 64 << 10 / 101 {
			open.add(record, 65<<10)
		}
		r := NewReader(at, 1, testKeys)
		if _, ok, err := r.Next(1, open.take(&m, testKeys)); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	m := samples()[0]
	b := encoded(&m)
	if n := testing.AllocsPerRun(1000, func() {
		m, err := Decode(b, testKeys)
		if err != nil {
			t.Fatal(err)
		}
		m.end()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
