package edge

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/marketdata"
)

// NoSeq marks documents without X-Seq.
const NoSeq = 1<<64 - 1

// NewDoc returns a document to cache; its tag is the hash of the body.
func NewDoc(body []byte, seq uint64, nowNs int64) *marketdata.Doc {
	return &marketdata.Doc{Body: body, ETag: string(AppendTag(nil, TagHash(body))), Seq: seq, RenderedNs: nowNs}
}

// SendDoc answers with a cached document: 304 when the client already has it, gzip when the client accepts it
// and it is ready.
func (c *Ctx) SendDoc(d *marketdata.Doc, at DocPlace) *refuse.Refusal {
	if c.Principal != nil || c.DecimalsText {
		return c.SendBody(d.Bytes(), d.Seq)
	}
	h := &c.Response.Header
	var body, tag []byte
	if d.Size() >= gzipMinBytes && accepts(c.RequestCtx, valGzip) {
		if z := c.edge.gzip.get(d, at); z != nil {
			body, tag = z, appendGzipTag(c.tag[:0], d.ETag)
			h.SetContentEncodingBytes(valGzip)
		}
	}
	if tag == nil {
		tag = append(c.tag[:0], d.ETag...)
	}
	c.PublicHeaders(tag, d.Seq)
	if NotModified(c.RequestCtx, d.ETag) {
		c.NotModified()
		return nil
	}
	h.SetContentTypeBytes(ValJSON)
	if body == nil {
		body = d.CachedBytes()
	}
	if body == nil {
		c.Response.SetBodyStream(textStream(c.Conn(), d.Text), d.Text.Size)
	} else {
		c.Response.SetBodyRaw(body)
	}
	return nil
}

// SendBody answers with a body that was rendered for this request only. It retains body.
func (c *Ctx) SendBody(body []byte, seq uint64) *refuse.Refusal {
	if c.DecimalsText {
		body = AppendQuotedDecimals(make([]byte, 0, len(body)+len(body)/4), body)
	}
	hash := uint64(0)
	if c.Principal == nil {
		hash = TagHash(body)
	}
	if packed, ok := c.SendHead(hash, seq, len(body) >= gzipMinBytes); ok {
		if packed {
			body = c.edge.gzip.pack(body)
		}
		c.Response.SetBodyRaw(body)
	}
	return nil
}

// SendHead sets the headers of an answer that was rendered for this request only. hash is the hash of the body
// without compression. ok is false when it has answered 304 because the client already has the body. packed reports
// that the caller must send the body in gzip: it may, the answer is public, and the client accepts it.
func (c *Ctx) SendHead(hash, seq uint64, mayPack bool) (packed, ok bool) {
	h := &c.Response.Header
	if c.Principal != nil {
		c.SetSeq(seq)
		h.SetCanonical(HdrCacheControl, ValNoStore)
		h.SetContentTypeBytes(ValJSON)
		return false, true
	}
	packed = mayPack && accepts(c.RequestCtx, valGzip)
	tag := string(AppendTag(c.tag[:0], hash))
	sent := append(c.tag[:0], tag...)
	if packed {
		sent = appendGzipTag(c.tag[:0], tag)
		h.SetContentEncodingBytes(valGzip)
	}
	c.PublicHeaders(sent, seq)
	if NotModified(c.RequestCtx, tag) {
		c.NotModified()
		return false, false
	}
	h.SetContentTypeBytes(ValJSON)
	return packed, true
}

// PublicHeaders sets the headers of every public market-data answer, including 304.
func (c *Ctx) PublicHeaders(tag []byte, seq uint64) {
	h := &c.Response.Header
	h.SetCanonical(HdrETag, tag)
	h.SetCanonical(HdrCacheControl, c.route.maxAge)
	h.SetCanonical(hdrVary, valVary)
	c.SetSeq(seq)
}

// SetSeq sets X-Seq.
func (c *Ctx) SetSeq(seq uint64) {
	if seq != NoSeq {
		c.Response.Header.SetCanonical(hdrSeq, strconv.AppendUint(c.number[:0], seq, 10))
	}
}

// NotModified makes the answer a 304 without a body.
func (c *Ctx) NotModified() {
	c.Response.Header.SetContentEncodingBytes(nil)
	c.Response.SetStatusCode(fasthttp.StatusNotModified)
	c.Response.ResetBody()
	c.Response.SkipBody = true
}
