package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// t0 is 2026-01-01T00:00:00Z.
const (
	t0   = int64(1_767_225_600_000_000_000)
	t0Ms = t0 / msNs
)

var userID = uuid.NewSHA1(uuid.NameSpaceURL, []byte("user 1"))

// signer is a Verifier of keys with known private keys.
type signer struct {
	roster *Roster
	keys   *Keys
	v      *Verifier
}

func newSigner(opts Options) *signer {
	keys := NewKeys(new(seal.Key))
	s := &signer{roster: NewRoster(), keys: keys, v: NewVerifier(keys, opts)}
	s.key("pubKEY123", "privKEY456", func(*KeyRecord) {})
	return s
}

func (s *signer) key(public, private string, change func(*KeyRecord)) {
	rec := record(public, KeyRequest{Name: "k", CanTrade: true})
	rec.Secret, rec.CreatedNs = NewSecret(private), t0
	change(&rec)
	s.add(rec)
}

// record returns the record of a key that an operator has made.
func record(public string, q KeyRequest) KeyRecord {
	return KeyRecord{NewKey: NewKey{KeyRequest: q, PublicKey: public}}
}

func (s *signer) add(rec KeyRecord) { s.keys.Add(s.roster.Add(1, userID, rec)) }

func (s *signer) remove(public string) {
	s.roster.Remove(public)
	s.keys.Remove(public)
}

// sign implements the contract's signature with the standard library's HMAC.
func sign(private string, r *Request) {
	body := sha256.Sum256(r.Body)
	m := hmac.New(sha256.New, []byte(private))
	fmt.Fprintf(m, "%s\n%s\n%s\n%s\n%x", r.Timestamp, r.Nonce, r.Method, r.Target, body)
	r.Signature = []byte(hex.EncodeToString(m.Sum(nil)))
}

func request(method, target, body, nonce string) *Request {
	r := &Request{
		Method: method, Target: []byte(target), Body: []byte(body), PublicKey: []byte("pubKEY123"),
		Timestamp: strconv.AppendInt(nil, t0Ms, 10), Nonce: []byte(nonce), Remote: netip.MustParseAddr("127.0.0.1"),
	}
	sign("privKEY456", r)
	return r
}

func wantReject(t testing.TB, got *refuse.Refusal, code refuse.Code, field string) {
	t.Helper()
	if got == nil || got.Code != code || got.Field != field {
		t.Fatalf("got %+v, want %s on %q", got, code, field)
	}
}
