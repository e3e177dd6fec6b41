package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// All ids, addresses and codes of a user or link are functions of its number, so that runs are
// reproducible and codes need no table.

var (
	userSpace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:user"))
	linkSpace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:link"))
)

// UserID returns the id of user number n (docs/contract/internal.md#users-and-money). The built-in
// account 0 has the nil UUID.
func UserID(n uint32) uuid.UUID {
	if n == 0 {
		return uuid.Nil
	}
	return uuid.NewSHA1(userSpace, strconv.AppendUint(nil, uint64(n), 10))
}

func linkID(m uint64) uuid.UUID { return uuid.NewSHA1(linkSpace, strconv.AppendUint(nil, m, 10)) }

// publicID returns ten digits; the factor is coprime to 10^10, so no two users share them.
func publicID(n uint32) string {
	return fmt.Sprintf("%010d", uint64(n)*7_182_818_283%10_000_000_000)
}

// address returns the account's address on the launchpad's ledger.
func address(n uint32) (a [20]byte) {
	h := sha256.Sum256([]byte("tickhive:address:" + strconv.FormatUint(uint64(n), 10)))
	copy(a[:], h[:])
	return a
}

func addressText(n uint32) string {
	a := address(n)
	return "0x" + hex.EncodeToString(a[:])
}

// codeAlphabet leaves out I, O, 0 and 1, which readers confuse.
const codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

const (
	codeLength = 8
	codeLink   = 1 << 39 // set for links: users and links share one space of codes
	halfMask   = 1<<20 - 1
)

var codeKeys = [4]uint64{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93}

// codeOf converts a number below 2^40 to an invite code. It is a Feistel permutation, so codes
// are unique, look random and can be inverted (numberOf).
func codeOf(v uint64) string {
	l, r := v>>20, v&halfMask
	for _, k := range codeKeys {
		l, r = r, l^mix(r, k)
	}
	v = l<<20 | r
	var b [codeLength]byte
	for i := range b {
		b[i] = codeAlphabet[v>>(5*(codeLength-1-i))&31]
	}
	return string(b[:])
}

// numberOf returns the number of which codeOf makes the code; ok is false for a text that is not
// a code.
func numberOf(code string) (v uint64, ok bool) {
	if len(code) != codeLength {
		return 0, false
	}
	for i := range codeLength {
		d := strings.IndexByte(codeAlphabet, code[i])
		if d < 0 {
			return 0, false
		}
		v = v<<5 | uint64(d)
	}
	l, r := v>>20, v&halfMask
	for i := len(codeKeys) - 1; i >= 0; i-- {
		l, r = r^mix(l, codeKeys[i]), l
	}
	return l<<20 | r, true
}

func mix(half, key uint64) uint64 {
	x := (half + key) * 0xff51afd7ed558ccd
	return (x ^ x>>29) >> 11 & halfMask
}

func inviteCode(n uint32) string { return codeOf(uint64(n)) }

func linkCode(m uint64) string { return codeOf(codeLink | m) }
