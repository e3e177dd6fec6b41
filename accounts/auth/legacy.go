package auth

import (
	"github.com/tickhive/tickhive/internal/refuse"
)

// verifyLegacy verifies a signature of the scheme without timestamp and nonce
// (docs/contract/signing.md#legacy-scheme): the HMAC of public key, full URL and body, without separators. The
// body may be signed as sent, or without the white space outside its strings. A captured request can be
// replayed for ever, so the scheme is off by default and only reads.
func (v *Verifier) verifyLegacy(nowNs int64, r *Request) (Principal, *refuse.Refusal) {
	if reject := checkPublicKey(r); reject != nil {
		return Principal{}, reject
	}
	if reject := checkSignature(r); reject != nil {
		return Principal{}, reject
	}
	if r.Method != "GET" && r.Method != "HEAD" {
		return Principal{}, unauthorized("API-Timestamp",
			"%s needs the signing scheme with API-Timestamp and API-Nonce.", r.Method)
	}
	m := v.scratch.Get().(*macScratch)
	key, known := v.lookup(r.PublicKey)
	if reject := key.shut(); reject != nil {
		v.scratch.Put(m)
		return Principal{}, reject
	}
	states := key.mac
	if states == nil {
		known, states = false, v.unknown.mac // an Ed25519 or RSA key has the default scheme only
	}
	asSent := m.equal(states, r.Signature, r.PublicKey, r.FullURL, r.Body)
	m.msg = appendWithoutSpace(m.msg[:0], r.Body)
	tight := m.equal(states, r.Signature, r.PublicKey, r.FullURL, m.msg)
	v.scratch.Put(m)
	if !asSent && !tight || !known {
		return Principal{}, badSignature()
	}
	return key.authorize(nowNs, r)
}

// appendWithoutSpace appends a JSON text without the white space outside its strings.
func appendWithoutSpace(dst, body []byte) []byte {
	quoted, escaped := false, false
	for _, c := range body {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}
