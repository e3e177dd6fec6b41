package edge_test

import (
	"bufio"
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
