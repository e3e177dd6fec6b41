package edge

import (
	"sync/atomic"

	"tickhive/internal/refuse"
)

// Audit writes a line of the security log at level info: what happened, by which key (or the operator, on the
// internal listener), from where. The caller calls it after the change is durable. args holds names and values
// without secrets.
func (c *Ctx) Audit(event string, args ...any) {
	by := "operator"
	if c.Principal != nil {
		by = c.Principal.PublicKey
	}
	c.edge.Log.Info("security", append([]any{
		"event", event, "by", by, "from", c.ClientAddr().String(), "requestId", c.RequestID(),
	}, args...)...)
}

// AuthReasons names the reasons for which credentials are refused: the header that is wrong, or permission for
// a key that may not do this or not from this address.
var AuthReasons = [...]string{
	"API-PublicKey", "API-Timestamp", "API-Nonce", "API-Signature", "API-RecvWindow", "permission",
}

// authFailures counts refused credentials by reason.
type authFailures [len(AuthReasons)]atomic.Uint64

func (f *authFailures) count(err *refuse.Refusal) {
	if err.Code != refuse.Unauthorized && err.Code != refuse.Forbidden {
		return
	}
	reason := len(AuthReasons) - 1
	for i, name := range AuthReasons {
		if err.Field == name {
			reason = i
		}
	}
	f[reason].Add(1)
}

// AuthFailures returns the number of refused credentials since the start, by AuthReasons.
func (s *Server) AuthFailures() (n [len(AuthReasons)]uint64) {
	for i := range n {
		n[i] = s.public.authFailures[i].Load()
		if s.aggregator != nil {
			n[i] += s.aggregator.authFailures[i].Load()
		}
	}
	return n
}
