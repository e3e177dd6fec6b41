package server_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// A client that is still sending can read the refusal; its connection is not reset.
func TestRefusalArrivesWhileClientSends(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = m.Server.Serve(ln) }()
	for name, request := range map[string]struct {
		text   string
		status int
	}{
		"head": {"GET /api/time HTTP/1.1\r\nX-Large: " + strings.Repeat("a", 300_000) + "\r\n\r\n", 431},
		"body": {"POST /api/time HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" +
			strings.Repeat("a", 900_000), 413},
	} {
		for range 20 {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(conn, strings.NewReader(request.text)); err != nil {
				t.Fatalf("%s: the client could not send: %v", name, err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if a := m.Read(res, name); a.Status != request.status {
				t.Fatalf("%s: %d %s", name, a.Status, a.Body)
			}
			_ = conn.Close()
		}
	}
}

// A connection that outlives the shutdown of its server answers one request at most: afterwards another server has the
// address, and this one tells what was.
func TestAConnectionEndsAfterItsServer(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = m.Server.Serve(ln) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	send := func(text string) { _, _ = io.WriteString(conn, text) }
	answer := bufio.NewReader(conn)
	const request = "GET /api/time HTTP/1.1\r\nHost: x\r\n\r\n"
	send(request)
	if res, err := http.ReadResponse(answer, nil); err != nil || m.Read(res, "before").Status != 200 {
		t.Fatal(res, err)
	}
	send("POST /api/time HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
	if res, err := http.ReadResponse(answer, nil); err != nil || res.StatusCode != 100 {
		t.Fatal(res, err) // with 100 the server waits for the body
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Server.Shutdown(ended); err == nil {
		t.Fatal("the shutdown did not see the connection")
	}
	send("x" + request)
	for range 2 {
		res, err := http.ReadResponse(answer, nil)
		if err != nil {
			return
		}
		_ = m.Read(res, "after")
	}
	t.Error("the connection goes on")
}
