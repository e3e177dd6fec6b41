package bench

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// UntilClosed returns when the reader ends: a child's parent is gone or wants it gone.
func UntilClosed(r io.Reader) { _, _ = io.Copy(io.Discard, r) }

// PlainServer is net/http doing what a hot route does: a prepared document with its
// headers, a 304 for its tag, a prepared gzip for those who take it.
func PlainServer(body []byte) *http.Server {
	const tag, zipTag = `"0123456789abcdef-1"`, `"0123456789abcdef-1-g"`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(body)
	_ = z.Close()
	length, zipLength := strconv.Itoa(len(body)), strconv.Itoa(zipped.Len())
	return &http.Server{
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 75 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Content-Type", "application/json")
			h.Set("Cache-Control", "public, max-age=1")
			h.Set("Vary", "Accept-Encoding")
			h.Set("X-Seq", "12345")
			out, n, t := body, length, tag
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(body) >= 1024 {
				out, n, t = zipped.Bytes(), zipLength, zipTag
				h.Set("Content-Encoding", "gzip")
			}
			h.Set("ETag", t)
			if r.Header.Get("If-None-Match") == t {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			h.Set("Content-Length", n)
			_, _ = w.Write(out)
		}),
	}
}

// frameSize is the payload of a ready frame: about an update of one trade.
const frameSize = 300

// readyFrame is a WebSocket text frame as a server sends it.
func readyFrame() []byte {
	f := []byte{0x81, 126, frameSize >> 8, frameSize & 0xff}
	return append(f, bytes.Repeat([]byte("x"), frameSize)...)
}

// ServeFrames takes connections, and to each line `send N` writes N ready frames to every
// one of them, a write for each frame: the least that a fan-out can cost. It answers the
// number of writes.
func ServeFrames(ln net.Listener, in io.Reader, out io.Writer) error {
	arrived := make(chan net.Conn, 1024)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			arrived <- c
		}
	}()
	var conns []net.Conn
	frame := readyFrame()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		for len(arrived) > 0 {
			conns = append(conns, <-arrived)
		}
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "send %d", &n); err != nil {
			return fmt.Errorf("bench: line %q: %w", lines.Text(), err)
		}
		writes := 0
		for range n {
			for _, c := range conns {
				if _, err := c.Write(frame); err != nil {
					return fmt.Errorf("bench: %w", err)
				}
				writes++
			}
		}
		fmt.Fprintln(out, writes)
	}
	return lines.Err()
}
