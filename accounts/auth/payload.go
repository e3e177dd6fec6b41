package auth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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
	Reads       bool // the request changes nothing, so it may be repeated
	Cancel      bool // the request only cancels orders
}

// aheadMs is the time by which a payload's timestamp may be ahead of the clock.
const aheadMs = 1000

// InWindow reports whether a timestamp is within the window of the time nowNs.
func InWindow(nowNs, timestampMs, windowMs int64) bool {
	nowMs := nowNs / msNs
	return timestampMs < nowMs+aheadMs && nowMs-timestampMs <= windowMs
}

// VerifyPayload checks a request at nowNs. A request that changes something is refused when its key and signature
// were used before: the signature takes the place of the nonce. The field of a refusal names what is wrong:
// timestamp, signature, or the key for everything that the key does not permit.
func (v *Verifier) VerifyPayload(nowNs int64, p *Payload) (Principal, *refuse.Refusal) {
	if len(p.Signature) == hmacHex {
		p.Signature = bytes.ToLower(p.Signature) // a signature is its own nonce, so it has one spelling
	}
	nowMs := nowNs / msNs
	if !InWindow(nowNs, p.TimestampMs, p.WindowMs) || p.TimestampMs < v.opts.NotBeforeMs {
		return Principal{}, unauthorized("timestamp", "The timestamp is outside of the window.")
	}
	if !v.payloadMatches(p) {
		return Principal{}, unauthorized("signature", "The API key is unknown or the signature does not match.")
	}
	key := v.keys.find(p.PublicKey)
	if key == nil { // removed just now
		return Principal{}, unauthorized("signature", "The API key is unknown or the signature does not match.")
	}
	if key.rec.Ed25519 != nil && p.TimestampMs < key.rec.CreatedNs/msNs {
		return Principal{}, unauthorized("timestamp", "The timestamp is from before the API key was created.")
	}
	r := Request{Method: "GET", Remote: p.Remote}
	if !p.Reads {
		r.Method = "POST"
		sum := sha256.Sum256(p.Signature)
		nonce := hex.AppendEncode(nil, sum[:])
		if reject := v.nonces.use(nowMs, key, p.TimestampMs, nonce, p.Cancel); reject != nil {
			if reject.Code == refuse.Unauthorized {
				reject = unauthorized("signature", "The signature was used before.")
			}
			return Principal{}, reject
		}
		if v.opts.Keep != nil {
			if err := v.opts.Keep(nowMs, p.TimestampMs, key.rec.PublicKey, nonce); err != nil {
				return Principal{}, refuse.New(refuse.Unavailable, "",
					"The signature cannot be kept at the moment; nothing was changed.")
			}
		}
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

// payloadMatches reports whether the signature is by the key. As in matches, the cost depends on the form of the
// signature alone.
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
		return m.equal(states, p.Signature, p.Text, nil, nil) && known
	}
	public := ed25519.PublicKey(key.rec.Ed25519)
	if public == nil {
		known, public = false, v.unknown.rec.Ed25519
	}
	if len(p.Signature) != base64.StdEncoding.EncodedLen(ed25519.SignatureSize) {
		return false // the decoder skips line ends, which would be another spelling
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(string(p.Signature))
	return err == nil && len(signature) == ed25519.SignatureSize && ed25519.Verify(public, p.Text, signature) && known
}
