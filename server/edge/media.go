package edge

import (
	"bytes"
	"strings"

	"tickhive/internal/refuse"
)

// mediaType checks the media type of a request body. It accepts the four types of
// docs/contract/api.md, whatever their parameters, and treats a body without a type as JSON. It
// refuses compressed bodies (docs/contract/market-data.md#http-behaviour).
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
	case strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json") &&
		len(kind) > len("application/+json"):
		return nil
	}
	return unsupported("The body must be application/json, application/json-patch+json, text/json or " +
		"application/*+json.")
}

func unsupported(message string) *refuse.Refusal {
	return &refuse.Refusal{Code: refuse.UnsupportedMedia, Message: message, Field: "Content-Type"}
}
