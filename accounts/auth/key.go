package auth

import (
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
)

// The lengths of a key pair, in alphanumerics (docs/contract/accounts.md#api-keys).
const (
	PublicKeyLength  = 38
	PrivateKeyLength = 64
)

// NewKey is a key that does not exist yet: what its user requests, and what was drawn for it (Draw).
type NewKey struct {
	KeyRequest
	PublicKey string
	Secret    Secret // empty for an Ed25519 key
}

// KeyRecord is an API key as a snapshot stores it.
type KeyRecord struct {
	NewKey
	// CreatedBy is the public key of the key that made this one; "": an operator made it. Deleting that key
	// deletes this one too.
	CreatedBy string
	CreatedNs int64
}

// Key is one API key that is not deleted. It is immutable except for lastUsed and nonces.
type Key struct {
	rec      KeyRecord
	user     uint32
	id       uuid.UUID // id of the user
	number   uint64    // number of the key in this process; selects the shard of the nonce table
	nonces   *nonceSet // a pointer, so that the nonce table does not retain the private key of a deleted key
	allowed  []netip.Prefix
	mac      *macStates   // nil for an Ed25519 key
	lastUsed atomic.Int64 // Unix ns, 0: not used since the start; not stored
}

// String returns a text without the private key.
func (k *Key) String() string { return "key " + k.rec.PublicKey }

// Record returns the stored form of the key. The caller must not change its whitelist.
func (k *Key) Record() KeyRecord { return k.rec }

// User returns the number of the user whose requests the key signs.
func (k *Key) User() uint32 { return k.user }

// Number returns the number that the key has in this process.
func (k *Key) Number() uint64 { return k.number }

// LastUsedNs returns the time of the last accepted request, 0 when there was none since the start.
func (k *Key) LastUsedNs() int64 { return k.lastUsed.Load() }

// Active reports whether the key has not expired.
func (k *Key) Active(nowNs int64) bool { return k.rec.ExpiresNs == 0 || nowNs < k.rec.ExpiresNs }

// ParseNetwork parses an entry of a whitelist: an IP address or a CIDR.
func ParseNetwork(text string) (netip.Prefix, bool) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return netip.Prefix{}, false
		}
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen()), true
}

// networks returns the parsed entries of a whitelist whose entries all parse.
func networks(whitelist []string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range whitelist {
		p, ok := ParseNetwork(text)
		if !ok {
			panic("BUG: accounts/auth: whitelist entry of a stored key does not parse")
		}
		list = append(list, p)
	}
	return list
}

// allows reports whether the whitelist permits an address.
func (k *Key) allows(remote netip.Addr) bool {
	if len(k.allowed) == 0 {
		return true
	}
	remote = remote.Unmap().WithZone("")
	for _, p := range k.allowed {
		if p.Contains(remote) {
			return true
		}
	}
	return false
}
