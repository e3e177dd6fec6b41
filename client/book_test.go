package client

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"testing"
	"time"
)

// The vectors of docs/contract/streams.md#checksum.
func TestChecksumVectors(t *testing.T) {
	b := &Book{
		Bids: []BookLevel{{"65000.50", "0.12500000"}, {"65000.00", "1.00000000"}},
		Asks: []BookLevel{{"65001.00", "0.50000000"}},
	}
	if got := b.Checksum(); got != 1722274598 {
		t.Errorf("checksum %d, want 1722274598", got)
	}
	if got := (&Book{}).Checksum(); got != 2343686810 {
		t.Errorf("empty checksum %d, want 2343686810", got)
	}
}

// vectorPEM is the key of the Ed25519 vectors.
const vectorPEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n" +
	"-----END PRIVATE KEY-----\n"

// The vectors of docs/contract/signing.md#ed25519-keys.
func TestSignEd25519Vectors(t *testing.T) {
	const file = vectorPEM
	key, err := ParsePrivateKey(file)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(ts, nonce, method, target string, body []byte) string {
		signature, err := SignKey(key, ts, nonce, method, target, body)
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	const ts = "1767225600000"
	for _, v := range [][2]string{
		{
			sign(ts, "n-1", "GET", "/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T", nil),
			"8e29a52d8f7aa321c61e61a7b0dc3c3fe7c5653a21ff59c7b5c2bb22b4568aa1" +
				"9d042af1998d9ee9e94ff925a137a187f9a1a4ddbc1c814dc37fee85daebd801",
		},
		{
			sign(ts, "n-2", "POST", "/api/launchpad/spawn", []byte(`{"name":"My Token","symbol":"ALPHA"}`)),
			"677edfb52f1122f56714b9ab1f692687ae23b29fe5e995344ab01b63f3d91816" +
				"6b982762339870b927e846b2db53b4ff8142765a4ecbb88f8f22212bc682f400",
		},
	} {
		if v[0] != v[1] {
			t.Errorf("signature %s, want %s", v[0], v[1])
		}
	}
	now := time.UnixMilli(1767225600000)
	cr, err := credentials("pub", file, now, "GET", "/", nil)
	if want := sign(ts, cr.Nonce, "GET", "/", nil); err != nil || cr.Signature != want {
		t.Errorf("credentials %+v, want the signature %s: %v", cr, want, err)
	}
	const other = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VuBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n" +
		"-----END PRIVATE KEY-----\n" // X25519
	for _, bad := range []string{"-----BEGIN PRIVATE KEY-----", other} {
		if cr, err := credentials("pub", bad, now, "GET", "/", nil); err == nil || cr.Signature != "" {
			t.Errorf("a broken private key signs: %+v %v", cr, err)
		}
	}
}

// The vectors of docs/contract/signing.md#signature.
func TestSignVectors(t *testing.T) {
	const key, ts = "privKEY456", "1767225600000"
	got := Sign(key, ts, "n-1", "GET", "/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T", nil)
	if want := "7c72f27d874d374164db11a4998dd423cdae47c857517918e62f06eb69370f37"; got != want {
		t.Errorf("GET signature %s, want %s", got, want)
	}
	got = Sign(key, ts, "n-2", "POST", "/api/launchpad/spawn", []byte(`{"name":"My Token","symbol":"ALPHA"}`))
	if want := "1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e"; got != want {
		t.Errorf("POST signature %s, want %s", got, want)
	}
}

func TestBookChainAndChecksum(t *testing.T) {
	b := &Book{}
	snap := &Message{Type: "snapshot", Seq: 5, Bids: [][2]Decimal{{"9.0", "1.0"}}, Asks: [][2]Decimal{{"10.0", "2.0"}}}
	snap.Checksum = (&Book{Bids: []BookLevel{{"9.0", "1.0"}}, Asks: []BookLevel{{"10.0", "2.0"}}}).Checksum()
	if err := b.Apply(snap); err != nil {
		t.Fatal(err)
	}
	next := &Message{Type: "update", PrevSeq: 5, Seq: 7, Asks: [][2]Decimal{{"10.0", "0.0"}, {"11.0", "3.0"}}}
	next.Checksum = (&Book{Bids: []BookLevel{{"9.0", "1.0"}}, Asks: []BookLevel{{"11.0", "3.0"}}}).Checksum()
	if err := b.Apply(next); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(next); err != nil { // a repeat
		t.Fatal(err)
	}
	if err := b.Apply(&Message{Type: "update", PrevSeq: 8, Seq: 9}); err == nil || b.Ready() {
		t.Fatal("a gap was not noticed")
	}
}

// rsaPEM returns a new RSA key and its text.
func rsaPEM(t *testing.T) (key *rsa.PrivateKey, text string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// An RSA key signs with PKCS #1 v1.5 and SHA-256 (docs/contract/signing.md#rsa-keys).
func TestSignRSA(t *testing.T) {
	key, text := rsaPEM(t)
	cr, err := credentials("pub", text, time.UnixMilli(1767225600000), "GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := hex.DecodeString(cr.Signature)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical("1767225600000", cr.Nonce, "GET", "/", nil))
	if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
		t.Error(err)
	}
}
