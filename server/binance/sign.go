package binance

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

var reqAPIKey = []byte("X-Mbx-Apikey") // X-MBX-APIKEY as the request parser normalizes it

// The default and the largest recvWindow in ms.
const (
	defaultWindowMs = 5_000
	maxWindowMs     = 60_000
)

// signedText returns what a request over HTTP signs: the query and the form without the signature.
func signedText(c *edge.Ctx) auth.Payload {
	text := append(withoutSignature(c.URI().QueryString()), withoutSignature(form(c))...)
	return auth.Payload{
		Text: text, PublicKey: c.Request.Header.PeekCanonical(reqAPIKey), Remote: c.ClientAddr(),
		Reads: c.IsGet() || c.IsHead(),
	}
}

var badKeyFormat = fail(codeBadKeyFormat, "API-key format invalid.").with(fasthttp.StatusUnauthorized)

// authenticate verifies a signature over p.Text, and sets the principal. The parameters signature, timestamp and
// recvWindow count as read.
//
// A signature counts as often as it arrives within its window: on the other exchange two equal orders of one
// millisecond are two orders, so its hash cannot serve as a nonce. A start refuses what an earlier process may have
// accepted, by a floor 1 s later than the native API's. An unknown key has the answer of a wrong signature, so that
// keys cannot be probed. A payload with a control character verifies nothing: a signature of one scheme is never one
// of the other, although both use the same key.
func (q *call) authenticate(p *auth.Payload) (err *failure) {
	if len(p.PublicKey) == 0 {
		return badKeyFormat
	}
	signature, err := q.required("signature")
	if err != nil {
		return err
	}
	p.Signature = []byte(signature)
	if p.TimestampMs, p.WindowMs, err = q.window(); err != nil {
		return err
	}
	who, refused := q.f.opt.Users.VerifyPayload(p)
	if refused != nil {
		return authFailure(refused)
	}
	q.Principal = principal(&who)
	return nil
}

// checkCredentials checks the credentials of a call. A call on a socket that has logged on needs no signature, but a
// timestamp.
func (q *call) checkCredentials(need security, payload func() auth.Payload) *failure {
	switch {
	case need == signed && q.Principal != nil && !q.sent("signature"):
		at, window, err := q.window()
		if err != nil {
			return err
		}
		if !auth.InWindow(q.f.opt.Clock.NowNs(), at, window) {
			return badTime
		}
	case need == signed || q.sent("signature"): // libraries sign more than they need to
		p := payload()
		return q.authenticate(&p)
	case need == keyed && q.Principal == nil:
		p := payload()
		if len(p.PublicKey) == 0 {
			return badKeyFormat
		}
		who, refused := q.f.opt.Users.Identify(string(p.PublicKey), p.Remote)
		if refused != nil {
			return rejectedKey
		}
		q.Principal = principal(&who)
	}
	return nil
}

// window reads the parameters timestamp and recvWindow.
func (q *call) window() (timestampMs, windowMs int64, err *failure) {
	if _, err = q.required("timestamp"); err != nil {
		return 0, 0, err
	}
	if timestampMs, err = q.number("timestamp", 0); err != nil {
		return 0, 0, err
	}
	if windowMs, err = q.number("recvWindow", defaultWindowMs); err != nil {
		return 0, 0, err
	}
	if windowMs > maxWindowMs {
		err = fail(codeBadWindow, "recvWindow must be less than %d.", maxWindowMs)
	}
	return timestampMs, windowMs, err
}

func principal(who *auth.Principal) *edge.Principal {
	return &edge.Principal{
		Account: engine.AccountID(who.User), UserID: who.ID.String(), PublicKey: who.PublicKey, CanTrade: who.CanTrade,
	}
}

var (
	badTime     = fail(codeBadTime, "Timestamp for this request is outside of the recvWindow.")
	rejectedKey = fail(codeRejectedKey, "Invalid API-key, IP, or permissions for action.").
			with(fasthttp.StatusUnauthorized)
)

// authFailure translates a refusal of the credentials.
func authFailure(r *refuse.Refusal) *failure {
	switch {
	case r.Code != refuse.Unauthorized && r.Code != refuse.Forbidden:
		return fromRefusal(r)
	case r.Field == "timestamp":
		return fail(codeBadTime, "%s", r.Message)
	case r.Field == "signature":
		return fail(codeBadSignature, "Signature for this request is not valid.")
	}
	return rejectedKey
}

// form returns the body of a request that may have one.
func form(c *edge.Ctx) []byte {
	if c.IsGet() || c.IsHead() {
		return nil
	}
	return c.Request.Body()
}

// withoutSignature returns a copy of a query or form without the parameter signature: the signed text.
func withoutSignature(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for part := range bytes.SplitSeq(text, []byte{'&'}) {
		if bytes.HasPrefix(part, []byte("signature=")) {
			continue
		}
		if len(out) > 0 {
			out = append(out, '&')
		}
		out = append(out, part...)
	}
	return out
}
