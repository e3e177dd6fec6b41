package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// The catalog of nautilus_trader writes prices as little-endian numbers of 8 or 16 bytes and says so nowhere. Bytes of
// another program stay text.
func TestNautilusCatalog(t *testing.T) {
	t.Parallel()
	const price = 1_953_100_000 // 1.9531 x 10^9
	short := binary.LittleEndian.AppendUint64(nil, price)
	long := append(binary.LittleEndian.AppendUint64(nil, 10_000_000*price), make([]byte, 8)...)
	for want, c := range map[string]struct {
		bytes []byte
		init  string
	}{
		"sell,1.953100000,1700000000000000000\n":        {short, "ts_init"},
		"sell,1.9531000000000000,1700000000000000000\n": {long, "ts_init"},
		"sell,_,1700000000000000000\n":                  {[]byte{1}, "ts_init"},
		"2,12345678,1700000000000000000\n":              {[]byte("12345678"), "ts_other"},
	} {
		group := parquet.Group{
			"price": parquet.Leaf(parquet.FixedLenByteArrayType(len(c.bytes))), "aggressor_side": parquet.Int(32),
			c.init: parquet.Int(64),
		}
		var out bytes.Buffer
		w := parquet.NewWriter(&out, parquet.NewSchema("x", group))
		row := parquet.Row{
			parquet.Int32Value(2).Level(0, 0, 0), parquet.FixedLenByteArrayValue(c.bytes).Level(0, 0, 1),
			parquet.Int64Value(1_700_000_000_000_000_000).Level(0, 0, 2),
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		lines := bytes.SplitAfter(text, []byte{'\n'})
		if err != nil || len(lines) < 2 || !slices.Equal(lines[1], []byte(want)) {
			t.Errorf("%q %v, want %q", text, err, want)
		}
	}
}
