package auth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

// A key of openssl and its signature of rsaText ("openssl dgst -sha256 -sign").
const (
	rsaText   = "symbol=BTCUSDT&timestamp=1767225600000"
	rsaPublic = `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAkM+uKzaGdKMJ2SRBcEn3
tfkOS+UqHpQKxf6VFVbIgGCM03Vi7wAkKD1ny5gg6go0PaHQ4oKU2R7Gl1tJfhDs
fsBn8lEgmbcDPEF2wnAyI8TMqT+rxfCNSkmYqMtWIKcqUoIbNI6EPOJ6g9m+1hbO
ZOH+cEKb0/s4Ww51RbTZ8kj78mfM8DyIscmm7Ko3E03877+QTdKklQrsDDg+S2QF
HOGWmQnfBjA8K/MwpmL//yTx5k4UGlEHy+tfGHbORJO5GmmdhLd9XIfhQFrG03uT
+bz1dV30q032J0+/LRHw817hs++Ga3Jt0LHGet/Skw8ZIUWvKuVwXlsdk6mLk4HF
FwIDAQAB
-----END PUBLIC KEY-----
`
	rsaSigned = "HTrHKnjHXP7+XW1r08dxi54WX8djY9TMwImZFVD/HO/FaqwpzXgNbrFiOnrQIHctsjJcYjBT/rwwKkhNeSpA9U" +
		"KNrtYpfxgvUlyoLrPXIIdK0KsRi373uvZPAcGco/adM509GvHbSDGuTnpft3btgSoQfCqdmn36WyGQJCv5J6MH" +
		"IrT0gxQ2SPBDnfs2ta3XnLdpDTp+iWk1lRCR7wrn0zT3vHWWOKkETWRP/hWWZDIgmSucyEUenrj0OtbFeNut3o" +
		"varOiRMtPv5YRfwsUvffxEMap3iAgLmz6UJcrnD6PVr1FyI5q19vt5YYT5i9JQfpJGEhufjrpfcphmVC84/g=="
)

// rsaSigner is a Verifier of the keys "rsa" with rsaPublic and "own" with the public key of the private one.
func rsaSigner(t testing.TB, own *rsa.PrivateKey) *signer {
	s := newSigner(Options{})
	for name, text := range map[string]string{"rsa": rsaPublic, "own": publicPEM(t, &own.PublicKey)} {
		der, err := ParseRSA(text)
		if err != nil {
			t.Fatal(err)
		}
		rec := record(name, KeyRequest{RSA: der, CanTrade: true})
		rec.CreatedNs = t0
		s.add(rec)
	}
	return s
}

func newRSA(t testing.TB, bits int) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func publicPEM(t testing.TB, key any) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func signRSA(t testing.TB, key *rsa.PrivateKey, text []byte) []byte {
	digest := sha256.Sum256(text)
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func TestRSAKeysSignPayloads(t *testing.T) {
	own := newRSA(t, 4096)
	s := rsaSigner(t, own)
	payload := func(key, signature string) *Payload {
		return &Payload{
			Text: []byte(rsaText), PublicKey: []byte(key), Signature: []byte(signature),
			Stamp: Stamp{Sent: t0Ms, Window: 5000, UnitNs: msNs},
		}
	}
	ownSigned := base64.StdEncoding.EncodeToString(signRSA(t, own, []byte(rsaText)))
	for key, signature := range map[string]string{"rsa": rsaSigned, "own": ownSigned} {
		if who, reject := s.v.VerifyPayload(t0, payload(key, signature)); reject != nil || who.PublicKey != key {
			t.Errorf("%s: %+v %v", key, who, reject)
		}
	}
	for what, p := range map[string]*Payload{
		"another key of the same scheme": payload("own", rsaSigned),
		"another key":                    payload("rsa", ownSigned),
		"an HMAC key":                    payload("pubKEY123", rsaSigned),
		"zeros of another length":        payload("rsa", base64.StdEncoding.EncodeToString(make([]byte, 512))),
		"a line end":                     payload("rsa", rsaSigned[:40]+"\n"+rsaSigned[40:]),
		"a byte too few":                 payload("rsa", base64.StdEncoding.EncodeToString(make([]byte, 255))),
		"zeros":                          payload("rsa", base64.StdEncoding.EncodeToString(make([]byte, 256))),
		"an HMAC by an empty key":        payload("rsa", strings.Repeat("0", 64)),
		"another text": func() *Payload {
			p := payload("rsa", rsaSigned)
			p.Text = append(p.Text, '0')
			return p
		}(),
	} {
		_, reject := s.v.VerifyPayload(t0, p)
		if wantReject(t, reject, refuse.Unauthorized, "signature"); reject == nil {
			t.Error(what)
		}
	}
	p := payload("rsa", rsaSigned)
	p.Sent = t0Ms - 1
	_, reject := s.v.VerifyPayload(t0, p)
	wantReject(t, reject, refuse.Unauthorized, "timestamp") // before the key was created
}

// The native scheme takes RSA keys, with the signature in hex.
func TestRSAKeysSignRequests(t *testing.T) {
	own := newRSA(t, 3072)
	s, r := rsaSigner(t, own), request("GET", "/api/orders", "", "n-1")
	r.PublicKey = []byte("own")
	sound := hex.AppendEncode(nil, signRSA(t, own, newScratch().canonical(r)))
	r.Signature = append([]byte("0"), sound[1:]...)
	if sound[0] == '0' {
		r.Signature[0] = '1'
	}
	_, reject := s.v.Verify(t0, r)
	wantReject(t, reject, refuse.Unauthorized, "API-Signature")
	r.Signature = sound
	if who, reject := s.v.Verify(t0, r); reject != nil || who.PublicKey != "own" {
		t.Fatalf("%+v %v", who, reject)
	}
	_, reject = s.v.Verify(t0, r)
	wantReject(t, reject, refuse.Unauthorized, "API-Nonce")
}

func TestRSAPublicKeys(t *testing.T) {
	der, err := ParseRSA(rsaPublic)
	if err != nil || FormatRSA(der) != rsaPublic {
		t.Errorf("%v: %s", err, FormatRSA(der))
	}
	if spaced, err := ParseRSA(rsaPublic + "\n "); err != nil || string(spaced) != string(der) {
		t.Error(err)
	}
	ec := `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE9DA3FDWDDUUL4UixSxjm2D8djhkN
mBlq8Q2Q+TtKMZ/w21a6mS0Smbuor6OeruEje6fj3BZdfYKHdExtB8B6uQ==
-----END PUBLIC KEY-----
`
	short := `-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDlbtEbGo1kChZuS20kRWpAssdU
0TtW9SkOThNfPxSIS1ryCS11oZ/wVHwM68ynGW0u/7ZIrc+Kcg2awUwByUzc66UT
S8Cfwu30P4xJErrelNI0SLbfkaPVQdvyk8iAYxiec5yMxKLq1KB6VSy17NypA7xA
xrqnv0gw08oOh9bULwIDAQAB
-----END PUBLIC KEY-----
`
	three := `-----BEGIN PUBLIC KEY-----
MIIBIDANBgkqhkiG9w0BAQEFAAOCAQ0AMIIBCAKCAQEA2Lg8Z5ow4JcKjpm0wNY5
oEJ9n4Tb6WdqJXrM2XJOymGkfJs5z4yLXEbH8JO/Fykt6DDayTNdMbB5LZBA+wbD
NaWtSLfHkASCoMEIO1xV6Icvzvg6AWgwpSPPkM2PApTzh7pXGf/uix2R8EsNamWE
XuT9LEHcgZ2cjbP4VIm1HhPE7dLzYf9j/IzafhkKl60kbjn3HTNkNQIVePMGquBa
9obctUAsKfomx0rb43cOJ1/F+vFvLXfQwTXWlRvSHccKwCmaMYAhRNuG6O5RZYHB
dN0+MwaSxsbcEYg9gfHMqwdvVmUgadCe1KvlViSgnChYENQowS1N49M8xqyXUmy2
4QIBAw==
-----END PUBLIC KEY-----
`
	for text, want := range map[string]string{
		"":                    "must be one PEM block with the label PUBLIC KEY",
		rsaPublic + rsaPublic: "must be one PEM block with the label PUBLIC KEY",
		strings.ReplaceAll(rsaPublic, "PUBLIC", "PRIVATE"): "must be one PEM block with the label PUBLIC KEY",
		ec:    "must be an RSA public key",
		short: "must be an RSA key of 2048, 3072 or 4096 bits, not of 1024",
		three: "must be an RSA key with an odd modulus and the exponent 65537",
	} {
		if _, err := ParseRSA(text); err == nil || err.Error() != want {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	for _, q := range []KeyRequest{{RSA: der[1:]}, {RSA: der, Ed25519: make([]byte, 32)}} {
		k := NewKey{KeyRequest: q, PublicKey: strings.Repeat("A", PublicKeyLength)}
		wantReject(t, k.Check(), refuse.InvalidParam, "rsaPublicKey")
	}
	drawn, err := Draw(rand.Reader, KeyRequest{RSA: der})
	if err != nil || !drawn.Secret.Empty() || drawn.Check() != nil {
		t.Errorf("%v %v", err, drawn.Check())
	}
}

// At most one key has a public key.
func TestKeysCountTheirRSAPublicKeys(t *testing.T) {
	s := rsaSigner(t, newRSA(t, 2048))
	der, err := ParseRSA(rsaPublic)
	if err != nil {
		t.Fatal(err)
	}
	if q := (KeyRequest{RSA: der}); !s.roster.Uses(&q) || s.roster.Uses(&KeyRequest{}) {
		t.Error("the roster does not know its keys")
	}
	s.remove("rsa")
	if s.roster.Uses(&KeyRequest{RSA: der}) {
		t.Error("the key is gone")
	}
}
