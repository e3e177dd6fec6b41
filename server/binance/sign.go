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

// signed makes the caller of the call known, or refuses it. The parameters signature, timestamp and recvWindow
// count as read.
func (q *call) signed() *failure {
	key := q.Request.Header.PeekCanonical(reqAPIKey)
	if len(key) == 0 {
		return fail(codeBadKeyFormat, "API-key format invalid.").with(fasthttp.StatusUnauthorized)
	}
	text := append(withoutSignature(q.URI().QueryString()), withoutSignature(q.form())...)
	p := auth.Payload{
		Text: text, PublicKey: key, Remote: q.ClientAddr(), Reads: q.IsGet() || q.IsHead(), Cancel: q.IsDelete(),
	}
	return q.authenticate(&p)
}

// authenticate verifies a signature over p.Text, and sets the principal.
func (q *call) authenticate(p *auth.Payload) (err *failure) {
	signature, err := q.required("signature")
	if err != nil {
		return err
	}
	p.Signature = []byte(signature)
	if _, err = q.required("timestamp"); err != nil {
		return err
	}
	if p.TimestampMs, err = q.number("timestamp", 0); err != nil {
		return err
	}
	if p.WindowMs, err = q.number("recvWindow", defaultWindowMs); err != nil {
		return err
	}
	if p.WindowMs > maxWindowMs {
		return fail(codeBadWindow, "recvWindow must be less than %d.", maxWindowMs)
	}
	who, refused := q.f.opt.Users.VerifyPayload(p)
	if refused != nil {
		return authFailure(refused)
	}
	q.Principal = &edge.Principal{
		Account: engine.AccountID(who.User), UserID: who.ID.String(), PublicKey: who.PublicKey, CanTrade: who.CanTrade,
	}
	return nil
}

// authFailure translates a refusal of the credentials.
func authFailure(r *refuse.Refusal) *failure {
	switch {
	case r.Code != refuse.Unauthorized && r.Code != refuse.Forbidden:
		return fromRefusal(r)
	case r.Field == "timestamp":
		return fail(codeBadTime, "Timestamp for this request is outside of the recvWindow.")
	case r.Field == "signature":
		return fail(codeBadSignature, "Signature for this request is not valid.")
	}
	return fail(codeRejectedKey, "Invalid API-key, IP, or permissions for action.").with(fasthttp.StatusUnauthorized)
}

// form returns the body of a request that may have one.
func (q *call) form() []byte {
	if q.IsGet() || q.IsHead() {
		return nil
	}
	return q.Request.Body()
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
