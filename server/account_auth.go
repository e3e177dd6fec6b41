package server

import (
	"net/netip"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/refuse"
)

// credentialHeaders are the headers of a signed request. A proxy may have checked another
// one of two equal names, so none may occur twice.
var credentialHeaders = [...]string{"API-PublicKey", "API-Timestamp", "API-Nonce", "API-Signature", "API-RecvWindow"}

// repeatedCredential returns the first credential header that occurs more than once, "" without one.
func repeatedCredential(h *fasthttp.RequestHeader) string {
	for _, name := range credentialHeaders {
		if len(h.PeekAll(name)) > 1 {
			return name
		}
	}
	return ""
}

// The same headers as the request parser normalizes their names.
var (
	reqTimestamp  = []byte("Api-Timestamp")
	reqNonce      = []byte("Api-Nonce")
	reqSignature  = []byte("Api-Signature")
	reqRecvWindow = []byte("Api-Recvwindow")
)

// Authenticate verifies a signed request (docs/contract/signing.md#signature): it is
// Options.Authenticate. What it reads of the request is the bytes that were sent.
func (d *AccountDesk) Authenticate(c *Ctx) (*Caller, *refuse.Refusal) {
	h := &c.Request.Header
	r := accounts.Request{
		Method: string(c.Method()), Target: h.RequestURI(), Body: c.Request.Body(),
		PublicKey: h.PeekBytes(reqPublicKey), Timestamp: h.PeekBytes(reqTimestamp), Nonce: h.PeekBytes(reqNonce),
		Signature: h.PeekBytes(reqSignature), RecvWindow: h.PeekBytes(reqRecvWindow),
		Remote: c.clientAddr(), Cancel: c.route.Cancels,
	}
	if d.opt.Legacy && r.Timestamp == nil && r.Nonce == nil {
		r.FullURL = d.fullURL(h)
	}
	who, reject := d.verifier.Verify(d.opt.Clock.NowNs(), &r)
	if reject != nil {
		return nil, reject
	}
	return &Caller{
		Account: engine.AccountID(who.User), UserID: who.ID.String(), PublicKey: who.PublicKey, CanTrade: who.CanTrade,
	}, nil
}

// fullURL is what the legacy scheme signs (docs/contract/signing.md#legacy-scheme).
func (d *AccountDesk) fullURL(h *fasthttp.RequestHeader) []byte {
	url := []byte(d.opt.PublicURL)
	if len(url) == 0 {
		url = append(append(url, "http://"...), h.Host()...)
	}
	return append(url, h.RequestURI()...)
}

// verifySocket checks the credentials of a socket's auth operation: those of a GET of
// /ws without a body (docs/contract/streams.md#operations). The default scheme alone is taken.
func (d *AccountDesk) verifySocket(remote netip.Addr, publicKey, timestamp, nonce, signature string) (SocketKey, *refuse.Refusal) {
	who, reject := d.verifier.Verify(d.opt.Clock.NowNs(), &accounts.Request{
		Method: fasthttp.MethodGet, Target: []byte("/ws"), Remote: remote,
		PublicKey: []byte(publicKey), Timestamp: []byte(timestamp), Nonce: []byte(nonce), Signature: []byte(signature),
	})
	if reject != nil {
		return SocketKey{}, reject
	}
	return SocketKey{Account: engine.AccountID(who.User), Number: who.Key, ExpiresNs: who.ExpiresNs}, nil
}
