package load

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits of a connection.
const (
	connBuffer  = 64 << 10
	maxHead     = 32 << 10
	maxBody     = 256 << 20
	dialTimeout = 5 * time.Second
	// AnswerTimeout is the time after which a connection without an answer is closed. It is far longer than any
	// latency that a run should measure.
	AnswerTimeout = 30 * time.Second
)

// ErrNotLocal refuses a target on another machine.
var ErrNotLocal = errors.New("the target is not a loopback address")

// Conn is one keep-alive connection. Owner: one goroutine.
type Conn struct {
	c    net.Conn
	buf  []byte
	r, w int // buf[r:w] has been received and not been parsed yet
	body []byte
	ends bool // the server closes it behind the last answer
}

// Local returns an error unless host:port is on this machine.
func Local(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%w: %s", ErrNotLocal, addr)
	}
	return nil
}

// Dial opens a connection to a loopback address.
func Dial(addr string) (*Conn, error) {
	if err := Local(addr); err != nil {
		return nil, err
	}
	return DialAny(addr, nil)
}

// DialAny opens a connection to any address, with TLS unless secure is nil.
func DialAny(addr string, secure *tls.Config) (*Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	c, err := dialer.Dial("tcp", addr)
	if err == nil && secure != nil {
		t := tls.Client(c, secure)
		_ = c.SetDeadline(time.Now().Add(dialTimeout)) // the handshake fails on a closed connection
		if err = t.Handshake(); err != nil {
			_ = c.Close()
		}
		c = t
	}
	if err != nil {
		return nil, err
	}
	return &Conn{c: c, buf: make([]byte, connBuffer)}, nil
}

// Close closes the connection.
func (c *Conn) Close() { _ = c.c.Close() }

// Send writes the bytes of a request.
func (c *Conn) Send(req []byte) error {
	_, err := c.c.Write(req)
	return err
}

// idle is the time without a request from which on a worker looks whether the server has closed its connection.
const idle = 100 * time.Millisecond

// closed reports whether the server has closed the connection, between two requests.
func (c *Conn) closed() bool {
	plain, secure := c.c, (*tls.Conn)(nil)
	if t, ok := c.c.(*tls.Conn); ok {
		plain, secure = t.NetConn(), t
	}
	raw, err := plain.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	var one [1]byte
	n, looked := 0, error(nil)
	err = raw.Read(func(fd uintptr) bool {
		n, _, looked = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	switch {
	case err != nil:
		return true
	case looked != nil:
		return !errors.Is(looked, syscall.EAGAIN)
	case n == 0 || secure == nil: // the end, or bytes that nobody has asked for
		return true
	}
	_ = secure.SetReadDeadline(time.Now().Add(time.Millisecond)) // a ticket of TLS, or the word that it ends
	_, err = secure.Read(one[:])
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// deadline sets the deadline of the connection. It is called once for a batch of answers, because setting a
// timer costs 1 us.
func (c *Conn) deadline() error { return c.c.SetDeadline(time.Now().Add(AnswerTimeout)) }

// fill makes room in the buffer and reads more bytes into it.
func (c *Conn) fill() error {
	if c.r > 0 && c.w == len(c.buf) {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.buf) {
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	n, err := c.c.Read(c.buf[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// Once sends one request on a new connection and returns a copy of the answer.
func Once(addr string, r *Request) (Answer, error) {
	conn, err := Dial(addr)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	var a Answer
	if err := conn.deadline(); err != nil {
		return a, err
	}
	if err := conn.Send(r.Bytes(nil, nil)); err != nil {
		return a, err
	}
	if err := conn.Read(&a); err != nil {
		return a, err
	}
	a.Body = append([]byte(nil), a.Body...)
	a.ETag = append([]byte(nil), a.ETag...)
	return a, nil
}

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

// GetOf returns a GET request whose header Host is host; that of Get is localhost.
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

// Of returns a request of any method to a host. headers are whole header lines without CRLF; the length of a body that
// is not nil is added.
func Of(method, host, name, target string, body []byte, headers []string) *Request {
	if body != nil {
		headers = append(slices.Clip(headers), "Content-Length: "+strconv.Itoa(len(body)))
	}
	return build(name, host, method, target, body, headers)
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

// Answer is the response to one request. Its slices are valid until the next Read.
type Answer struct {
	Status int
	Body   []byte
	ETag   []byte
	Seq    uint64 // value of the header X-Seq, 0 without it
	Fault  []byte // value of the header X-Fault: a fault on demand of the exchange made this answer
	Gzip   bool
	length int // length of the body from its header, -1 without one
	chunks bool
	ends   bool // the connection ends behind the answer
}

var (
	errHead   = errors.New("not an answer of HTTP/1.1 or 1.0")
	errLength = errors.New("an answer without a length")
	headEnd   = []byte("\r\n\r\n")
)

// Read reads one response.
func (c *Conn) Read(a *Answer) error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	end := -1
	for from := 0; end < 0; {
		if i := bytes.Index(c.buf[c.r+from:c.w], headEnd); i >= 0 {
			end = from + i
			break
		}
		if from = max(0, c.w-c.r-3); from > maxHead {
			return errHead
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
	head := c.buf[c.r : c.r+end+2]
	if err := a.parse(head); err != nil {
		return err
	}
	start := end + len(headEnd)
	c.ends = a.ends
	if a.chunks {
		c.r += start
		return c.readChunks(a)
	}
	if a.length < 0 {
		return c.readToEnd(a, end)
	}
	for c.w-c.r < start+a.length {
		if err := c.fill(); err != nil {
			return err
		}
	}
	if len(a.ETag)+len(a.Fault) > 0 { // reading the body may have moved the buffer
		_ = a.parse(c.buf[c.r : c.r+end+2])
	}
	a.Body = c.buf[c.r+start : c.r+start+a.length]
	c.r += start + a.length
	return nil
}

// parse reads the status line and the required headers. head ends with one CRLF.
func (a *Answer) parse(head []byte) error {
	*a = Answer{length: -1}
	if len(head) < 12 || string(head[:7]) != "HTTP/1." || head[7] != '1' && head[7] != '0' || head[8] != ' ' {
		return errHead
	}
	a.ends = head[7] == '0'
	a.Status = int(head[9]-'0')*100 + int(head[10]-'0')*10 + int(head[11]-'0')
	line := head[bytes.IndexByte(head, '\n')+1:]
	for len(line) > 0 {
		i := bytes.IndexByte(line, '\n')
		if i < 1 {
			break
		}
		a.header(line[:i-1])
		line = line[i+1:]
	}
	if a.Status == 304 || a.Status == 204 || a.Status/100 == 1 {
		a.length = 0
	}
	if a.length < 0 && !a.chunks && !a.ends {
		return errLength
	}
	if a.length > maxBody {
		return fmt.Errorf("an answer of %d bytes", a.length)
	}
	return nil
}

// header parses one header line. It distinguishes most names by their length.
func (a *Answer) header(line []byte) {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return
	}
	name, value := line[:colon], bytes.TrimLeft(line[colon+1:], " ")
	switch colon {
	case 4:
		if bytes.EqualFold(name, []byte("ETag")) {
			a.ETag = value
		}
	case 5:
		if bytes.EqualFold(name, []byte("X-Seq")) {
			a.Seq = number(value)
		}
	case 7:
		if bytes.EqualFold(name, []byte("X-Fault")) {
			a.Fault = value
		}
	case 10:
		if bytes.EqualFold(name, []byte("Connection")) {
			a.ends = a.ends && !bytes.EqualFold(value, []byte("keep-alive")) || bytes.EqualFold(value, []byte("close"))
		}
	case 14:
		if bytes.EqualFold(name, []byte("Content-Length")) {
			a.length = int(number(value))
		}
	case 16:
		if bytes.EqualFold(name, []byte("Content-Encoding")) {
			a.Gzip = string(value) == "gzip"
		}
	case 17:
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			a.chunks = bytes.EqualFold(value, []byte("chunked"))
		}
	}
}

func number(b []byte) (n uint64) {
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// readToEnd reads a body that ends with its connection. head is the length of the head.
func (c *Conn) readToEnd(a *Answer, head int) error {
	for {
		switch err := c.fill(); {
		case errors.Is(err, io.EOF):
			_ = a.parse(c.buf[c.r : c.r+head+2]) // reading the body may have moved the buffer
			a.Body = c.buf[c.r+head+len(headEnd) : c.w]
			c.r = c.w
			return nil
		case err != nil:
			return err
		case c.w-c.r > maxBody:
			return fmt.Errorf("an answer of more than %d bytes", maxBody)
		}
	}
}

// readChunks reads a chunked body into one slice. The product sends none; other servers do.
func (c *Conn) readChunks(a *Answer) error {
	a.ETag, a.Fault = bytes.Clone(a.ETag), bytes.Clone(a.Fault)
	c.body = c.body[:0]
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size := 0
		for _, x := range bytes.ToLower(line) {
			switch {
			case x >= '0' && x <= '9':
				size = size<<4 | int(x-'0')
			case x >= 'a' && x <= 'f':
				size = size<<4 | int(x-'a'+10)
			}
			if x == ';' || size > maxBody {
				break
			}
		}
		for c.w-c.r < size+2 {
			if err := c.fill(); err != nil {
				return err
			}
		}
		c.body = append(c.body, c.buf[c.r:c.r+size]...)
		c.r += size + 2
		if size == 0 {
			a.Body = c.body
			return nil
		}
	}
}

func (c *Conn) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(c.buf[c.r:c.w], '\n'); i > 0 {
			line := c.buf[c.r : c.r+i-1]
			c.r += i + 1
			return line, nil
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}
