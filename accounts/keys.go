package accounts

import (
	"slices"
	"strings"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// Index returns the keys that verify requests, for an auth.Verifier.
func (v *Shown) Index() *auth.Keys { return v.keys }

// KeysMade returns the number of keys that this state has made, the deleted ones of its snapshot left out.
func (s *State) KeysMade() uint64 { return s.keys.Made() }

func (cmd *Command) checkCreateKey() *refuse.Refusal {
	if !seal.Sealed(cmd.Key.Name) && !plainText(cmd.Key.Name, 1, MaxKeyName) {
		return invalid("name", "name must be 1 to %d characters without control characters.", MaxKeyName)
	}
	if reject := cmd.Key.Check(); reject != nil {
		return reject
	}
	return cmd.checkSignedBy()
}

func (cmd *Command) checkSignedBy() *refuse.Refusal {
	if cmd.SignedBy != "" && !auth.WellFormed(cmd.SignedBy) {
		return signedByNone()
	}
	return nil
}

func signedByNone() *refuse.Refusal {
	return refuse.New(refuse.Unauthorized, "API-PublicKey", "The API key was deleted or has expired.")
}

func (s *State) createKey(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	key := &cmd.Key
	if reject := key.CheckExpiry(nowNs); reject != nil {
		return reject
	}
	u := s.dir.mustFind(cmd.User)
	if len(u.keys) >= MaxKeysPerUser {
		return conflict("", "A user may have at most %d API keys.", MaxKeysPerUser)
	}
	if cmd.SignedBy != "" {
		k, reject := s.manager(nowNs, cmd)
		if reject == nil {
			reject = k.MayMake(&key.KeyRequest)
		}
		if reject != nil {
			return reject
		}
	}
	if s.keys.Uses(&key.KeyRequest) {
		field := "ed25519PublicKey"
		if key.RSA != nil {
			field = "rsaPublicKey"
		}
		return conflict(field, "There is an API key with this %s; make a new key pair.", field)
	}
	if s.keys.Find(key.PublicKey) != nil {
		return conflict("", "The new key exists already; try again.")
	}
	rec := auth.KeyRecord{NewKey: *key, CreatedBy: cmd.SignedBy, CreatedNs: nowNs}
	rec.Ed25519, rec.RSA = slices.Clone(key.Ed25519), slices.Clone(key.RSA)
	rec.IPWhitelist = slices.Clone(key.IPWhitelist)
	p := s.dir.edit(u)
	k := s.keys.Add(p.n, p.id, rec)
	p.keys = append(p.keys, k)
	s.keyChanged(k, false)
	res.Key, res.Secret = keyView(k, nowNs), rec.Secret
	return nil
}

// manager returns the key that signed a command, when it may manage keys. Its request was verified
// earlier: meanwhile the key may have been deleted.
func (s *State) manager(nowNs int64, cmd *Command) (*auth.Key, *refuse.Refusal) {
	k := s.keys.Find(cmd.SignedBy)
	if k == nil || k.User() != cmd.User || !k.Active(nowNs) {
		return nil, signedByNone()
	}
	return k, k.MayManage()
}

func (cmd *Command) checkDeleteKey() *refuse.Refusal {
	if !auth.WellFormed(cmd.PublicKey) {
		return noKey()
	}
	return cmd.checkSignedBy()
}

func noKey() *refuse.Refusal { return notFound("publicKey", "There is no such key.") }

// deleteKey removes a key and every key below it.
func (s *State) deleteKey(nowNs int64, cmd *Command, _ *Result) *refuse.Refusal {
	other := cmd.SignedBy != "" && cmd.SignedBy != cmd.PublicKey
	var by *auth.Key
	if other {
		var reject *refuse.Refusal
		if by, reject = s.manager(nowNs, cmd); reject != nil {
			return reject
		}
	}
	k := s.keys.Find(cmd.PublicKey)
	if k == nil || k.User() != cmd.User {
		return noKey()
	}
	if other && !s.keys.MayEnd(by, k) {
		return forbidden("publicKey", "This key may only delete itself and the keys below it.")
	}
	p := s.dir.edit(s.dir.mustFind(cmd.User))
	p.keys = auth.RevokeKey(p.keys, cmd.PublicKey, func(k *auth.Key) {
		s.keys.Remove(k.Record().PublicKey)
		s.keyChanged(k, true)
	})
	return nil
}

// keyChanged reports a key that was made or deleted.
func (s *State) keyChanged(k *auth.Key, deleted bool) {
	if s.shown != nil {
		s.report.keys = append(s.report.keys, keyChange{k, deleted})
	}
}

// APIKeyView is a list item of GET /api/apikeys.
type APIKeyView struct {
	PublicKey     string
	Name          string
	CanTrade      bool
	CanWithdraw   bool
	CanManageKeys bool
	CreatedBy     string   // "": null, the operator
	Ed25519       []byte   // nil: null, another key
	RSA           []byte   // DER; nil: null, another key
	IPWhitelist   []string // never nil
	CreatedNs     int64    // dateCreated
	ExpiresNs     int64    // expiresAt; 0: null
	LastUsedNs    int64    // lastUsedAt; 0: null (not since the start of the process)
	IsActive      bool
}

func keyView(k *auth.Key, nowNs int64) APIKeyView {
	rec := k.Record()
	name, whitelist := k.Describe()
	return APIKeyView{
		PublicKey: rec.PublicKey, Name: name, CanTrade: rec.CanTrade, CanWithdraw: rec.CanWithdraw,
		CanManageKeys: rec.CanManageKeys, CreatedBy: rec.CreatedBy,
		Ed25519: slices.Clone(rec.Ed25519), RSA: slices.Clone(rec.RSA),
		IPWhitelist: append([]string{}, whitelist...), CreatedNs: rec.CreatedNs, ExpiresNs: rec.ExpiresNs,
		LastUsedNs: k.LastUsedNs(), IsActive: k.Active(nowNs),
	}
}

// Keys returns the keys of a user, by public key, without their secrets.
func (v *Shown) Keys(n uint32, nowNs int64) []APIKeyView {
	out := []APIKeyView{}
	if u := v.account(n); u != nil {
		for _, k := range u.keys {
			out = append(out, keyView(k, nowNs))
		}
	}
	slices.SortFunc(out, func(a, b APIKeyView) int { return strings.Compare(a.PublicKey, b.PublicKey) })
	return out
}
