package edge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/conn"
)

// valHTML is the type of the page that HTML rules answer.
var valHTML = []byte("text/html; charset=utf-8")

// replaceAnswer answers in the handler's place: with nothing, a page or a redirect.
func (c faultyRequest) replaceAnswer(a *fault.Active) {
	h := &c.Response.Header
	c.Response.SetStatusCode(a.Status)
	h.SetCanonical(HdrCacheControl, ValNoStore)
	switch a.Action {
	case fault.Redirect:
		to := []byte(a.Location)
		if len(to) == 0 {
			to = c.Request.Header.RequestURI()
		}
		h.SetCanonical(hdrLocation, to)
	case fault.HTML:
		h.SetContentTypeBytes(valHTML)
		text := fmt.Sprintf("%d %s", a.Status, fasthttp.StatusMessage(a.Status))
		c.Response.SetBodyString("<!DOCTYPE html>\n<html><head><title>" + text + "</title></head>\n<body><h1>" + text +
			"</h1><p>The edge of the network answers in place of the exchange.</p></body></html>\n")
	default:
		h.SetContentTypeBytes(ValJSON)
	}
	if a.RetryAfter > 0 {
		h.SetCanonical(hdrRetryAfter, fmt.Append(nil, a.RetryAfter))
	}
}

// isTarget reports whether a rule redirects to the path of the request: what it leads to is answered.
func (c faultyRequest) isTarget(a *fault.Active) bool {
	if a.Action != fault.Redirect {
		return false
	}
	path, _, _ := strings.Cut(a.Location, "?")
	return path != "" && path == string(c.Path())
}

// onlyPair returns the pair that the request asks for, and the parameter that names it. It is empty when the answer is
// about several pairs.
func (c faultyRequest) onlyPair() (name, pair string) {
	name = c.route.pair
	if name == "" && c.edge.refuse != nil {
		name = facadeSymbol
	}
	if pair = c.PathParam(name); pair == "" {
		raw, _ := c.query(name) // the handler refuses a parameter that is there twice
		if pair = string(raw); c.route.Code != nil {
			pair = c.route.Code(pair)
		}
	}
	return name, pair
}

// facadeSymbol is the parameter of the facade's routes for the answer's only pair.
const facadeSymbol = "symbol"

// missing decides about a rule that leaves pairs out, for a request of one pair. refused is the answer if the fault
// happens.
func (c faultyRequest) missing(a *fault.Active, m fault.Match) (refused *refuse.Refusal) {
	name, pair := c.onlyPair()
	if pair == "" || a.Pair != "" && fault.Joined(a.Pair) != fault.Joined(pair) || !a.Decide(&m).Happens {
		return nil
	}
	return refuse.Missing(name, "There is no pair %s.", pair)
}

// edit applies the rules that edit documents to the answer. They decide in their order. A document that none of them
// changes keeps its bytes and headers.
func (c faultyRequest) edit(o *outcome, m fault.Match) {
	if len(o.edits) == 0 || c.Response.StatusCode() != fasthttp.StatusOK ||
		!bytes.HasPrefix(c.Response.Header.ContentType(), []byte("application/json")) {
		return
	}
	m.Names = func(string) bool { return true } // the rule's pair selects entries of documents
	body, ok := c.wholeBody()
	if !ok {
		for _, a := range o.edits {
			if a.Decide(&m).Happens {
				a.Skip()
			}
		}
		return
	}
	_, pair := c.onlyPair()
	doc, ok := fault.ReadDocument(body, pair, c.edge.refuse != nil)
	for _, a := range o.edits {
		if ok && a.Edit(doc, &m) {
			c.happens(o, a)
		}
	}
	if o.happened {
		c.dropBodyHeaders()
		c.Response.Header.SetCanonical(HdrCacheControl, ValNoStore)
		c.Response.SetBodyRaw(doc.Bytes())
	}
}

// sentBody reads the body of the answer into memory and returns it as it is sent. It reports false when the body is too
// long; the answer is then still whole.
func (c faultyRequest) sentBody() (body []byte, ok bool) {
	stream, length := c.Response.BodyStream(), c.Response.Header.ContentLength()
	pieces, ok := stream.(interface {
		io.Reader
		Unread(b []byte)
	})
	if stream != nil && length > maxKeptBody {
		return nil, false
	}
	if !ok { // in memory, whole or in parts
		body = c.Response.Body()
		return body, len(body) <= maxKeptBody
	}
	body, err := io.ReadAll(io.LimitReader(pieces, maxKeptBody+1))
	if err != nil || len(body) > maxKeptBody {
		pieces.Unread(body)
		return nil, false
	}
	c.Response.SetBodyRaw(body)
	return body, true
}

// wholeBody reads the body of the answer into memory and returns it without its compression. It reports false when
// the body is too long.
func (c faultyRequest) wholeBody() (body []byte, ok bool) {
	body, ok = c.sentBody()
	if ok && string(c.Response.Header.PeekCanonical(hdrEncoding)) == string(valGzip) {
		var err error
		if body, err = c.Response.BodyGunzip(); err != nil {
			return nil, false
		}
	}
	return body, ok && len(body) <= maxKeptBody
}

// breakJSON ends the body within and announces what is left.
func (c faultyRequest) breakJSON(o *outcome) {
	body, ok := c.wholeBody()
	if !ok {
		o.skip(o.broken)
		return
	}
	if len(body) < 2 || c.IsHead() {
		return
	}
	at := min(o.broken.Keep, len(body)-1)
	if at == 0 {
		at = 1 + int(o.brokenBy.Below(uint64(len(body)-1)))
	}
	body = bytes.Clone(body[:at])
	c.dropBodyHeaders()
	c.Response.Header.SetCanonical(HdrCacheControl, ValNoStore)
	c.Response.SetBodyRaw(body)
	c.happens(o, o.broken)
}

// faultyBody is a body that is sent in pieces or ends too early. Its announced length is the whole one.
type faultyBody struct {
	left []byte
	cut  bool // the connection closes behind the last byte

	// of a slow body
	slow  *fault.Active // nil: at once
	piece int
	every time.Duration
	c     *conn.Conn // nil: not a connection of a listener
	edge  *Listener
}

var errCut = errors.New("edge: a fault rule cut the body")

// Read implements io.Reader, for callers that want the body at once.
func (b *faultyBody) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, b.end()
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

func (b *faultyBody) end() error {
	if b.cut {
		return errCut
	}
	return io.EOF
}

// WriteTo implements io.WriterTo. It flushes each piece; fasthttp also drops the buffer of a failed answer.
func (b *faultyBody) WriteTo(w io.Writer) (n int64, err error) {
	began := time.Now()
	for len(b.left) > 0 && err == nil {
		piece := b.left
		if b.slow != nil {
			piece = b.left[:min(b.piece, len(b.left))]
		}
		var wrote int
		wrote, err = w.Write(piece)
		n, b.left = n+int64(wrote), b.left[wrote:]
		if err == nil && (b.cut || len(b.left) > 0) {
			err = b.flush(w)
		}
		if err == nil && len(b.left) > 0 {
			b.pause()
			if time.Since(began) > fault.MaxSlow {
				err = errCut
			}
		}
	}
	if err == nil && b.cut {
		err = errCut
	}
	return n, err
}

// flush sends what is written so far.
func (b *faultyBody) flush(w io.Writer) error {
	if buffer, ok := w.(*bufio.Writer); ok {
		if err := buffer.Flush(); err != nil {
			return err
		}
	}
	if b.c == nil {
		return nil
	}
	if err := b.c.Flush(); err != nil {
		return fmt.Errorf("edge: slow body: %w", err)
	}
	return b.c.SetWriteDeadline(time.Now().Add(b.every + b.edge.Write))
}

// pause waits until the next piece. After the end of the rule or of the listener the rest comes at once.
func (b *faultyBody) pause() {
	if !b.edge.wait(b.slow, b.every) {
		b.piece = len(b.left)
	}
}

// Close implements io.Closer. The HTTP server calls it once.
func (b *faultyBody) Close() error {
	if b.slow != nil {
		b.edge.held.Add(-1)
	}
	return nil
}

// spoilBody makes the body end after its first bytes, come slowly, or both. An empty body stays as it is.
func (c faultyRequest) spoilBody(o *outcome) {
	if o.cut == nil && o.slow == nil || c.IsHead() {
		return
	}
	body, ok := c.sentBody()
	if !ok {
		o.skip(o.cut)
		o.skip(o.slow)
		return
	}
	if len(body) == 0 {
		return
	}
	body = bytes.Clone(body)
	b := &faultyBody{left: body, edge: c.edge}
	b.c, _ = c.Conn().(*conn.Conn)
	if o.cut != nil {
		b.cut, b.left = true, body[:min(o.cut.Keep, len(body)-1)]
		c.happens(o, o.cut)
	}
	if o.slow != nil && c.edge.held.Add(1) > maxHeldRequests {
		c.edge.held.Add(-1)
		o.skip(o.slow)
	} else if b.slow = o.slow; o.slow != nil {
		b.piece, b.every = o.slow.Pieces()
		c.happens(o, o.slow)
	}
	if b.cut || b.slow != nil {
		c.Response.SetBodyStream(b, len(body))
	}
}
