package accounts

import "strings"

// inviteAlphabet holds the characters of a code. It leaves out I, O, 0 and 1, which readers confuse.
const inviteAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// inviteLength is the length of a code.
const inviteLength = 8

const inviteMask = 1<<20 - 1

var inviteKeys = [4]uint64{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93}

// codeOfNumber converts a number below 2^40 to an invite code. It is a Feistel permutation, so codes
// are unique, look random and numberOfCode inverts them.
func codeOfNumber(v uint64) string {
	l, r := v>>20, v&inviteMask
	for _, k := range inviteKeys {
		l, r = r, l^inviteMix(r, k)
	}
	v = l<<20 | r
	var b [inviteLength]byte
	for i := range b {
		b[i] = inviteAlphabet[v>>(5*(inviteLength-1-i))&31]
	}
	return string(b[:])
}

// numberOfCode returns the number of which codeOfNumber makes the code; ok is false for a text that is not a
// code.
func numberOfCode(code string) (v uint64, ok bool) {
	if len(code) != inviteLength {
		return 0, false
	}
	for i := range inviteLength {
		d := strings.IndexByte(inviteAlphabet, code[i])
		if d < 0 {
			return 0, false
		}
		v = v<<5 | uint64(d)
	}
	l, r := v>>20, v&inviteMask
	for i := len(inviteKeys) - 1; i >= 0; i-- {
		l, r = r^inviteMix(l, inviteKeys[i]), l
	}
	return l<<20 | r, true
}

func inviteMix(half, key uint64) uint64 {
	x := (half + key) * 0xff51afd7ed558ccd
	return (x ^ x>>29) >> 11 & inviteMask
}
