package gzjoin_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/tickhive/tickhive/internal/gzjoin"
)

func join(pieces [][]byte) []byte {
	var j gzjoin.Joiner
	file := gzjoin.AppendHead(nil)
	for _, p := range pieces {
		file = append(file, j.Add(gzjoin.AppendPart(nil, p))...)
	}
	return j.AppendTail(file)
}

// The standard library's reader checks the CRC and the length, and reads one member only.
func read(t interface{ Fatal(...any) }, file []byte) []byte {
	from := bytes.NewReader(file)
	r, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if from.Len() != 0 {
		t.Fatal(from.Len(), "bytes behind the member")
	}
	return text
}

func TestPartsJoinToOneFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 300), 0, 8).Draw(t, "pieces")
		if got := read(t, join(pieces)); !bytes.Equal(got, bytes.Join(pieces, nil)) {
			t.Fatalf("%d bytes differ from the pieces", len(got))
		}
	})
}

func TestLargePartsJoinToOneFile(t *testing.T) {
	row := []byte(`{"trade_id":123456,"price":65021.13,"base_volume":0.01200000,"type":"buy"},`)
	pieces := [][]byte{bytes.Repeat(row, 20_000), bytes.Repeat(row[:7], 90_000), nil, row}
	file := join(pieces)
	if got := read(t, file); !bytes.Equal(got, bytes.Join(pieces, nil)) {
		t.Fatalf("%d bytes differ from the pieces", len(got))
	}
	if len(file) > 40_000 {
		t.Fatalf("%d bytes for %d", len(file), 20_000*len(row))
	}
	if !bytes.Equal(file, join(pieces)) {
		t.Fatal("equal pieces give different files")
	}
}

// A changed byte of a part must be noticed: the test above would pass without a checksum.
func TestAWrongPartIsNoticed(t *testing.T) {
	var j gzjoin.Joiner
	part := gzjoin.AppendPart(nil, []byte("a text"))
	part[0] ^= 1
	file := append(gzjoin.AppendHead(nil), j.Add(part)...)
	r, err := gzip.NewReader(bytes.NewReader(j.AppendTail(file)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil {
		t.Fatal("a wrong CRC passes")
	}
}

func BenchmarkAppendPart(b *testing.B) {
	text := bytes.Repeat([]byte(`{"trade_id":123456,"price":65021.13,"base_volume":0.01200000,"type":"buy"},`), 160)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		gzjoin.AppendPart(nil, text)
	}
}
