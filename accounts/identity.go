package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

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

// codeLink is set for links: users and links share one space of codes.
const codeLink = 1 << 39

func inviteCode(n uint32) string { return codeOfNumber(uint64(n)) }

func linkCode(m uint64) string { return codeOfNumber(codeLink | m) }
