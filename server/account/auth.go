package account

import (
	"net/netip"

	"github.com/valyala/fasthttp"

	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/private"
)

// Authenticate verifies a signed request (docs/contract/signing.md#signature). It implements
// Options.Authenticate. It reads the bytes of the request exactly as the client sent them.
func (s *Service) Authenticate(c *edge.Ctx) (*edge.Principal, *refuse.Refusal) {
	h, sent := &c.Request.Header, &c.Credentials
	r := auth.Request{
		Method: string(c.Method()), Target: h.RequestURI(), Body: c.Request.Body(),
		PublicKey: sent.PublicKey, Timestamp: sent.Timestamp, Nonce: sent.Nonce, Signature: sent.Signature,
		RecvWindow: sent.RecvWindow,
		Remote:     c.ClientAddr(), Cancel: c.Cancels(),
		DeletesOwnKey: deletesOwnKey(c),
	}
	if s.opt.Legacy && r.Timestamp == nil && r.Nonce == nil {
		r.FullURL = s.fullURL(h)
	}
	who, reject := s.verifier.Verify(s.opt.Clock.NowNs(), &r)
	if reject != nil {
		return nil, reject
	}
	return &edge.Principal{
		Account: engine.AccountID(who.User), UserID: who.ID.String(), PublicKey: who.PublicKey,
		CanTrade: who.CanTrade || r.DeletesOwnKey,
	}, nil
}

// deletesOwnKey reports whether the request deletes the key that it names as its signer.
func deletesOwnKey(c *edge.Ctx) bool {
	return c.IsDelete() && c.PathParam("publicKey") == string(c.Credentials.PublicKey)
}

// fullURL returns the URL that the legacy scheme signs (docs/contract/signing.md#legacy-scheme).
func (s *Service) fullURL(h *fasthttp.RequestHeader) []byte {
	return append([]byte(s.opt.PublicURL), h.RequestURI()...)
}

// verifySocket checks the credentials of a socket's auth operation: they sign a GET of /ws
// without a body (docs/contract/streams.md#operations). It accepts only the default scheme.
func (s *Service) verifySocket(remote netip.Addr, publicKey, timestamp, nonce,
	signature string,
) (private.Key, *refuse.Refusal) {
	who, reject := s.verifier.Verify(s.opt.Clock.NowNs(), &auth.Request{
		Method: fasthttp.MethodGet, Target: []byte("/ws"), Remote: remote,
		PublicKey: []byte(publicKey), Timestamp: []byte(timestamp), Nonce: []byte(nonce), Signature: []byte(signature),
	})
	if reject != nil {
		return private.Key{}, reject
	}
	return private.Key{
		Account: engine.AccountID(who.User), Number: who.Key, ExpiresNs: who.ExpiresNs, CanTrade: who.CanTrade,
	}, nil
}
