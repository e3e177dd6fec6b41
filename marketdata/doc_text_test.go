package marketdata

import (
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
