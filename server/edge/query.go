package edge

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// param is one query parameter; both slices alias the request.
type param struct{ key, value []byte }

// maxParams is the largest number of query parameters that are read. The limit on the
// target's length bounds them anyway.
const maxParams = 1024

// parseQuery reads the query: it scans the raw bytes, or uses fasthttp's decoder when the query
// is encoded.
func (c *Ctx) parseQuery() {
	raw := c.URI().QueryString()
	if len(raw) == 0 {
		return
	}
	if bytes.IndexByte(raw, '%') >= 0 || bytes.IndexByte(raw, '+') >= 0 {
		c.decodeQuery()
		return
	}
	for len(raw) > 0 && len(c.params) < maxParams {
		var pair []byte
		if i := bytes.IndexByte(raw, '&'); i >= 0 {
			pair, raw = raw[:i], raw[i+1:]
		} else {
			pair, raw = raw, nil
		}
		if len(pair) == 0 {
			continue
		}
		if i := bytes.IndexByte(pair, '='); i >= 0 {
			c.params = append(c.params, param{pair[:i], pair[i+1:]})
		} else {
			c.params = append(c.params, param{pair, nil})
		}
	}
}

func (c *Ctx) decodeQuery() {
	var args *fasthttp.Args = c.QueryArgs()
	for key, value := range args.All() {
		if len(c.params) == maxParams {
			return
		}
		c.params = append(c.params, param{key, value})
	}
}
