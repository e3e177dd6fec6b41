package load

import (
	"bytes"
	"errors"
	"fmt"
)

// Answer is the response to one request. Its slices are valid until the next Read.
type Answer struct {
	Status int
	Body   []byte
	ETag   []byte
	Seq    uint64 // value of the header X-Seq, 0 without it
	Gzip   bool
	length int // length of the body from its header, -1 without one
	chunks bool
}

var (
	errHead   = errors.New("load: not an HTTP/1.1 answer")
	errLength = errors.New("load: an answer without a length")
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
	if a.chunks {
		c.r += start
		return c.readChunks(a)
	}
	for c.w-c.r < start+a.length {
		if err := c.fill(); err != nil {
			return err
		}
	}
	if len(a.ETag) > 0 { // reading the body may have moved the buffer
		*a = Answer{Status: a.Status, Seq: a.Seq, Gzip: a.Gzip, length: a.length}
		_ = a.parse(c.buf[c.r : c.r+end+2])
	}
	a.Body = c.buf[c.r+start : c.r+start+a.length]
	c.r += start + a.length
	return nil
}

// parse reads the status line and the required headers. head ends with one CRLF.
func (a *Answer) parse(head []byte) error {
	*a = Answer{length: -1}
	if len(head) < 12 || string(head[:9]) != "HTTP/1.1 " {
		return errHead
	}
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
	if a.length < 0 && !a.chunks {
		return errLength
	}
	if a.length > maxBody {
		return fmt.Errorf("load: an answer of %d bytes", a.length)
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

// readChunks reads a chunked body into one slice. The product sends none; other servers do.
func (c *Conn) readChunks(a *Answer) error {
	a.ETag = bytes.Clone(a.ETag)
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
