package auth

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// KeyRequest is ApiKeyPairCreationRequestViewModel (docs/contract/accounts.md#api-keys).
type KeyRequest struct {
	Name          string
	CanTrade      bool
	CanWithdraw   bool
	CanManageKeys bool // the key may make and delete other keys, if it also has CanTrade
	IPWhitelist   []string
	ExpiresNs     int64  // Unix ns; 0: never
	Ed25519       []byte // the public key of an Ed25519 key (ParseEd25519); nil: an HMAC key pair, or an RSA key
	RSA           []byte // the public key of an RSA key (ParseRSA); nil: another one
}

// public returns the public key with which the key's signatures are verified, nil for an HMAC key. No public key of one
// scheme is one of the other.
func (q *KeyRequest) public() []byte {
	if q.Ed25519 != nil {
		return q.Ed25519
	}
	return q.RSA
}

// The widest networks that may be on the whitelist of a key with canWithdraw, as prefix lengths: 2^24 addresses
// for IPv4.
const (
	minWithdrawBits4 = 8
	minWithdrawBits6 = 16
)

// MaxWhitelist bounds the IPs and CIDRs of one key (docs/contract/accounts.md#api-keys).
const MaxWhitelist = 20

// Check refuses a key that Draw has not made of a request that Check passes.
func (q *NewKey) Check() *refuse.Refusal {
	if !wellFormed(q.PublicKey, PublicKeyLength) {
		return refuse.Param("publicKey", "publicKey must be %d letters and digits.", PublicKeyLength)
	}
	if q.Ed25519 != nil && (len(q.Ed25519) != ed25519.PublicKeySize || !q.Secret.Empty()) {
		return refuse.Param("ed25519PublicKey", "ed25519PublicKey must be %d bytes in place of a secret.",
			ed25519.PublicKeySize)
	}
	if q.RSA != nil {
		if err := q.checkRSA(); err != nil {
			return refuse.Param("rsaPublicKey", "rsaPublicKey %s.", err)
		}
	}
	if secret := q.Secret.Reveal(); q.public() == nil && !wellFormed(secret, PrivateKeyLength) && !seal.Sealed(secret) {
		return refuse.Param("", "The secret of the key must be %d letters and digits.", PrivateKeyLength)
	}
	return q.KeyRequest.Check()
}

func (q *NewKey) checkRSA() error {
	if q.Ed25519 != nil || !q.Secret.Empty() {
		return errors.New("must be in place of a secret and of ed25519PublicKey")
	}
	_, err := rsaKey(q.RSA)
	return err
}

// Check refuses a key whose networks are wrong, by any maker. It does not check the name.
func (q *KeyRequest) Check() *refuse.Refusal {
	if sealedList(q.IPWhitelist) {
		return nil // it was checked before it was sealed
	}
	if len(q.IPWhitelist) > MaxWhitelist {
		return refuse.Param("ipWhitelist", "ipWhitelist may have at most %d entries.", MaxWhitelist)
	}
	for i, text := range q.IPWhitelist {
		if _, ok := ParseNetwork(text); !ok {
			field := fmt.Sprintf("ipWhitelist[%d]", i)
			return refuse.Param(field, "%s must be an IP address or a CIDR.", field)
		}
	}
	return q.checkWithdraw()
}

// CheckExpiry refuses a key that has expired before it is made.
func (q *KeyRequest) CheckExpiry(nowNs int64) *refuse.Refusal {
	if q.ExpiresNs != 0 && q.ExpiresNs <= nowNs {
		return refuse.Param("expiresAt", "expiresAt must be in the future.")
	}
	return nil
}

// checkWithdraw refuses canWithdraw where nothing bounds the addresses that may use the key.
func (q *KeyRequest) checkWithdraw() *refuse.Refusal {
	if !q.CanWithdraw {
		return nil
	}
	if len(q.IPWhitelist) == 0 {
		return refuse.Param("canWithdraw", "canWithdraw needs a non-empty ipWhitelist.")
	}
	for i, p := range networks(q.IPWhitelist) {
		minBits := minWithdrawBits6
		if p.Addr().Is4() {
			minBits = minWithdrawBits4
		}
		if p.Bits() < minBits {
			field := fmt.Sprintf("ipWhitelist[%d]", i)
			return refuse.Param(field, "%s is too wide for canWithdraw: its prefix must have at least %d bits.", field,
				minBits)
		}
	}
	return nil
}

// MayManage refuses a key that may neither make keys nor delete other keys.
func (k *Key) MayManage() *refuse.Refusal {
	if k.rec.CanManageKeys && k.rec.CanTrade {
		return nil
	}
	return refuse.New(refuse.Forbidden, "canManageKeys",
		"This key may not make keys or delete others: that needs canManageKeys and canTrade.")
}

// MayEnd reports whether a key that manages keys may delete another key of its user: a key that another key made
// deletes what is below it, a key of the operator every key.
func (r *Roster) MayEnd(by, other *Key) bool {
	if by.rec.CreatedBy == "" {
		return true
	}
	for k := other; k != nil && k.rec.CreatedBy != ""; k = r.Find(k.rec.CreatedBy) {
		if k.rec.CreatedBy == by.rec.PublicKey {
			return true
		}
	}
	return false
}

// MayMake refuses a new key that could do something that k, the key that makes it, cannot do, except for the addresses
// (Keys.MayMake), which may be sealed here. k may manage keys, so it has canTrade and canManageKeys. Keys never change,
// so the rule holds permanently.
func (k *Key) MayMake(q *KeyRequest) *refuse.Refusal {
	switch {
	case q.CanWithdraw && !k.rec.CanWithdraw:
		return refuse.New(refuse.Forbidden, "canWithdraw",
			"The new key may not have canWithdraw: the key that makes it has not.")
	case k.rec.ExpiresNs != 0 && (q.ExpiresNs == 0 || q.ExpiresNs > k.rec.ExpiresNs):
		return refuse.New(refuse.Forbidden, "expiresAt",
			"expiresAt must be given and not be after the expiry of the key that makes the new one.")
	}
	return nil
}

// covers reports whether the key may be used from every address of a list of networks. An empty list means
// every address.
func (k *Key) covers(list []netip.Prefix) bool {
	if len(k.allowed) == 0 {
		return true
	}
	for _, inner := range list {
		if !slices.ContainsFunc(k.allowed, func(outer netip.Prefix) bool {
			return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
		}) {
			return false
		}
	}
	return len(list) > 0
}

// RevokeKey returns the keys of a user without one key and without all keys that this one made, directly or not. It
// calls removed for each of those. A key comes after the key that made it (CheckTree), so one pass is enough.
func RevokeKey(keys []*Key, publicKey string, removed func(*Key)) []*Key {
	ended := map[string]bool{publicKey: true}
	return slices.DeleteFunc(slices.Clone(keys), func(k *Key) bool {
		if !ended[k.rec.PublicKey] && (k.rec.CreatedBy == "" || !ended[k.rec.CreatedBy]) {
			return false
		}
		ended[k.rec.PublicKey] = true
		removed(k)
		return true
	})
}

// CheckTree reports a key of a user that comes before the key that made it.
func CheckTree(keys []*Key) error {
	seen := map[string]bool{"": true}
	for _, k := range keys {
		if !seen[k.rec.CreatedBy] {
			return fmt.Errorf("key %s was made by %s, which is not before it", k.rec.PublicKey, k.rec.CreatedBy)
		}
		seen[k.rec.PublicKey] = true
	}
	return nil
}
