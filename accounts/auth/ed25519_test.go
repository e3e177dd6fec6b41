package auth

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

// The first key pair of RFC 8032, 7.1.
const (
	edSeed   = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
	edPublic = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
)

func edKey(t testing.TB) ed25519.PrivateKey {
	seed, err := hex.DecodeString(edSeed)
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(seed)
}

// edSigner is a Verifier of the key "ed" with the public key of edKey.
func edSigner(t testing.TB) *signer {
	s := newSigner(Options{Legacy: true})
	public, ok := ParseEd25519(edPublic)
	if !ok {
		t.Fatal("the public key of the RFC is refused")
	}
	rec := record("ed", KeyRequest{Ed25519: public, CanTrade: true})
	rec.CreatedNs = t0
	s.add(rec)
	return s
}

func edRequest(t testing.TB, method, target, body, nonce string) *Request {
	r := request(method, target, body, nonce)
	r.PublicKey = []byte("ed")
	m := newScratch()
	r.Signature = hex.AppendEncode(nil, ed25519.Sign(edKey(t), m.canonical(r)))
	return r
}

// The signatures are openssl's (docs/contract/signing.md#ed25519-keys).
func TestEd25519VectorsOfTheContract(t *testing.T) {
	for _, v := range []struct{ nonce, method, target, body, signature string }{
		{
			"n-1", "GET", "/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T", "",
			"8e29a52d8f7aa321c61e61a7b0dc3c3fe7c5653a21ff59c7b5c2bb22b4568aa1" +
				"9d042af1998d9ee9e94ff925a137a187f9a1a4ddbc1c814dc37fee85daebd801",
		},
		{
			"n-2", "POST", "/api/launchpad/spawn", `{"name":"My Token","symbol":"ALPHA"}`,
			"677edfb52f1122f56714b9ab1f692687ae23b29fe5e995344ab01b63f3d91816" +
				"6b982762339870b927e846b2db53b4ff8142765a4ecbb88f8f22212bc682f400",
		},
	} {
		s, r := edSigner(t), request(v.method, v.target, v.body, v.nonce)
		r.PublicKey, r.Signature = []byte("ed"), []byte(v.signature)
		if who, reject := s.v.Verify(t0, r); reject != nil || who.PublicKey != "ed" {
			t.Errorf("%s: %+v %v", v.nonce, who, reject)
		}
		for bit := range 4 * len(r.Signature) {
			broken := *r
			raw, _ := hex.DecodeString(v.signature)
			raw[bit/8] ^= 1 << (bit % 8)
			broken.Signature = hex.AppendEncode(nil, raw)
			_, reject := edSigner(t).v.Verify(t0, &broken)
			wantReject(t, reject, refuse.Unauthorized, "API-Signature")
		}
	}
}

func TestAKeyHasOneScheme(t *testing.T) {
	s := edSigner(t)
	forge := func(name string, change func(*Request)) {
		r := edRequest(t, "GET", "/", "", name)
		change(r)
		_, reject := s.v.Verify(t0, r)
		if reject == nil || reject.Code != refuse.Unauthorized || reject.Field != "API-Signature" {
			t.Errorf("%s: %+v", name, reject)
		}
	}
	forge("an-HMAC-by-an-empty-key", func(r *Request) { sign("", r) })
	forge("an-HMAC-by-the-public-key", func(r *Request) { sign(edPublic, r) })
	forge("an-Ed25519-signature-for-an-HMAC-key", func(r *Request) { r.PublicKey = []byte("pubKEY123") })
	forge("an-unknown-key", func(r *Request) { r.PublicKey = []byte("unknown") })
	forge("the-legacy-scheme", func(r *Request) {
		r.Timestamp, r.Nonce, r.FullURL = nil, nil, []byte("/")
		r.Signature = r.Signature[:hmacHex]
	})
	for _, length := range []int{0, 63, 65, 127, 129} {
		forge("length-"+strconv.Itoa(length), func(r *Request) { r.Signature = slices.Repeat([]byte("0"), length) })
	}
	if _, reject := s.v.Verify(t0, edRequest(t, "GET", "/", "", "good")); reject != nil {
		t.Fatal(reject)
	}
	_, reject := s.v.Verify(t0, edRequest(t, "GET", "/", "", "good"))
	wantReject(t, reject, refuse.Unauthorized, "API-Nonce")
}

// The nonces of a deleted key are forgotten, and its public key may be used again.
func TestAnEd25519KeyRefusesTimestampsBeforeItsCreation(t *testing.T) {
	s := edSigner(t)
	s.remove("ed")
	public, _ := ParseEd25519(edPublic)
	rec := record("ed", KeyRequest{Ed25519: public})
	rec.CreatedNs = t0 + msNs
	s.add(rec)
	_, reject := s.v.Verify(t0+msNs, edRequest(t, "GET", "/", "", "n"))
	wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
}

func TestKeysCountTheirEd25519PublicKeys(t *testing.T) {
	s := edSigner(t)
	public, _ := ParseEd25519(edPublic)
	if !s.roster.Uses(&KeyRequest{Ed25519: public}) {
		t.Error("the public key of a key is free")
	}
	s.remove("pubKEY123")
	s.remove("unknown")
	if s.remove("ed"); s.roster.Uses(&KeyRequest{Ed25519: public}) {
		t.Error("the public key of a removed key is in use")
	}
	s.roster.Add(1, userID, record("x", KeyRequest{Ed25519: public}))
	if s.keys.AddAll(s.roster.All()); s.keys.find([]byte("x")) == nil || !s.roster.Uses(&KeyRequest{Ed25519: public}) {
		t.Error("the public key of a recovered key is free")
	}
}

func TestUnsoundEd25519PublicKeysAreRefused(t *testing.T) {
	for _, y := range smallOrder {
		for _, sign := range []byte{0, 0x80} {
			raw, _ := hex.DecodeString(y)
			raw[31] |= sign
			if _, ok := ParseEd25519(base64.StdEncoding.EncodeToString(raw)); ok {
				t.Errorf("%x is accepted", raw)
			}
			// It is of small order: the signature R = identity, S = 0 fits some message.
			forged := make([]byte, ed25519.SignatureSize)
			forged[0] = 1
			found := false
			for i := 0; i < 1000 && !found; i++ {
				found = ed25519.Verify(raw, strconv.AppendInt(nil, int64(i), 10), forged)
			}
			if !found && !(sign != 0 && (y == smallOrder[0] || y == smallOrder[1])) { // x = 0 has no sign
				t.Errorf("%x is no point of small order", raw)
			}
		}
	}
	onCurve := 0
	for i := range 100 {
		raw := make([]byte, ed25519.PublicKeySize)
		raw[0], raw[7] = byte(i), 1
		if _, ok := ParseEd25519(base64.StdEncoding.EncodeToString(raw)); ok {
			onCurve++
		}
	}
	if onCurve < 30 || onCurve > 70 { // half of all y have an x
		t.Errorf("%d of 100 are points", onCurve)
	}
	for i := range 50 {
		seed := make([]byte, ed25519.SeedSize)
		seed[0] = byte(i)
		public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
		if _, ok := ParseEd25519(base64.StdEncoding.EncodeToString(public)); !ok {
			t.Errorf("%x is refused", public)
		}
	}
	for _, text := range []string{
		"", "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo", edPublic + "\n",
		"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
		"7f///////////////////////////////////////38=", // p, which is y = 0 in another encoding
	} {
		if _, ok := ParseEd25519(text); ok {
			t.Errorf("%q is accepted", text)
		}
	}
}
