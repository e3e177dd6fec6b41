package server

import (
	"bytes"
	"errors"
	"slices"

	json "github.com/goccy/go-json"

	"tickhive/internal/refuse"
	"tickhive/internal/wal"
)

// agentError returns the refusal for an error of the ledger or the hive, or for a store that
// accepts no changes. look names where the client can check whether a change with an unknown
// outcome was recorded.
func agentError(err error, look string) *refuse.Refusal {
	var refused *refuse.Refusal
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, wal.ErrBusy):
		return refuse.Later(1, "Too many changes wait; nothing was changed.")
	case errors.Is(err, wal.ErrOutcomeUnknown):
		return refuse.Unknown("The change", "look at "+look+" before you repeat the request.")
	case errors.Is(err, wal.ErrClosed):
		return refuse.Later(5, "The server is shutting down; nothing was changed.")
	}
	return refuse.Later(5, "The launchpad takes no changes at the moment; nothing was changed.")
}

// sendDecimals sends v, whose decimals follow ?decimals.
func sendDecimals(c *Ctx, v any) *refuse.Refusal {
	c.Private(agentJSON(v))
	return nil
}

// sendFree sends v, whose only decimals are in members that must stay as they were sent
// (metadata, payloads), with or without ?decimals=string.
func sendFree(c *Ctx, v any) *refuse.Refusal {
	c.decimalsText = false
	return sendDecimals(c, v)
}

// agentJSON encodes an answer without HTML escapes, so free-form members keep their characters.
func agentJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: server: an answer that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// readForm reads a body that is an object of these members and returns each value as it was
// sent, nil for a missing one. It refuses unknown and duplicate members.
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

// anything reads a value of any type and returns it as sent.
func (r *bodyReader) anything() json.RawMessage {
	r.peek()
	start := r.pos
	r.skip()
	if r.err != nil {
		return nil
	}
	return json.RawMessage(r.data[start:r.pos:r.pos])
}
