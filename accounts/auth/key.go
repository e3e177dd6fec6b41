package auth

import (
	"crypto/rsa"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
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
	Secret    Secret // empty for an Ed25519 or RSA key
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
	id       uuid.UUID     // id of the user
	number   uint64        // number of the key in this process; selects the shard of the nonce table
	nonces   *nonceSet     // a pointer, so that the nonce table does not retain the private key of a deleted key
	opened                 // set by Keys before it shows the key
	lastUsed *atomic.Int64 // Unix ns, 0: not used since the start; not stored; a resealed key shares it
}

// opened holds what is sealed of a key's record. The zero value verifies nothing.
type opened struct {
	is        bool // it is set
	name      string
	whitelist []string
	allowed   []netip.Prefix
	mac       *macStates     // nil for an Ed25519 or RSA key
	rsa       *rsa.PublicKey // nil for another key
	missing   error          // a field is sealed by a key that this process does not have: nothing else is set
}

// open opens the sealed fields of a key that no reader has yet.
func (k *Key) open(ring *seal.Key) {
	if k.is {
		return
	}
	k.is, k.name, k.whitelist = true, k.rec.Name, k.rec.IPWhitelist
	private, err := ring.OpenText(k.rec.Secret.Reveal(), seal.KeySecret)
	if err == nil {
		k.name, err = ring.OpenText(k.rec.Name, seal.KeyName)
	}
	if err == nil && sealedList(k.rec.IPWhitelist) {
		var list string
		list, err = ring.OpenText(k.rec.IPWhitelist[0], seal.KeyNetwork)
		k.whitelist = strings.Split(list, ",")
	}
	if err == nil {
		k.allowed, err = parsed(k.whitelist)
	}
	if err == nil && k.rec.RSA != nil {
		k.rsa, err = rsaKey(k.rec.RSA)
	}
	if err != nil {
		k.opened = opened{is: true, missing: err}
		return
	}
	k.mac = newMACStates(private)
}

// Missing returns why the fields of a key could not be opened; nil: they are open.
func (k *Key) Missing() error { return k.missing }

// shut returns the refusal of a request that is signed with a key whose fields cannot be opened here.
func (k *Key) shut() *refuse.Refusal {
	if k.missing == nil {
		return nil
	}
	return refuse.New(refuse.Unavailable, "API-PublicKey",
		"This server cannot verify the API key: %s. Send the request "+
			"to a server that has the key.", k.missing)
}

// Describe returns the name and the white list of the key. Where this process cannot open them, they are empty.
func (k *Key) Describe() (name string, whitelist []string) {
	if k.is {
		return k.name, k.whitelist
	}
	return k.rec.Name, k.rec.IPWhitelist
}

// Seal seals the secret, the name and the white list of a key that Check has passed.
func (q *NewKey) Seal(ring *seal.Key) {
	if ring.Empty() {
		return
	}
	if !q.Secret.Empty() {
		q.Secret = NewSecret(ring.SealText(q.Secret.Reveal(), seal.KeySecret))
	}
	q.Name = ring.SealText(q.Name, seal.KeyName)
	if len(q.IPWhitelist) > 0 {
		q.IPWhitelist = []string{ring.SealText(strings.Join(q.IPWhitelist, ","), seal.KeyNetwork)}
	}
}

// Sealed reports whether a field of the key is sealed.
func (q *NewKey) Sealed() bool {
	return seal.Sealed(q.Secret.Reveal()) || seal.Sealed(q.Name) || sealedList(q.IPWhitelist)
}

// sealedList reports whether a white list is sealed: as one text that has all entries.
func sealedList(list []string) bool { return len(list) == 1 && seal.Sealed(list[0]) }

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
	list, err := parsed(whitelist)
	if err != nil {
		panic("BUG: accounts/auth: whitelist entry of a stored key does not parse")
	}
	return list
}

// parsed returns the parsed entries of a whitelist.
func parsed(whitelist []string) (list []netip.Prefix, err error) {
	for _, text := range whitelist {
		p, ok := ParseNetwork(text)
		if !ok {
			return nil, errors.New("an entry of its white list does not parse")
		}
		list = append(list, p)
	}
	return list, nil
}

// allows reports whether the whitelist permits an address. One that cannot be opened permits none.
func (k *Key) allows(remote netip.Addr) bool {
	if k.missing != nil {
		return false
	}
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
