package server

import (
	"bytes"
	"strings"

	"tickhive/internal/refuse"
)

// mediaType checks the type of a request body: the four of docs/contract/api.md, parameters
// ignored, a body without a type is JSON, compressed bodies are refused
// (docs/contract/market-data.md#http-behaviour).
func (c *Ctx) mediaType() *refuse.Refusal {
	if c.route.Body == BodyNone {
		return nil
	}
	h := &c.Request.Header
	if encoding := h.ContentEncoding(); len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity")) {
		return unsupported("The body must not be compressed.")
	}
	if c.route.Body == BodyAny {
		return nil
	}
	kind, _, _ := strings.Cut(string(h.ContentType()), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch {
	case kind == "", kind == "application/json", kind == "application/json-patch+json", kind == "text/json":
		return nil
	case strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json") && len(kind) > len("application/+json"):
		return nil
	}
	return unsupported("The body must be application/json, application/json-patch+json, text/json or application/*+json.")
}

func unsupported(message string) *refuse.Refusal {
	return &refuse.Refusal{Code: refuse.UnsupportedMedia, Message: message, Field: "Content-Type"}
}
