package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
)

// maxBody limits the bytes of an answer, before and after decompression.
const maxBody = 64 << 20

// slow is the response time above which a poller that sends a request a minute for each pair has a problem.
const slow = time.Second

// answer is the response to a request.
type answer struct {
	url    string
	status int
	header http.Header
	body   []byte // decompressed
	took   time.Duration
}

// fetch sends a GET that accepts gzip.
func (r *run) fetch(path string) (*answer, error) {
	a := &answer{url: r.Target + path}
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return a, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("Accept", "application/json")
	startNs := clock.MachineNs()
	resp, err := r.client.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.status, a.header = resp.StatusCode, resp.Header
	body, err := readAll(resp.Body)
	a.took = time.Duration(clock.MachineNs() - startNs)
	if err == nil && resp.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = readAll(z)
		}
	}
	a.body = body
	return a, err
}

func readAll(from io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err == nil && len(b) > maxBody {
		err = errors.New("the answer is longer than 64 MiB")
	}
	return b, err
}

// get requests a document and checks what must hold on every route: status, media type, JSON, gzip and response
// time. It returns nil when the document cannot be checked further.
func (r *run) get(name, path string) any {
	a, err := r.fetch(path)
	reachable := r.report.check(name+": answers", a.url, Error)
	if err != nil {
		reachable.fail("no answer: %v", err)
		reachable.done("")
		return nil
	}
	if a.status != http.StatusOK {
		reachable.fail("status %d, want 200: %.120s", a.status, a.body)
		reachable.done("")
		return nil
	}
	v, err := decode(a.body)
	if err != nil {
		reachable.fail("the body is no JSON document: %v: %.120s", err, a.body)
		reachable.done("")
		return nil
	}
	if member, at := repeated(a.body); member != "" {
		reachable.fail("the member %q is in one object twice, the second time at byte %d: a reader takes one", member,
			at)
	}
	reachable.done("200, %d bytes", len(a.body))
	media := r.report.check(name+": media type", a.url, Warning)
	if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		media.fail("Content-Type is %q, want application/json", got)
	}
	media.done("application/json")
	if len(a.body) >= 4096 {
		zip := r.report.check(name+": gzip", a.url, Warning)
		if a.header.Get("Content-Encoding") != "gzip" {
			zip.fail("%d bytes without compression, although the request accepts gzip", len(a.body))
		}
		zip.done("gzip")
	}
	quick := r.report.check(name+": response time", a.url, Warning)
	if a.took > slow {
		quick.fail("%s, want at most %s", a.took.Round(time.Millisecond), slow)
	}
	quick.done("%s", a.took.Round(time.Millisecond))
	return v
}

// refuses checks that a request for a pair that does not exist is not answered with 200.
func (r *run) refuses(name, path string) {
	a, err := r.fetch(path)
	c := r.report.check(name+": unknown pair", a.url, Warning)
	switch {
	case err != nil:
		c.fail("no answer: %v", err)
	case a.status < 400 || a.status > 499:
		c.fail("status %d for a pair that does not exist, want 4xx", a.status)
	}
	c.done("status %d", a.status)
}

func decode(body []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err = d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err = d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one value")
	}
	return v, nil
}

// repeated returns the first name that one object of a JSON document has twice, and where it stands the second time; ""
// without one.
func repeated(body []byte) (member string, at int64) {
	d := json.NewDecoder(bytes.NewReader(body))
	var open []map[string]bool // the names of each object around, nil for an array
	name := false              // the next text is a name
	for {
		token, err := d.Token()
		if err != nil {
			return "", 0
		}
		if text, ok := token.(string); ok && name {
			names := open[len(open)-1]
			if names[text] {
				return text, d.InputOffset()
			}
			names[text], name = true, false
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]bool{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}
