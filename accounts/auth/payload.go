package auth

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/netip"

	"github.com/tickhive/tickhive/internal/refuse"
)

// Payload is a request that signs its parameters as one text, as programs for other exchanges do
// (docs/contract/binance.md#signed-requests). Verify retains none of its slices.
type Payload struct {
	Text      []byte // the signed text; without control characters, so that it is no text of the default scheme
	PublicKey []byte
	Signature []byte // HMAC: 64 hex digits; Ed25519 and RSA: base64
	Stamp
	Remote netip.Addr
	Reads  bool // the request changes nothing, so a key without canTrade may send it
}

// AheadMs bounds the time by which a timestamp may be ahead of the clock, whatever the window, which looks back only.
// So a start knows which timestamps an earlier process can have accepted.
const AheadMs = 1000

// Stamp is the time at which a request was sent, by its sender's clock, and how long it counts. The sender's unit is
// the unit of the comparison.
type Stamp struct {
	Sent, Window int64 // in units
	UnitNs       int64
}

// In reports whether the stamp is within its window at the time nowNs.
func (s Stamp) In(nowNs int64) bool { return !s.ahead(nowNs) && nowNs/s.UnitNs-s.Sent <= s.Window }

// ahead compares in milliseconds, as a start does with the timestamps before it.
func (s Stamp) ahead(nowNs int64) bool { return s.ms() >= nowNs/msNs+AheadMs }

// ms returns the time in whole milliseconds.
func (s Stamp) ms() int64 { return s.Sent / (msNs / s.UnitNs) }

// Out says on which side of its window the stamp is.
func (s Stamp) Out(nowNs int64) string {
	if s.ahead(nowNs) {
		return fmt.Sprintf("Timestamp for this request was %dms ahead of the server's time.", AheadMs)
	}
	return "Timestamp for this request is outside of the recvWindow."
}

// VerifyPayload checks a request at nowNs. A signature counts for as long as its timestamp is within the window,
// as often as it is sent: the scheme has no nonce. No signature counts that an earlier process may have accepted. The
// field of a refusal names what is wrong: timestamp, signature, or the key for everything that the key does not permit.
func (v *Verifier) VerifyPayload(nowNs int64, p *Payload) (Principal, *refuse.Refusal) {
	if !p.In(nowNs) {
		return Principal{}, unauthorized("timestamp", "%s", p.Out(nowNs))
	}
	if first := v.notBeforeMs; p.ms() < first {
		return Principal{}, unauthorized("timestamp", "Timestamp for this request is before %d, so it may have been "+
			"accepted before the exchange was restarted. Send it again with a later one.", first)
	}
	key := v.keys.find(p.PublicKey)
	if key == nil {
		return Principal{}, unauthorized("key", "The API key is unknown.")
	}
	if reject := key.shut(); reject != nil {
		return Principal{}, reject
	}
	if !v.payloadMatches(key, p) {
		return Principal{}, unauthorized("signature", "The signature does not match.")
	}
	if key.rec.public() != nil && p.ms() < key.rec.CreatedNs/msNs {
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
// function matches: the time of an answer must not tell of which kind a key is.
func (v *Verifier) payloadMatches(key *Key, p *Payload) bool {
	if bytes.ContainsFunc(p.Text, func(r rune) bool { return r < ' ' }) {
		return false
	}
	if len(p.Signature) == hmacHex {
		states := key.mac
		if states == nil {
			states = v.unknown.mac
		}
		m := v.scratch.Get().(*macScratch)
		defer v.scratch.Put(m)
		return m.equal(states, bytes.ToLower(p.Signature), p.Text, nil, nil) && key.mac != nil
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(string(p.Signature))
	if err != nil || !publicSignature(len(signature)) ||
		len(p.Signature) != base64.StdEncoding.EncodedLen(len(signature)) { // the decoder skips line ends
		return false
	}
	return v.verifies(key, p.Text, signature)
}
