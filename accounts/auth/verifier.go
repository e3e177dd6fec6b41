package auth

import (
	"cmp"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/internal/refuse"
)

const msNs = 1_000_000

// Principal is the authenticated principal of a request: the user and the key.
type Principal struct {
	User        uint32
	ID          uuid.UUID
	Key         uint64 // number of the key in this process (Key.Number)
	PublicKey   string
	ExpiresNs   int64 // end of the key's validity, Unix ns; 0: never
	CanTrade    bool
	CanWithdraw bool
}

// Options configures a Verifier.
type Options struct {
	// Legacy also accepts the scheme without timestamp and nonce (auth.legacy).
	Legacy bool
	// MaxNonces limits the retained nonces of all keys together. 0: the constant MaxNonces.
	MaxNonces int
}

// Verifier checks signed requests. Any goroutine may use it.
type Verifier struct {
	keys    *Keys
	opts    Options
	nonces  *nonceTable
	unknown *Key // takes the place of an unknown key, so that both cases cost the same

	notBeforeMs int64 // set by RefuseBefore
	scratch     sync.Pool
}

// NewVerifier returns a Verifier that checks against the current keys at each call.
func NewVerifier(keys *Keys, opts Options) *Verifier {
	return &Verifier{
		keys: keys, opts: opts, nonces: newNonceTable(cmp.Or(opts.MaxNonces, MaxNonces)),
		unknown: unknownKey(),
		scratch: sync.Pool{New: func() any { return newScratch() }},
	}
}

// RefuseBefore refuses timestamps before ms, Unix ms: a request with one may have been accepted by an earlier process,
// whose nonces are not known. It only raises the bound. Call it before requests are admitted.
func (v *Verifier) RefuseBefore(ms int64) { v.notBeforeMs = max(v.notBeforeMs, ms) }

// Verify checks one request at nowNs, in the order of docs/contract/signing.md#checks: headers, time,
// signature, nonce, expiry (401), address, permission (403). It answers 429 when the key has used up its
// nonces. Neither the answer nor its duration distinguishes an unknown key from a bad signature.
func (v *Verifier) Verify(nowNs int64, r *Request) (Principal, *refuse.Refusal) {
	if v.opts.Legacy && r.Timestamp == nil && r.Nonce == nil {
		return v.verifyLegacy(nowNs, r)
	}
	if reject := checkHeaders(r); reject != nil {
		return Principal{}, reject
	}
	if reject := v.checkTime(nowNs, r); reject != nil {
		return Principal{}, reject
	}
	m := v.scratch.Get().(*macScratch)
	key, known := v.lookup(r.PublicKey)
	if reject := key.shut(); reject != nil {
		v.scratch.Put(m)
		return Principal{}, reject
	}
	equal := v.matches(key, m, r)
	v.scratch.Put(m)
	if !equal || !known {
		return Principal{}, badSignature()
	}
	if reject := key.checkAge(r); reject != nil {
		return Principal{}, reject
	}
	if reject := v.nonces.use(nowNs/msNs, key, parseDigits(r.Timestamp), r.Nonce, r.Cancel); reject != nil {
		return Principal{}, reject
	}
	return key.authorize(nowNs, r)
}

// checkAge refuses a timestamp from before an Ed25519 or RSA key was created. The same public key may have
// been created and deleted before; the nonces of that key are forgotten.
func (k *Key) checkAge(r *Request) *refuse.Refusal {
	if created := k.rec.CreatedNs / msNs; k.rec.public() != nil && parseDigits(r.Timestamp) < created {
		return unauthorized("API-Timestamp", "API-Timestamp is from before the API key was created, at %d.", created)
	}
	return nil
}

func (v *Verifier) lookup(publicKey []byte) (key *Key, known bool) {
	if key = v.keys.find(publicKey); key == nil {
		return v.unknown, false
	}
	return key, true
}

// authorize makes the checks after the signature: expiry, address and permission.
func (k *Key) authorize(nowNs int64, r *Request) (Principal, *refuse.Refusal) {
	if !k.Active(nowNs) {
		return Principal{}, unauthorized("API-PublicKey", "The API key has expired.")
	}
	if !k.allows(r.Remote) {
		return Principal{}, forbidden("The API key may not be used from this address.")
	}
	if !k.rec.CanTrade && r.Method != "GET" && r.Method != "HEAD" && !r.DeletesOwnKey {
		return Principal{}, forbidden("An API key without canTrade may only GET, and delete itself.")
	}
	k.lastUsed.Store(nowNs)
	return k.principal(), nil
}

func (k *Key) principal() Principal {
	return Principal{
		User: k.user, ID: k.id, Key: k.number, PublicKey: k.rec.PublicKey, ExpiresNs: k.rec.ExpiresNs,
		CanTrade: k.rec.CanTrade, CanWithdraw: k.rec.CanWithdraw,
	}
}

// checkTime refuses a request whose timestamp is outside the request's API-RecvWindow, AheadMs or more ahead of the
// server's time, or too early for this process (RefuseBefore). checkHeaders has refused a malformed API-RecvWindow
// before.
func (v *Verifier) checkTime(nowNs int64, r *Request) *refuse.Refusal {
	sent, nowMs := parseDigits(r.Timestamp), nowNs/msNs
	window, _ := windowOf(r.RecvWindow)
	switch {
	case sent < v.notBeforeMs && nowMs < v.notBeforeMs:
		wait := v.notBeforeMs - nowMs
		return unauthorized("API-Timestamp", "A request with an API-Timestamp before %d may have been accepted "+
			"earlier, so it is refused; the server's time is %d. Repeat the request in %d ms.", v.notBeforeMs,
			nowMs, wait).After((wait + 999) / 1000)
	case sent >= nowMs+AheadMs:
		return unauthorized("API-Timestamp", "API-Timestamp may be less than %d ms ahead of the server's time %d: it "+
			"differs by %d ms.%s", AheadMs, nowMs, sent-nowMs, otherClock(sent-nowMs))
	case !(Stamp{sent, window, msNs}).In(nowNs):
		return unauthorized("API-Timestamp", "API-Timestamp is more than %d ms before the server's time %d: it "+
			"differs by %d ms.%s", window, nowMs, sent-nowMs, otherClock(sent-nowMs))
	case sent < v.notBeforeMs:
		return unauthorized("API-Timestamp", "API-Timestamp is from before the server's start: a request before %d "+
			"may have been accepted earlier. The server's time is %d: repeat the request with it.", v.notBeforeMs,
			nowMs).After(1)
	}
	return nil
}

// otherClock says what a difference of hours means.
func otherClock(differsMs int64) string {
	if max(differsMs, -differsMs) < time.Hour.Milliseconds() {
		return ""
	}
	return " A recording and a virtual clock have a time of their own: sign with that of /api/time."
}

func unauthorized(field, format string, args ...any) *refuse.Refusal {
	return refuse.New(refuse.Unauthorized, field, format, args...)
}

func forbidden(message string) *refuse.Refusal {
	return refuse.New(refuse.Forbidden, "", "%s", message)
}
