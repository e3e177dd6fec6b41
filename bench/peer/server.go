package peer

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

// UntilClosed returns when r ends: the parent process has ended, or it closed the pipe to stop this child.
func UntilClosed(r io.Reader) { _, _ = io.Copy(io.Discard, r) }

// PlainServer returns a net/http server that does the work of a frequently requested route: it serves a
// prepared document with its headers, a 304 for the document's ETag, and a prepared gzip to clients that accept
// it.
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

// frameSize is the payload of a ready frame in bytes, about the size of an update with one trade.
const frameSize = 300

// readyFrame returns an encoded WebSocket text frame as a server sends it.
func readyFrame() []byte {
	f := []byte{0x81, 126, frameSize >> 8, frameSize & 0xff}
	return append(f, bytes.Repeat([]byte("x"), frameSize)...)
}

// ServeFrames accepts connections. For each line `send N PER_SECOND JOINED` it writes JOINED ready frames to
// every connection, N times at PER_SECOND, and answers the number of frames. This is the least that a fan-out
// can cost. It keeps the rate of the product's trades: without it, frames would accumulate before their readers
// woke, and writing to a socket that is already readable costs the kernel less.
func ServeFrames(ln net.Listener, in io.Reader, answers io.Writer) error {
	arrived := make(chan net.Conn, 1<<16)
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
		var n, joined int
		var perSecond float64
		if _, err := fmt.Sscanf(lines.Text(), "send %d %g %d", &n, &perSecond, &joined); err != nil {
			return fmt.Errorf("bench: line %q: %w", lines.Text(), err)
		}
		written, start, out := 0, time.Now(), bytes.Repeat(frame, joined)
		for i := range n {
			time.Sleep(time.Until(start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))))
			for _, c := range conns {
				if _, err := c.Write(out); err != nil {
					return fmt.Errorf("bench: %w", err)
				}
				written += joined
			}
		}
		fmt.Fprintln(answers, written)
	}
	return lines.Err()
}
