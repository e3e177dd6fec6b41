package wire

import (
	"fmt"
	"slices"
)

// Kinds holds how the types of an interface I are encoded: a byte with the place of the type in the list, and its
// members. Places never change.
type Kinds[I any] []Kind[I]

// Kind encodes and decodes the values of one type.
type Kind[I any] struct {
	is   func(v I) bool
	code func(c *Coder, v *I)
}

// KindOf returns the kind of a type T that implements I; code encodes or decodes its members.
func KindOf[I, T any](code func(*T, *Coder)) Kind[I] {
	return Kind[I]{
		is: func(v I) bool { _, ok := any(v).(T); return ok },
		code: func(c *Coder, v *I) {
			members, _ := any(*v).(T) // zero when it decodes
			code(&members, c)
			*v = any(members).(I)
		},
	}
}

// Append appends the encoding of a value, whose type is one of the kinds.
func (k Kinds[I]) Append(dst []byte, v I) []byte {
	n := slices.IndexFunc(k, func(one Kind[I]) bool { return one.is(v) })
	c := Writer(append(dst, uint8(n)))
	k[n].code(c, &v)
	return c.Bytes()
}

// Decode decodes the result of Append. Any other bytes are an error, which begins with what, and v is the zero value.
func (k Kinds[I]) Decode(b []byte, what string) (v I, err error) {
	var n uint8
	c := Reader(b)
	c.U8(&n, uint8(len(k)-1))
	k[n].code(c, &v)
	if err := c.End(); err != nil {
		var none I
		return none, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}
