package edge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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

// handleEdited calls the handler and applies the rules that edit its document. They decide in their order once the
// document is known. A document that none of them changes is answered as without rules.
func (c faultyRequest) handleEdited(rules []*fault.Active, m fault.Match) *refuse.Refusal {
	var before fasthttp.ResponseHeader
	c.Response.Header.CopyTo(&before)
	tags := bytes.Clone(c.Request.Header.PeekCanonical(reqIfNoneMatch))
	c.wantsBody()
	defer c.Request.Header.SetCanonical(reqIfNoneMatch, tags)
	if err := c.route.Handle(c.Ctx); err != nil || c.Hijacked() {
		return err
	}
	if c.Response.StatusCode() != fasthttp.StatusOK ||
		!bytes.HasPrefix(c.Response.Header.ContentType(), []byte("application/json")) {
		return nil
	}
	body, ok := c.wholeBody()
	if !ok { // too long: the handler writes it again
		for _, a := range rules {
			if a.Decide(&m).Happens {
				a.Skip()
			}
		}
		c.Response.Reset()
		before.CopyTo(&c.Response.Header)
		return c.route.Handle(c.Ctx)
	}
	_, pair := c.onlyPair()
	doc, ok := fault.ReadDocument(body, pair, c.edge.refuse != nil)
	changed := false
	for _, a := range rules {
		if ok && a.Edit(doc, &m) {
			c.nameFault(a)
			changed = true
		}
	}
	if changed {
		c.dropBodyHeaders()
		c.Response.Header.SetCanonical(HdrCacheControl, ValNoStore)
		c.Response.SetBodyRaw(doc.Bytes())
		return nil
	}
	c.Request.Header.SetCanonical(reqIfNoneMatch, tags)
	if tag := string(c.Response.Header.PeekCanonical(HdrETag)); tag != "" && NotModified(c.RequestCtx, tag) {
		c.NotModified()
	}
	return nil
}

// wantsBody makes the handler answer with a body although the client may have it already.
func (c faultyRequest) wantsBody() { c.Request.Header.DelBytes(reqIfNoneMatch) }

// wholeBody reads the body of the answer into memory and returns it without its compression. It reports false when
// the body is too long; then the answer is as it was.
func (c faultyRequest) wholeBody() (body []byte, ok bool) {
	if c.Response.IsBodyStream() && c.Response.Header.ContentLength() < 0 { // trades, written in pieces
		stream := c.Response.BodyStream()
		sent, err := io.ReadAll(io.LimitReader(stream, maxKeptBody+1))
		if err != nil || len(sent) > maxKeptBody {
			c.Response.SetBodyStream(io.MultiReader(bytes.NewReader(sent), stream), -1)
			return nil, false
		}
		c.Response.SetBodyRaw(sent)
	}
	if !c.holdsBody() {
		return nil, false
	}
	body = c.Response.Body() // also of a text in parts, which is written and cannot be read
	if string(c.Response.Header.PeekCanonical(hdrEncoding)) == string(valGzip) {
		var err error
		if body, err = c.Response.BodyGunzip(); err != nil {
			return nil, false
		}
	}
	return body, len(body) <= maxKeptBody
}

// breakJSON ends the body within and announces what is left. It reports false when the body is too long to be read.
func (c faultyRequest) breakJSON(a *fault.Active, d fault.Decision) bool {
	body, ok := c.wholeBody()
	if !ok || len(body) < 2 {
		return false
	}
	at := min(a.Keep, len(body)-1)
	if at == 0 {
		at = 1 + int(d.Below(uint64(len(body)-1)))
	}
	body = bytes.Clone(body[:at])
	c.dropBodyHeaders()
	c.Response.Header.SetCanonical(HdrCacheControl, ValNoStore)
	c.Response.SetBodyRaw(body)
	return true
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

// spoilBody makes the body end after its first bytes (cut), come slowly, or both; the rules may be nil. It reports
// which of the two happened: neither does when the body is empty or too long to be read, nor a slow one when too many
// requests are held back.
func (c faultyRequest) spoilBody(cut, slow *fault.Active) (cuts, slows bool) {
	if cut == nil && slow == nil || c.IsHead() || !c.holdsBody() {
		return false, false
	}
	body := bytes.Clone(c.Response.Body())
	if len(body) == 0 {
		return false, false
	}
	b := &faultyBody{left: body, edge: c.edge}
	b.c, _ = c.Conn().(*conn.Conn)
	if cut != nil {
		b.cut, b.left = true, body[:min(cut.Keep, len(body)-1)]
	}
	if slow != nil && c.edge.held.Add(1) > maxHeldRequests {
		c.edge.held.Add(-1)
		slow = nil
	}
	if b.slow = slow; slow != nil {
		b.piece, b.every = slow.Pieces()
	}
	if cut != nil || slow != nil {
		c.Response.SetBodyStream(b, len(body))
	}
	return cut != nil, slow != nil
}
