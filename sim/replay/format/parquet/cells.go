package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// maxDecimal bounds a decimal, in bytes.
const maxDecimal = 32

// maxText bounds the text of a cell, in bytes: longer ones are no numbers, times or symbols.
const maxText = 64

// cell appends values of a column as text.
type cell struct {
	kind   cellKind
	unit   int64 // times: ns
	scale  int   // decimals
	width  int   // bytes of a value of fixed length
	bits   int   // of a float
	whole  bool  // the values are whole numbers
	little bool  // the bytes of a decimal are little-endian
}

type cellKind uint8

const (
	cellInt cellKind = iota
	cellUint
	cellBool
	cellFloat
	cellTime
	cellDay
	cellOldTime // INT96: ns of the day, then the Julian day
	cellDecimal
	cellSide // a number: 1 the taker bought, 2 the taker sold
	cellText
)

const dayNs = int64(24 * time.Hour)

// cellOf returns the kind of a column.
func cellOf(e *format.SchemaElement) (c cell, err error) {
	c.scale = int(e.Scale.V)
	switch e.Type.V {
	case format.Boolean:
		c.kind = cellBool
	case format.Int32, format.Int64:
		c.kind, c.whole = cellInt, true
	case format.Int96:
		c.kind = cellOldTime
	case format.Float:
		c.kind, c.bits = cellFloat, 32
	case format.Double:
		c.kind, c.bits = cellFloat, 64
	case format.ByteArray:
		c.kind = cellText
	case format.FixedLenByteArray:
		c.kind, c.width = cellText, int(e.TypeLength.V)
		if c.width <= 0 || c.width > maxPage {
			return c, fmt.Errorf("values of %d bytes", c.width)
		}
	default:
		return c, fmt.Errorf("the type %s", e.Type.V)
	}
	return c, c.meaning(e)
}

// meaning takes what the schema says about the values.
func (c *cell) meaning(e *format.SchemaElement) error {
	old := deprecated.ConvertedType(-1)
	if e.ConvertedType.Valid {
		old = e.ConvertedType.V
	}
	switch t := e.LogicalType.Value.(type) {
	case *format.TimestampType:
		if c.whole && t.Unit.Value != nil {
			c.kind, c.unit = cellTime, t.Unit.Value.Duration().Nanoseconds()
		}
	case *format.DateType:
		old = deprecated.Date
	case *format.DecimalType:
		old, c.scale = deprecated.Decimal, int(t.Scale)
	case *format.IntType:
		if c.whole && !t.IsSigned {
			c.kind = cellUint
		}
	}
	switch old {
	case deprecated.TimestampMillis, deprecated.TimestampMicros:
		if c.whole {
			c.kind, c.unit = cellTime, int64(time.Millisecond)
			if old == deprecated.TimestampMicros {
				c.unit = int64(time.Microsecond)
			}
		}
	case deprecated.Date:
		if c.whole {
			c.kind, c.unit = cellDay, dayNs
		}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		if c.whole {
			c.kind = cellUint
		}
	case deprecated.Decimal:
		if c.scale < 0 || c.scale > 38 {
			return fmt.Errorf("decimals with %d digits behind the point", c.scale)
		}
		if c.whole || c.kind == cellText {
			c.kind = cellDecimal
		}
	default:
	}
	return nil
}

// asNautilus takes the meaning that the catalog of nautilus_trader gives to its columns and does not write into the
// schema: prices and sizes are whole numbers of 8 or 16 bytes in units of 10^-9 or 10^-16.
func (c *cell) asNautilus(name string) {
	switch {
	case name == "aggressor_side" && c.whole:
		c.kind = cellSide
	case c.kind == cellText && c.width == 8:
		c.kind, c.little, c.scale = cellDecimal, true, 9
	case c.kind == cellText && c.width == 16:
		c.kind, c.little, c.scale = cellDecimal, true, 16
	}
}

// append appends the text of a value.
func (c *cell) append(dst []byte, v value) []byte {
	switch c.kind {
	case cellInt:
		return strconv.AppendInt(dst, int64(v.bits), 10)
	case cellUint:
		return strconv.AppendUint(dst, v.bits, 10)
	case cellBool:
		return strconv.AppendBool(dst, v.bits != 0)
	case cellFloat:
		return c.float(dst, v.bits)
	case cellTime:
		return instant(dst, int64(v.bits), c.unit)
	case cellDay:
		if days := int64(v.bits); days >= 0 && days < math.MaxInt64/dayNs {
			return time.Unix(0, days*dayNs).UTC().AppendFormat(dst, time.DateOnly)
		}
		return dst
	case cellOldTime:
		const epoch = 2_440_588 // Julian day of 1970-01-01
		day := int64(binary.LittleEndian.Uint32(v.text[8:])) - epoch
		ns := int64(binary.LittleEndian.Uint64(v.text))
		if ns >= 0 && ns < dayNs && day >= 0 && day < math.MaxInt64/dayNs {
			return strconv.AppendInt(dst, day*dayNs+ns, 10)
		}
		return dst
	case cellDecimal:
		return c.decimal(dst, v)
	case cellSide:
		return append(dst, [...]string{"", "buy", "sell", ""}[min(v.bits, 3)]...)
	default:
		return append(dst, clean(string(v.text[:min(len(v.text), maxText)]))...)
	}
}

// float appends the shortest decimal that gives the recorded float, nothing for one that is no number.
func (c *cell) float(dst []byte, bits uint64) []byte {
	f := math.Float64frombits(bits)
	if c.bits == 32 {
		f = float64(math.Float32frombits(uint32(bits)))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst
	}
	return strconv.AppendFloat(dst, f, 'f', -1, c.bits)
}

// instant appends a time as Unix ns, nothing for one beyond int64.
func instant(dst []byte, v, unit int64) []byte {
	if v > math.MaxInt64/unit || v < math.MinInt64/unit {
		return dst
	}
	return strconv.AppendInt(dst, v*unit, 10)
}

// decimal appends a decimal: a whole number in units of 10^-scale, as a number or as big-endian bytes.
func (c *cell) decimal(dst []byte, v value) []byte {
	n := big.NewInt(int64(v.bits))
	if !c.whole {
		if len(v.text) > maxDecimal {
			return dst
		}
		text := v.text
		if c.little {
			text = slices.Clone(text)
			slices.Reverse(text)
		}
		n.SetBytes(text)
		if len(text) > 0 && text[0] > 127 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v.text))))
		}
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
		n.Neg(n)
	}
	digits := n.String()
	for len(digits) <= c.scale {
		digits = "0" + digits
	}
	dst = append(dst, digits[:len(digits)-c.scale]...)
	if c.scale > 0 {
		dst = append(append(dst, '.'), digits[len(digits)-c.scale:]...)
	}
	return dst
}

// clean returns a text that does not break a row of CSV.
func clean(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c == ',' || c == '"' || c > '~' {
			b[i] = '_'
		}
	}
	return string(b)
}
