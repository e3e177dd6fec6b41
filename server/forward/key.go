package forward

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// ClientHeader names the client of a forwarded request, in the form to which the request parser normalizes it:
// the address, the time in Unix ms and the HMAC of both and of the request, separated by spaces.
const ClientHeader = "X-Tickhive-Client"

// maxAge is the largest difference between the clocks of two nodes, plus the time on the way.
const maxAge = 30 * time.Second

// MinKeyBytes is the length of the shortest key: the ID is public, and no one may guess the key from it.
const MinKeyBytes = 32

// publicKeyHeader has the key of a signed request, as the request parser normalizes it.
const publicKeyHeader = "Api-Publickey"

// Key holds the secret that the nodes of a cluster share. It is immutable; a nil Key proves nothing.
type Key struct {
	secret []byte
	id     string
}

// NewKey returns the key of a text.
func NewKey(text string) (*Key, error) {
	if len(text) < MinKeyBytes {
		return nil, fmt.Errorf("a key of %d characters, it needs %d", len(text), MinKeyBytes)
	}
	k := &Key{secret: []byte(text)}
	k.id = hex.EncodeToString(k.sum("id"))[:16]
	return k, nil
}

// ID returns the name of the key, which is no secret; empty without a key.
func (k *Key) ID() string {
	if k == nil {
		return ""
	}
	return k.id
}

// String returns a text without the secret.
func (k *Key) String() string { return "key " + k.ID() }

// GoString returns a text without the secret.
func (k *Key) GoString() string { return k.String() }

func (k *Key) sum(parts ...string) []byte {
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte("tickhive cluster"))
	for _, p := range parts {
		h.Write([]byte("\n" + strconv.Itoa(len(p)) + " "))
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// proof returns the HMAC that binds an address and a time to one request. A header that somebody has read on the way
// is of no use for another request.
func (k *Key) proof(addr, ms string, r *fasthttp.Request) []byte {
	h := &r.Header
	return k.sum("client", addr, ms, string(h.Method()), string(h.RequestURI()), string(h.Peek(publicKeyHeader)),
		string(r.Body()))
}

// Prove returns the proof that a message between nodes comes from a holder of the key.
func (k *Key) Prove(parts ...string) (proof string) {
	return hex.EncodeToString(k.sum(append([]string{"node"}, parts...)...))
}

// Proves reports whether Prove of this key made a proof for the parts.
func (k *Key) Proves(proof string, parts ...string) bool {
	mac, err := hex.DecodeString(proof)
	return err == nil && hmac.Equal(mac, k.sum(append([]string{"node"}, parts...)...))
}

// Name sets the header that names the client of a request.
func (k *Key) Name(r *fasthttp.Request, client netip.Addr, nowNs int64) {
	addr, ms := client.String(), strconv.FormatInt(nowNs/int64(time.Millisecond), 10)
	r.Header.Set(ClientHeader, addr+" "+ms+" "+hex.EncodeToString(k.proof(addr, ms, r)))
}

// Client returns the client that the header names, if a node of the cluster has set it for this request.
func (k *Key) Client(r *fasthttp.Request, nowNs int64) (client netip.Addr, ok bool) {
	lines := r.Header.PeekAll(ClientHeader)
	if k == nil || len(lines) != 1 {
		return client, false
	}
	addr, rest, _ := strings.Cut(string(lines[0]), " ")
	ms, proof, _ := strings.Cut(rest, " ")
	sent, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || max(sent, -sent) < 0 {
		return client, false
	}
	age := nowNs/int64(time.Millisecond) - sent
	mac, err := hex.DecodeString(proof)
	if err != nil || max(age, -age) > maxAge.Milliseconds() || !hmac.Equal(mac, k.proof(addr, ms, r)) {
		return client, false
	}
	client, err = netip.ParseAddr(addr)
	return client, err == nil
}
