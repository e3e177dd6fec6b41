package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"sync"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// Values of Cache-Control: pages are revalidated, hashed files never change.
var (
	valRevisit = []byte("no-cache")
	valForever = []byte("public, max-age=31536000, immutable")
)

const (
	smallest    = 512 // bytes; a shorter file is not compressed
	brotliLevel = 6   // 36 ms for the chart library, 59 KB; level 11 takes 1 s for 54 KB
	gzipLevel   = 9
)

// asset is an embedded file, ready to send. The repository holds no encoded copies (0.7 MB that no review can read),
// and a start encodes none (0.4 s of CPU, also of programs that no browser visits). Owner: none; its fields do not
// change, apart from the encodings, which the first request that accepts them makes.
type asset struct {
	mediaType    string
	tag          string // without its last quote, which the suffix of an encoding precedes
	cache        []byte
	csp          []byte
	plain        []byte
	compressible bool
	gzip         func() []byte
	brotli       func() []byte
}

func newAsset(body []byte, name, csp string) (*asset, error) {
	mediaType, ok := mediaTypes[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("web: no media type for %s", name)
	}
	sum := sha256.Sum256(body)
	return &asset{
		mediaType: mediaType, tag: `"` + hex.EncodeToString(sum[:8]), cache: valRevisit, csp: []byte(csp), plain: body,
		compressible: len(body) >= smallest && mediaType != mediaTypes[".png"],
		gzip:         sync.OnceValue(func() []byte { return fasthttp.AppendGzipBytesLevel(nil, body, gzipLevel) }),
		brotli:       sync.OnceValue(func() []byte { return fasthttp.AppendBrotliBytesLevel(nil, body, brotliLevel) }),
	}, nil
}

// handle sends the file in the smallest encoding that the client accepts.
func (a *asset) handle(c *edge.Ctx) *refuse.Refusal {
	return a.send(c, true)
}

// missing sends the file in place of one that does not exist: it has no tag to ask for again.
func (a *asset) missing(c *edge.Ctx) *refuse.Refusal {
	return a.send(c, false)
}

func (a *asset) send(c *edge.Ctx, tagged bool) *refuse.Refusal {
	h := &c.Response.Header
	suffix, body, coding := `"`, func() []byte { return a.plain }, ""
	if a.compressible {
		switch coding = c.Coding("br", "gzip"); coding {
		case "br":
			suffix, body = `-b"`, a.brotli
		case "gzip":
			suffix, body = `-g"`, a.gzip
		}
	}
	h.SetCanonical(edge.HdrCacheControl, a.cache)
	h.SetCanonical(hdrReferrer, valReferrer)
	h.SetCanonical(edge.HdrCSP, a.csp)
	if tagged {
		h.SetCanonical(edge.HdrETag, []byte(a.tag+suffix))
		if edge.NotModified(c.RequestCtx, a.tag+`"`) {
			c.NotModified()
			return nil
		}
	}
	h.SetContentType(a.mediaType)
	h.SetContentEncoding(coding)
	c.Response.SetBodyRaw(body())
	return nil
}

// route returns the route of the file. It is there during recovery too, so that a browser can show
// the progress.
func (a *asset) route(at string) *edge.Route {
	return &edge.Route{Method: fasthttp.MethodGet, Path: at, Handle: a.handle, Auth: edge.AuthNever, Early: true}
}
