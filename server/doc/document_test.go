package doc

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A large document in parts is joined for the second reader and every later one, a small
// document never; the bytes are the same.
func TestDocumentInPartsIsJoinedForTheSecondReader(t *testing.T) {
	for _, size := range []int{10, joinFrom - 2, joinFrom} {
		text := &Text{}
		text.Add([]byte("["))
		text.Add([]byte(strings.Repeat("x", size)))
		text.Add([]byte("]"))
		d := &Doc{Text: text}
		want := "[" + strings.Repeat("x", size) + "]"
		if d.Size() != len(want) || string(d.Bytes()) != want {
			t.Fatalf("%d bytes: not the parts", size)
		}
		if d.CachedBytes() != nil {
			t.Fatalf("%d bytes: joined for the first reader", size)
		}
		second, third := d.CachedBytes(), d.CachedBytes()
		if len(want) < joinFrom {
			if second != nil || third != nil {
				t.Fatalf("%d bytes: joined", size)
			}
			continue
		}
		if string(second) != want || &second[0] != &third[0] || &d.Bytes()[0] != &third[0] {
			t.Fatalf("%d bytes: not joined once", size)
		}
		var out strings.Builder
		if n, err := text.WriteTo(&out); n != int64(len(want)) || err != nil || out.String() != want {
			t.Fatalf("%d bytes: written %d, %v", size, n, err)
		}
	}
}

// A document with a body is served unchanged.
func TestADocumentWithABody(t *testing.T) {
	d := New([]byte("text"), 1, 0)
	if d.Size() != 4 || string(d.CachedBytes()) != "text" || string(d.Bytes()) != "text" {
		t.Errorf("%d bytes, %q, %q", d.Size(), d.CachedBytes(), d.Bytes())
	}
}

// full is a writer that takes a number of bytes.
type full struct{ room int }

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	if f.room -= n; n < len(b) {
		return n, errFull
	}
	return n, nil
}

// A text in parts loses its last byte, and is written up to the place at which the writer fails.
func TestATextInParts(t *testing.T) {
	whole := "one,two,three,"
	var text Text
	for _, part := range []string{"one,", "two,", "three,"} {
		text.Add([]byte(part))
	}
	for cut := range 3 {
		want := whole[:len(whole)-cut]
		if got := string(text.AppendTo(nil)); got != want || text.Size != len(want) {
			t.Errorf("%d bytes cut: %q of %d bytes", cut, got, text.Size)
		}
		for room := range len(want) + 1 {
			n, err := text.WriteTo(&full{room})
			if n != int64(room) || (err != nil) != (room < len(want)) || err != nil && !errors.Is(err, errFull) {
				t.Errorf("%d of %d bytes: %d, %v", room, len(want), n, err)
			}
		}
		var b bytes.Buffer
		if n, err := text.WriteTo(&b); n != int64(len(want)) || err != nil || b.String() != want {
			t.Errorf("%q of %d bytes, %v", b.String(), n, err)
		}
		text.Cut()
	}
}
