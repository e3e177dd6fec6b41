package accounts

import (
	"slices"
	"strings"

	"tickhive/accounts/auth"
	"tickhive/internal/refuse"
)

// Keys returns the index of the keys, which auth.Verifier reads.
func (s *State) Keys() *auth.Keys { return s.keys }

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
	k := s.keys.New(rec.User, UserID(rec.User), rec.Key)
	u := s.dir.mustFind(rec.User)
	u.keys = append(u.keys, k)
	s.keys.Add(k)
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
	u := s.dir.mustFind(rec.User)
	u.keys = auth.WithoutTree(u.keys, rec.PublicKey, func(k *auth.Key) {
		s.keys.Remove(k.Record().PublicKey)
		if s.onKeyDeleted != nil {
			s.onKeyDeleted(k.Number())
		}
	})
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
func (v *View) Keys(n uint32, nowNs int64) []APIKeyView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := []APIKeyView{}
	if u := v.s.dir.user(n); u != nil {
		for _, k := range u.keys {
			out = append(out, keyView(k, nowNs))
		}
	}
	slices.SortFunc(out, func(a, b APIKeyView) int { return strings.Compare(a.PublicKey, b.PublicKey) })
	return out
}
