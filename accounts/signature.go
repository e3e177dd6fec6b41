package accounts

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"iter"
	"math"
	"net/netip"
	"sync"

	"github.com/google/uuid"

	"tickhive/internal/refuse"
)

// The limits of the default scheme (docs/contract/signing.md#signature).
const (
	DefaultWindowMs = 5_000
	MaxWindowMs     = 60_000
	MaxNonceLength  = 64
	maxPublicKey    = 64
	timestampDigits = 13
)

// Request holds the parts of an HTTP request that are signed or checked. Verify retains none of
// its slices. A header that was not sent is nil.
type Request struct {
	Method string // in capitals
	Target []byte // the request target as sent, undecoded
	Body   []byte

	PublicKey  []byte // API-PublicKey
	Timestamp  []byte // API-Timestamp
	Nonce      []byte // API-Nonce
	Signature  []byte // API-Signature
	RecvWindow []byte // API-RecvWindow

	// Cancel: the request only cancels orders, so it may use CancelNonces.
	Cancel bool

	Remote  netip.Addr // the client
	FullURL []byte     // legacy scheme only: auth.public_url, else http:// + Host, + Target
}

// Caller is the authenticated principal of a request: the user and the key.
type Caller struct {
	User        uint32
	ID          uuid.UUID
	Key         uint64 // the key's number in this process (State.OnKeyDeleted)
	PublicKey   string
	ExpiresNs   int64 // of the key; 0: never
	CanTrade    bool
	CanWithdraw bool
}

// VerifierOptions configure signature checking.
type VerifierOptions struct {
	// Legacy also accepts the scheme without timestamp and nonce (auth.legacy).
	Legacy bool
	// NotBeforeMs refuses older timestamps. It is the start of the process where the data
	// directory was used before, because earlier nonces are lost, or a later time that the
	// clock had reached before it went back. 0: no limit.
	NotBeforeMs int64
	// Used yields the nonces that an earlier process accepted with timestamps that NotBeforeMs
	// does not refuse, in the order of their use. UsedNs is the current time.
	Used   iter.Seq[UsedNonce]
	UsedNs int64
	// MaxNonces limits the retained nonces of all keys together. 0: the constant MaxNonces.
	MaxNonces int
	// Keep stores a nonce before its request is admitted, so that a later process can refuse it. A
	// write whose nonce cannot be stored is refused with 503. Nil: nonces end with the process.
	Keep func(nowMs, timestampMs int64, publicKey string, nonce []byte) error
}

// UsedNonce is a nonce that a key has used with a timestamp. Without a Nonce, it says that
// the key's requests of older timestamps are refused.
type UsedNonce struct {
	PublicKey, Nonce string
	TimestampMs      int64
}

// Verifier checks signed requests against the keys of a State. Any goroutine.
type Verifier struct {
	keys    *KeyIndex
	opts    VerifierOptions
	nonces  *nonceTable
	unknown *apiKey // used for a key that does not exist, so that both cases cost the same
	scratch sync.Pool
}

// NewVerifier returns a Verifier that checks against the current keys of s at each call.
func NewVerifier(s *State, opts VerifierOptions) *Verifier {
	v := &Verifier{
		keys: s.keys, opts: opts, nonces: newNonceTable(cmp.Or(opts.MaxNonces, MaxNonces)),
		unknown: &apiKey{mac: newMACStates(alphanumerics)},
		scratch: sync.Pool{New: func() any { return &macScratch{digest: sha256.New()} }},
	}
	if opts.Used == nil {
		return v
	}
	for u := range opts.Used {
		if key := v.keys.findText(u.PublicKey); key != nil {
			v.nonces.recall(opts.UsedNs/msNs, key, &u)
		}
	}
	return v
}

// FloorMs returns the timestamp before which the requests of a key are refused whatever their
// nonces, so older nonces need not be stored. It returns math.MaxInt64 for an unknown key.
func (v *Verifier) FloorMs(publicKey []byte) int64 {
	if key := v.keys.find(publicKey); key != nil {
		return v.nonces.floorMs(key)
	}
	return math.MaxInt64
}

// Verify checks one request at nowNs, in the order of docs/contract/signing.md#checks: headers,
// time, signature, nonce, expiry (401), address, permission (403). A key that has used up its
// nonces is 429. An unknown key and a bad signature are indistinguishable, both by the answer
// and by its duration.
func (v *Verifier) Verify(nowNs int64, r *Request) (Caller, *refuse.Refusal) {
	if v.opts.Legacy && r.Timestamp == nil && r.Nonce == nil {
		return v.verifyLegacy(nowNs, r)
	}
	if reject := checkHeaders(r); reject != nil {
		return Caller{}, reject
	}
	if reject := v.checkTime(nowNs/msNs, r); reject != nil {
		return Caller{}, reject
	}
	m := v.scratch.Get().(*macScratch)
	key, known := v.lookup(r.PublicKey)
	mac := m.mac(key.mac, m.canonical(r), nil, nil)
	equal := subtle.ConstantTimeCompare(mac, r.Signature) == 1
	v.scratch.Put(m)
	if !equal || !known {
		return Caller{}, badSignature()
	}
	if reject := v.nonces.use(nowNs/msNs, key, parseDigits(r.Timestamp), r.Nonce, r.Cancel); reject != nil {
		return Caller{}, reject
	}
	if reject := v.keep(nowNs/msNs, key, r); reject != nil {
		return Caller{}, reject
	}
	return key.admit(nowNs, r)
}

// keep stores a nonce for a later process. A read whose nonce cannot be stored is still
// answered, because replaying it changes nothing.
func (v *Verifier) keep(nowMs int64, key *apiKey, r *Request) *refuse.Refusal {
	if v.opts.Keep == nil {
		return nil
	}
	err := v.opts.Keep(nowMs, parseDigits(r.Timestamp), key.rec.PublicKey, r.Nonce)
	if err == nil || r.Method == "GET" || r.Method == "HEAD" {
		return nil
	}
	return &refuse.Refusal{Code: refuse.Unavailable, Message: "The nonce cannot be kept at the moment; nothing was changed."}
}

func (v *Verifier) lookup(publicKey []byte) (key *apiKey, known bool) {
	if key = v.keys.find(publicKey); key == nil {
		return v.unknown, false
	}
	return key, true
}

// admit runs the checks after the signature: expiry, address and permission.
func (k *apiKey) admit(nowNs int64, r *Request) (Caller, *refuse.Refusal) {
	if !k.active(nowNs) {
		return Caller{}, unauthorized("API-PublicKey", "The API key has expired.")
	}
	if !k.allows(r.Remote) {
		return Caller{}, forbidden("", "The API key may not be used from this address.")
	}
	if !k.rec.CanTrade && r.Method != "GET" && r.Method != "HEAD" {
		return Caller{}, forbidden("", "An API key without canTrade may only GET.")
	}
	k.lastUsed.Store(nowNs)
	return Caller{
		User: k.user, ID: k.id, Key: k.no, PublicKey: k.rec.PublicKey, ExpiresNs: k.rec.ExpiresNs,
		CanTrade: k.rec.CanTrade, CanWithdraw: k.rec.CanWithdraw,
	}, nil
}

func badSignature() *refuse.Refusal {
	return unauthorized("API-Signature", "The API key is unknown or the signature does not match.")
}

func checkHeaders(r *Request) *refuse.Refusal {
	if reject := checkPublicKey(r); reject != nil {
		return reject
	}
	if len(r.Timestamp) != timestampDigits || !digits(r.Timestamp) {
		return unauthorized("API-Timestamp", "API-Timestamp must be the Unix time in milliseconds, 13 digits.")
	}
	if !nonceText(r.Nonce) {
		return unauthorized("API-Nonce", "API-Nonce must be 1 to %d of A-Z a-z 0-9 _ -.", MaxNonceLength)
	}
	if reject := checkSignature(r); reject != nil {
		return reject
	}
	if _, ok := windowOf(r.RecvWindow); !ok {
		return unauthorized("API-RecvWindow", "API-RecvWindow must be 1 to %d milliseconds.", MaxWindowMs)
	}
	return nil
}

func checkPublicKey(r *Request) *refuse.Refusal {
	if len(r.PublicKey) == 0 || len(r.PublicKey) > maxPublicKey || !alphanumeric(r.PublicKey) {
		return unauthorized("API-PublicKey", "API-PublicKey must name an API key.")
	}
	return nil
}

func checkSignature(r *Request) *refuse.Refusal {
	if len(r.Signature) != 64 || !lowerHex(r.Signature) {
		return unauthorized("API-Signature", "API-Signature must be 64 lower-case hex digits.")
	}
	return nil
}

// checkTime refuses a timestamp outside the window (bounds included) or before NotBeforeMs.
func (v *Verifier) checkTime(nowMs int64, r *Request) *refuse.Refusal {
	sent := parseDigits(r.Timestamp)
	window, _ := windowOf(r.RecvWindow)
	if diff := sent - nowMs; diff > window || diff < -window || sent < v.opts.NotBeforeMs {
		what := fmt.Sprintf("more than %d ms from the server's time", window)
		if diff <= window && diff >= -window {
			what = "from before the server's start"
		}
		if sent < v.opts.NotBeforeMs && nowMs < v.opts.NotBeforeMs {
			what = fmt.Sprintf("from before %d, which the server's clock had reached before it went back to", v.opts.NotBeforeMs)
		}
		return unauthorized("API-Timestamp", "API-Timestamp is %s %d: it differs by %d ms.", what, nowMs, diff)
	}
	return nil
}

func windowOf(header []byte) (int64, bool) {
	if header == nil {
		return DefaultWindowMs, true
	}
	if len(header) == 0 || len(header) > 5 || !digits(header) {
		return 0, false
	}
	w := parseDigits(header)
	return w, w >= 1 && w <= MaxWindowMs
}

func parseDigits(b []byte) (v int64) {
	for _, c := range b {
		v = v*10 + int64(c-'0')
	}
	return v
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func lowerHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func alphanumeric(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

func nonceText(b []byte) bool {
	if len(b) == 0 || len(b) > MaxNonceLength {
		return false
	}
	for _, c := range b {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
