package load

import (
	"net/url"
	"strconv"
	"strings"
)

// Request is a prepared request: the head without its last CRLF, and the body.
type Request struct {
	Name string // name of the kind of request; the table of routes sums up requests of equal names
	head []byte
	body []byte
	// Conditional adds the ETag of the last answer to this request on this connection as If-None-Match.
	Conditional bool
	// Make, unless nil, appends the bytes of each sending, for requests that are never equal. Several connections call
	// it at the same time.
	Make func(dst []byte) []byte
}

// Get returns a GET request. headers are whole header lines without CRLF.
func Get(name, target string, headers ...string) *Request {
	return build(name, "localhost", "GET", target, nil, headers)
}

// GetOf returns a GET request to a host.
func GetOf(host, name, target string, headers ...string) *Request {
	return build(name, host, "GET", target, nil, headers)
}

// Post returns a POST request with a JSON body.
func Post(name, target string, body []byte) *Request {
	return build(name, "localhost", "POST", target, body, []string{
		"Content-Type: application/json",
		"Content-Length: " + strconv.Itoa(len(body)),
	})
}

func build(name, host, method, target string, body []byte, headers []string) *Request {
	var b strings.Builder
	b.WriteString(method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n")
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return &Request{Name: name, head: []byte(b.String()), body: body}
}

// Bytes appends the request. With a tag, it is conditional.
func (r *Request) Bytes(dst, tag []byte) []byte {
	if r.Make != nil {
		return r.Make(dst)
	}
	dst = append(dst, r.head...)
	if r.Conditional && len(tag) > 0 {
		dst = append(dst, "If-None-Match: "...)
		dst = append(append(dst, tag...), '\r', '\n')
	}
	return append(append(dst, '\r', '\n'), r.body...)
}

// Target splits a base URL into an address and the prefix of paths.
func Target(base string) (addr, prefix string, err error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", "", err
	}
	addr = u.Host
	if u.Port() == "" {
		addr = u.Hostname() + ":80"
	}
	return addr, strings.TrimSuffix(u.Path, "/"), Local(addr)
}
