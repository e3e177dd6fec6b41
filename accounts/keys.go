package accounts

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"tickhive/internal/refuse"
)

// The lengths of a key pair, in alphanumerics (docs/contract/accounts.md#api-keys).
const (
	PublicKeyLength  = 38
	PrivateKeyLength = 64
)

// apiKey is one key that is not deleted. It is immutable except for lastUsed and nonces. Apply
// removes a deleted key from the index before it returns.
type apiKey struct {
	rec      KeyRecord
	user     uint32
	id       uuid.UUID // the user's
	no       uint64    // number in this process: chooses the shard of the nonce table
	nonces   *nonceSet // a pointer, so that the table retains no private key of a deleted key
	allowed  []netip.Prefix
	mac      *macStates
	lastUsed atomic.Int64 // Unix ns, 0: not since the start; memory only
}

// String never shows the private key.
func (k *apiKey) String() string { return "key " + k.rec.PublicKey }

func (k *apiKey) active(nowNs int64) bool { return k.rec.ExpiresNs == 0 || nowNs < k.rec.ExpiresNs }

// KeyIndex finds keys by their public key without a lock: each shard is an immutable map that
// Apply replaces. Any goroutine may read it.
type KeyIndex struct {
	shards [keyShards]atomic.Pointer[map[string]*apiKey]
	next   uint64
}

const keyShards = 4096 // one change copies a 4096th of the keys

func newKeyIndex() *KeyIndex {
	x := &KeyIndex{}
	empty := map[string]*apiKey{}
	for i := range x.shards {
		x.shards[i].Store(&empty)
	}
	return x
}

func shardOf[T string | []byte](publicKey T) int {
	h := uint32(2166136261)
	for i := range len(publicKey) {
		h = (h ^ uint32(publicKey[i])) * 16777619
	}
	return int((h ^ h>>15) % keyShards)
}

func (x *KeyIndex) find(publicKey []byte) *apiKey {
	return (*x.shards[shardOf(publicKey)].Load())[string(publicKey)]
}

func (x *KeyIndex) findText(publicKey string) *apiKey {
	return (*x.shards[shardOf(publicKey)].Load())[publicKey]
}

func (x *KeyIndex) change(publicKey string, k *apiKey) {
	shard := &x.shards[shardOf(publicKey)]
	old := *shard.Load()
	next := make(map[string]*apiKey, len(old)+1)
	for name, key := range old {
		next[name] = key
	}
	if k == nil {
		delete(next, publicKey)
	} else {
		next[publicKey] = k
	}
	shard.Store(&next)
}

// newKey makes an apiKey from its record.
func (x *KeyIndex) newKey(user uint32, rec KeyRecord) *apiKey {
	x.next++
	k := &apiKey{rec: rec, user: user, id: UserID(user), no: x.next, nonces: &nonceSet{}, mac: newMACStates(rec.Secret.Reveal())}
	for _, text := range rec.IPWhitelist {
		p, ok := parsePrefix(text)
		if !ok {
			panic("BUG: accounts: whitelist entry of a stored key does not parse")
		}
		k.allowed = append(k.allowed, p)
	}
	return k
}

// parsePrefix parses an IP address or a CIDR.
func parsePrefix(text string) (netip.Prefix, bool) {
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

// allows reports whether the key may be used from an address.
func (k *apiKey) allows(remote netip.Addr) bool {
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

func (s *State) planCreateKey(nowNs int64, cmd *Command, rec *Record) *refuse.Refusal {
	req := &cmd.Key
	if !plainText(req.Name, 1, MaxKeyName) {
		return invalid("name", "name must be 1 to %d characters without control characters.", MaxKeyName)
	}
	if len(req.IPWhitelist) > MaxWhitelist {
		return invalid("ipWhitelist", "ipWhitelist may have at most %d entries.", MaxWhitelist)
	}
	for i, text := range req.IPWhitelist {
		if _, ok := parsePrefix(text); !ok {
			field := fmt.Sprintf("ipWhitelist[%d]", i)
			return invalid(field, "%s must be an IP address or a CIDR.", field)
		}
	}
	if req.CanWithdraw && len(req.IPWhitelist) == 0 {
		return invalid("canWithdraw", "canWithdraw needs a non-empty ipWhitelist.")
	}
	if req.ExpiresNs != 0 && req.ExpiresNs <= nowNs {
		return invalid("expiresAt", "expiresAt must be in the future.")
	}
	if len(s.must(cmd.User).keys) >= MaxKeysPerUser {
		return conflict("", "A user may have at most %d API keys.", MaxKeysPerUser)
	}
	public, err := randomText(s.opts.Random, PublicKeyLength)
	if err == nil && s.keys.findText(public) != nil {
		return conflict("", "The new key exists already; try again.")
	}
	private, err2 := randomText(s.opts.Random, PrivateKeyLength)
	if err != nil || err2 != nil {
		return &refuse.Refusal{Code: refuse.Unavailable, Message: "No random bytes for a new key."}
	}
	rec.Key = KeyRecord{
		PublicKey: public, Secret: NewSecret(private), Name: req.Name, CanTrade: req.CanTrade,
		CanWithdraw: req.CanWithdraw, IPWhitelist: slices.Clone(req.IPWhitelist), CreatedNs: nowNs, ExpiresNs: req.ExpiresNs,
	}
	return nil
}

func (s *State) applyCreateKey(rec *Record) APIKeyView {
	k := s.keys.newKey(rec.User, rec.Key)
	u := s.must(rec.User)
	u.keys = append(u.keys, k)
	s.keys.change(rec.Key.PublicKey, k)
	return k.view(rec.TimeNs)
}

func (s *State) planDeleteKey(cmd *Command, rec *Record) *refuse.Refusal {
	k := s.keys.findText(cmd.PublicKey)
	if k == nil || k.user != cmd.User {
		return notFound("publicKey", "There is no such key.")
	}
	rec.PublicKey = cmd.PublicKey
	return nil
}

func (s *State) applyDeleteKey(rec *Record) {
	u := s.must(rec.User)
	k := s.keys.findText(rec.PublicKey)
	u.keys = slices.DeleteFunc(u.keys, func(other *apiKey) bool { return other == k })
	s.keys.change(rec.PublicKey, nil)
	if s.onKeyDeleted != nil && k != nil {
		s.onKeyDeleted(k.no)
	}
}

// APIKeyView is a list item of GET /api/apikeys.
type APIKeyView struct {
	PublicKey   string
	Name        string
	CanTrade    bool
	CanWithdraw bool
	IPWhitelist []string // never nil
	CreatedNs   int64    // dateCreated
	ExpiresNs   int64    // expiresAt; 0: null
	LastUsedNs  int64    // lastUsedAt; 0: null (not since the start of the process)
	IsActive    bool
}

func (k *apiKey) view(nowNs int64) APIKeyView {
	return APIKeyView{
		PublicKey: k.rec.PublicKey, Name: k.rec.Name, CanTrade: k.rec.CanTrade, CanWithdraw: k.rec.CanWithdraw,
		IPWhitelist: append([]string{}, k.rec.IPWhitelist...), CreatedNs: k.rec.CreatedNs, ExpiresNs: k.rec.ExpiresNs,
		LastUsedNs: k.lastUsed.Load(), IsActive: k.active(nowNs),
	}
}

// Keys returns the keys of a user, by public key, without their secrets.
func (v *View) Keys(n uint32, nowNs int64) []APIKeyView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := []APIKeyView{}
	if u := v.s.user(n); u != nil {
		for _, k := range u.keys {
			out = append(out, k.view(nowNs))
		}
	}
	slices.SortFunc(out, func(a, b APIKeyView) int { return bytes.Compare([]byte(a.PublicKey), []byte(b.PublicKey)) })
	return out
}
