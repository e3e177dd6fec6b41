package accounts

import (
	"slices"
	"strings"

	"tickhive/accounts/auth"
	"tickhive/internal/refuse"
)

// Index returns the keys that verify requests, for an auth.Verifier.
func (v *Shown) Index() *auth.Keys { return v.keys }

// KeysMade returns the number of keys that records have made, the deleted ones included. For the end of a recovery.
func (s *State) KeysMade() uint64 { return s.keys.Made() }

func (s *State) planCreateKey(cmd *Command, rec *Record) *refuse.Refusal {
	req := &cmd.Key
	if !plainText(req.Name, 1, MaxKeyName) {
		return invalid("name", "name must be 1 to %d characters without control characters.", MaxKeyName)
	}
	if reject := req.Check(rec.TimeNs); reject != nil {
		return reject
	}
	if len(s.dir.mustFind(cmd.User).keys) >= MaxKeysPerUser {
		return conflict("", "A user may have at most %d API keys.", MaxKeysPerUser)
	}
	if cmd.SignedBy != "" {
		k, reject := s.manager(cmd, rec.TimeNs)
		if reject == nil {
			reject = k.MayMake(req)
		}
		if reject != nil {
			return reject
		}
	}
	if s.keys.UsesEd25519(req.Ed25519) {
		return conflict("ed25519PublicKey", "There is an API key with this ed25519PublicKey; make a new key pair.")
	}
	public, private, err := auth.Generate(s.opts.Random)
	if err != nil {
		return refuse.New(refuse.Unavailable, "", "No random bytes for a new key.")
	}
	if s.keys.Find(public) != nil {
		return conflict("", "The new key exists already; try again.")
	}
	if req.Ed25519 != nil {
		private = auth.Secret{}
	}
	rec.Key = auth.KeyRecord{
		PublicKey: public, Secret: private, Ed25519: slices.Clone(req.Ed25519), Name: req.Name, CanTrade: req.CanTrade,
		CanWithdraw: req.CanWithdraw, IPWhitelist: slices.Clone(req.IPWhitelist), CreatedNs: rec.TimeNs,
		ExpiresNs: req.ExpiresNs, CanManageKeys: req.CanManageKeys, CreatedBy: cmd.SignedBy,
	}
	return nil
}

// manager returns the key that signed a command, when it may manage keys. Its request was verified
// earlier: meanwhile the key may have been deleted.
func (s *State) manager(cmd *Command, nowNs int64) (*auth.Key, *refuse.Refusal) {
	k := s.keys.Find(cmd.SignedBy)
	if k == nil || k.User() != cmd.User || !k.Active(nowNs) {
		return nil, refuse.New(refuse.Unauthorized, "API-PublicKey", "The API key was deleted or has expired.")
	}
	return k, k.MayManage()
}

func (s *State) applyCreateKey(rec *Record, res *Result) {
	p := s.dir.edit(s.dir.mustFind(rec.User))
	k := s.keys.Add(p.n, p.id, rec.Key)
	p.keys = append(p.keys, k)
	s.keyChanged(k, false)
	res.Key, res.Secret = keyView(k, rec.TimeNs), rec.Key.Secret
}

func (s *State) planDeleteKey(cmd *Command, rec *Record) *refuse.Refusal {
	other := cmd.SignedBy != "" && cmd.SignedBy != cmd.PublicKey
	var by *auth.Key
	if other {
		var reject *refuse.Refusal
		if by, reject = s.manager(cmd, rec.TimeNs); reject != nil {
			return reject
		}
	}
	k := s.keys.Find(cmd.PublicKey)
	if k == nil || k.User() != cmd.User {
		return notFound("publicKey", "There is no such key.")
	}
	if other && !s.keys.MayEnd(by, k) {
		return refuse.New(refuse.Forbidden, "publicKey", "This key may only delete itself and the keys below it.")
	}
	rec.PublicKey = cmd.PublicKey
	return nil
}

// applyDeleteKey removes a key and every key below it.
func (s *State) applyDeleteKey(rec *Record, _ *Result) {
	p := s.dir.edit(s.dir.mustFind(rec.User))
	p.keys = auth.WithoutTree(p.keys, rec.PublicKey, func(k *auth.Key) {
		s.keys.Remove(k.Record().PublicKey)
		s.keyChanged(k, true)
	})
}

// keyChanged reports a key that was made or deleted.
func (s *State) keyChanged(k *auth.Key, deleted bool) {
	if s.shown != nil {
		s.records.keys = append(s.records.keys, keyChange{k, deleted})
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
	Ed25519       []byte   // nil: null, an HMAC key
	IPWhitelist   []string // never nil
	CreatedNs     int64    // dateCreated
	ExpiresNs     int64    // expiresAt; 0: null
	LastUsedNs    int64    // lastUsedAt; 0: null (not since the start of the process)
	IsActive      bool
}

func keyView(k *auth.Key, nowNs int64) APIKeyView {
	rec := k.Record()
	return APIKeyView{
		PublicKey: rec.PublicKey, Name: rec.Name, CanTrade: rec.CanTrade, CanWithdraw: rec.CanWithdraw,
		CanManageKeys: rec.CanManageKeys, CreatedBy: rec.CreatedBy,
		Ed25519:     slices.Clone(rec.Ed25519),
		IPWhitelist: append([]string{}, rec.IPWhitelist...), CreatedNs: rec.CreatedNs, ExpiresNs: rec.ExpiresNs,
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
