package auth

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/netip"

	"tickhive/internal/refuse"
)

// Payload is a request that signs its parameters as one text, as programs for other exchanges do
// (docs/contract/binance.md#signed-requests). Verify retains none of its slices.
type Payload struct {
	Text        []byte // the signed text; without control characters, so that it is no text of the default scheme
	PublicKey   []byte
	Signature   []byte // HMAC: 64 hex digits; Ed25519: base64
	TimestampMs int64
	WindowMs    int64
	Remote      netip.Addr
	Reads       bool // the request changes nothing, so a key without canTrade may send it
}

// AheadMs bounds the time by which a timestamp may be ahead of the clock, whatever the window, which looks back only.
// So a start knows which timestamps an earlier process can have accepted.
const AheadMs = 1000

// InWindow reports whether a timestamp is within the window of the time nowNs.
func InWindow(nowNs, timestampMs, windowMs int64) bool {
	nowMs := nowNs / msNs
	return timestampMs < nowMs+AheadMs && nowMs-timestampMs <= windowMs
}

// OutOfWindow says on which side of its window a timestamp is.
func OutOfWindow(nowNs, timestampMs int64) string {
	if timestampMs >= nowNs/msNs+AheadMs {
		return fmt.Sprintf("Timestamp for this request was %dms ahead of the server's time.", AheadMs)
	}
	return "Timestamp for this request is outside of the recvWindow."
}

// VerifyPayload checks a request at nowNs. A signature counts for as long as its timestamp is within the window,
// as often as it is sent: the scheme has no nonce. No signature counts that an earlier process may have accepted. The
// field of a refusal names what is wrong: timestamp, signature, or the key for everything that the key does not permit.
func (v *Verifier) VerifyPayload(nowNs int64, p *Payload) (Principal, *refuse.Refusal) {
	if !InWindow(nowNs, p.TimestampMs, p.WindowMs) {
		return Principal{}, unauthorized("timestamp", "%s", OutOfWindow(nowNs, p.TimestampMs))
	}
	if first := v.notBeforeMs; p.TimestampMs < first {
		return Principal{}, unauthorized("timestamp", "Timestamp for this request is before %d, so it may have been "+
			"accepted before the exchange was restarted. Send it again with a later one.", first)
	}
	if key := v.keys.find(p.PublicKey); key != nil {
		if reject := key.shut(); reject != nil {
			return Principal{}, reject
		}
	}
	if !v.payloadMatches(p) {
		return Principal{}, unauthorized("signature", "The API key is unknown or the signature does not match.")
	}
	key := v.keys.find(p.PublicKey)
	if key == nil { // removed just now
		return Principal{}, unauthorized("signature", "The API key is unknown or the signature does not match.")
	}
	if key.rec.Ed25519 != nil && p.TimestampMs < key.rec.CreatedNs/msNs {
		return Principal{}, unauthorized("timestamp", "Timestamp for this request is before the API key was created.")
	}
	r := Request{Method: "POST", Remote: p.Remote}
	if p.Reads {
		r.Method = "GET"
	}
	who, reject := key.authorize(nowNs, &r)
	if reject != nil {
		reject.Field = "key"
	}
	return who, reject
}

// Identify returns the principal of a key that signs nothing: of a request that Binance's interface leaves unsigned,
// or of a connection that was signed for before. The key must be active and usable from the address.
func (v *Verifier) Identify(nowNs int64, publicKey []byte, remote netip.Addr) (Principal, *refuse.Refusal) {
	key := v.keys.find(publicKey)
	if key == nil || !key.Active(nowNs) || !key.allows(remote) {
		return Principal{}, unauthorized("key", "The API key is unknown or expired, or not for this address.")
	}
	return key.principal(), nil
}

// payloadMatches reports whether the key made the signature. The cost depends on the signature's form alone, as in the
// function matches: the time of an answer must not tell whether a key exists, so an unknown key is checked too.
func (v *Verifier) payloadMatches(p *Payload) bool {
	if bytes.ContainsFunc(p.Text, func(r rune) bool { return r < ' ' }) {
		return false
	}
	key, known := v.lookup(p.PublicKey)
	if len(p.Signature) == hmacHex {
		states := key.mac
		if states == nil {
			known, states = false, v.unknown.mac
		}
		m := v.scratch.Get().(*macScratch)
		defer v.scratch.Put(m)
		return m.equal(states, bytes.ToLower(p.Signature), p.Text, nil, nil) && known
	}
	public := ed25519.PublicKey(key.rec.Ed25519)
	if public == nil {
		known, public = false, v.unknown.rec.Ed25519
	}
	if len(p.Signature) != base64.StdEncoding.EncodedLen(ed25519.SignatureSize) {
		return false // the decoder skips line ends
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(string(p.Signature))
	return err == nil && len(signature) == ed25519.SignatureSize && ed25519.Verify(public, p.Text, signature) && known
}
