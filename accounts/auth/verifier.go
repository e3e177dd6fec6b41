package auth

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"

	"github.com/google/uuid"

	"tickhive/internal/refuse"
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
	// NotBeforeMs refuses older timestamps. In a used data directory it is the start of the process, because
	// earlier nonces are lost, a later time that the clock had reached before it went back, or the window beyond it
	// if nonces are missing. 0: no limit.
	NotBeforeMs int64
	// PayloadNotBeforeMs refuses payloads with older timestamps. They have no nonce that a start could read back, so
	// it is later than every timestamp that an earlier process can have accepted. 0: no limit.
	PayloadNotBeforeMs int64
	// Used yields the nonces that an earlier process accepted with timestamps from NotBeforeMs on, in the order
	// of their use. UsedNs is the current time.
	Used   iter.Seq[UsedNonce]
	UsedNs int64
	// MaxNonces limits the retained nonces of all keys together. 0: the constant MaxNonces.
	MaxNonces int
	// Keep stores a nonce before its request is admitted, so that a later process can refuse it. A
	// write whose nonce cannot be stored is refused with 503, or with the error if it is a
	// refusal. Nil: nonces end with the process.
	Keep func(nowMs, timestampMs int64, publicKey string, nonce []byte) error
}

// UsedNonce is a nonce that a key has used, with its timestamp. Without Nonce, it says that requests of the key
// with older timestamps are refused.
type UsedNonce struct {
	PublicKey, Nonce string
	TimestampMs      int64
}

// Verifier checks signed requests. Any goroutine may use it.
type Verifier struct {
	keys    *Keys
	opts    Options
	nonces  *nonceTable
	unknown *Key // takes the place of an unknown key, so that both cases cost the same
	scratch sync.Pool
}

// NewVerifier returns a Verifier that checks against the current keys at each call.
func NewVerifier(keys *Keys, opts Options) *Verifier {
	v := &Verifier{
		keys: keys, opts: opts, nonces: newNonceTable(cmp.Or(opts.MaxNonces, MaxNonces)),
		unknown: &Key{mac: newMACStates(alphanumerics), rec: KeyRecord{Ed25519: unknownEd25519()}},
		scratch: sync.Pool{New: func() any { return newScratch() }},
	}
	if opts.Used == nil {
		return v
	}
	for u := range opts.Used {
		if key := v.keys.Find(u.PublicKey); key != nil {
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
	if reject := v.checkTime(nowNs/msNs, r); reject != nil {
		return Principal{}, reject
	}
	m := v.scratch.Get().(*macScratch)
	key, known := v.lookup(r.PublicKey)
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
	if reject := v.storeNonce(nowNs/msNs, key, r); reject != nil {
		return Principal{}, reject
	}
	return key.authorize(nowNs, r)
}

// checkAge refuses a timestamp from before an Ed25519 key was created. The same public key may have
// been created and deleted before; the nonces of that key are forgotten.
func (k *Key) checkAge(r *Request) *refuse.Refusal {
	if created := k.rec.CreatedNs / msNs; k.rec.Ed25519 != nil && parseDigits(r.Timestamp) < created {
		return unauthorized("API-Timestamp", "API-Timestamp is from before the API key was created, at %d.", created)
	}
	return nil
}

// storeNonce stores a nonce for a later process. A read whose nonce cannot be stored is still
// answered, because replaying it changes nothing.
func (v *Verifier) storeNonce(nowMs int64, key *Key, r *Request) *refuse.Refusal {
	if v.opts.Keep == nil {
		return nil
	}
	err := v.opts.Keep(nowMs, parseDigits(r.Timestamp), key.rec.PublicKey, r.Nonce)
	if err == nil || r.Method == "GET" || r.Method == "HEAD" {
		return nil
	}
	var why *refuse.Refusal
	if errors.As(err, &why) {
		return why
	}
	return refuse.Unwritten("The file of used nonces", false)
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

// checkTime refuses a request whose timestamp is before NotBeforeMs, or differs from the server's time by more than the
// request's API-RecvWindow. checkHeaders has refused a malformed API-RecvWindow before.
func (v *Verifier) checkTime(nowMs int64, r *Request) *refuse.Refusal {
	sent := parseDigits(r.Timestamp)
	window, _ := windowOf(r.RecvWindow)
	if diff := sent - nowMs; diff > window || diff < -window || sent < v.opts.NotBeforeMs {
		what := fmt.Sprintf("more than %d ms from the server's time", window)
		if diff <= window && diff >= -window {
			what = "from before the server's start"
		}
		if sent < v.opts.NotBeforeMs && nowMs < v.opts.NotBeforeMs {
			return unauthorized("API-Timestamp", "A request with an API-Timestamp before %d may have been accepted "+
				"earlier, so it is refused; the server's time is %d. Repeat the request in %d ms.", v.opts.NotBeforeMs,
				nowMs, v.opts.NotBeforeMs-nowMs)
		}
		return unauthorized("API-Timestamp", "API-Timestamp is %s %d: it differs by %d ms.", what, nowMs, diff)
	}
	return nil
}

func unauthorized(field, format string, args ...any) *refuse.Refusal {
	return refuse.New(refuse.Unauthorized, field, format, args...)
}

func forbidden(message string) *refuse.Refusal {
	return refuse.New(refuse.Forbidden, "", "%s", message)
}
