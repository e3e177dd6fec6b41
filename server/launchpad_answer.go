package server

import (
	"bytes"
	"errors"
	"slices"

	json "github.com/goccy/go-json"

	"tickhive/internal/refuse"
	"tickhive/internal/wal"
)

// agentError is a refusal of ledger or hive, or a store that takes no changes, as an
// answer. look is where the caller finds out whether a change was recorded whose outcome
// is unknown.
func agentError(err error, look string) *refuse.Refusal {
	var refused *refuse.Refusal
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, wal.ErrBusy):
		return refuse.Later(1, "Too many changes wait; nothing was changed.")
	case errors.Is(err, wal.ErrOutcomeUnknown):
		return outcomeUnknown("The change", "look at "+look+" before you repeat the request.")
	case errors.Is(err, wal.ErrClosed):
		return refuse.Later(5, "The server is shutting down; nothing was changed.")
	}
	return refuse.Later(5, "The launchpad takes no changes at the moment; nothing was changed.")
}

// sendDecimals answers with v, whose decimals are its own.
func sendDecimals(c *Ctx, v any) *refuse.Refusal {
	c.Private(agentJSON(v))
	return nil
}

// sendFree answers with v, which has no decimals but in members that stand as they were
// sent (metadata, payloads): those are nobody's to rewrite, ?decimals=string or not.
func sendFree(c *Ctx, v any) *refuse.Refusal {
	c.decimalsText = false
	return sendDecimals(c, v)
}

// agentJSON writes an answer; free-form members keep their characters.
func agentJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: server: an answer that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// readForm reads a body that is an object of these members and answers each as it was
// sent, nil for a missing one. Unknown and duplicate members are refused.
func readForm(body []byte, members ...string) ([]json.RawMessage, *refuse.Refusal) {
	var r bodyReader
	r.reset(body)
	form := make([]json.RawMessage, len(members))
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			if i := slices.Index(members, string(key)); i >= 0 {
				form[i] = r.anything()
			} else {
				r.unknown()
			}
		}
	}
	if err := r.finish(); err != nil {
		return nil, badBody(err)
	}
	return form, nil
}

// anything reads a value of any type and answers it as sent.
func (r *bodyReader) anything() json.RawMessage {
	r.peek()
	start := r.pos
	r.skip()
	if r.err != nil {
		return nil
	}
	return json.RawMessage(r.data[start:r.pos:r.pos])
}
