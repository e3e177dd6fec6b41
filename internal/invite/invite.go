package invite

import "strings"

// Alphabet holds the characters of a code. It leaves out I, O, 0 and 1, which readers confuse.
const Alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// Length is the length of a code.
const Length = 8

const halfMask = 1<<20 - 1

var keys = [4]uint64{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93}

// Code converts a number below 2^40 to an invite code. It is a Feistel permutation, so codes
// are unique, look random and can be inverted (Number).
func Code(v uint64) string {
	l, r := v>>20, v&halfMask
	for _, k := range keys {
		l, r = r, l^mix(r, k)
	}
	v = l<<20 | r
	var b [Length]byte
	for i := range b {
		b[i] = Alphabet[v>>(5*(Length-1-i))&31]
	}
	return string(b[:])
}

// Number returns the number of which Code makes the code; ok is false for a text that is not a
// code.
func Number(code string) (v uint64, ok bool) {
	if len(code) != Length {
		return 0, false
	}
	for i := range Length {
		d := strings.IndexByte(Alphabet, code[i])
		if d < 0 {
			return 0, false
		}
		v = v<<5 | uint64(d)
	}
	l, r := v>>20, v&halfMask
	for i := len(keys) - 1; i >= 0; i-- {
		l, r = r^mix(l, keys[i]), l
	}
	return l<<20 | r, true
}

func mix(half, key uint64) uint64 {
	x := (half + key) * 0xff51afd7ed558ccd
	return (x ^ x>>29) >> 11 & halfMask
}
