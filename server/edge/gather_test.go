package edge

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/conn"
	"github.com/tickhive/tickhive/server/doc"
)

// A text with more parts than one system call accepts arrives whole, after the buffered bytes,
// and can be written again.
func TestLargeTextIsGatheredBehindTheBuffer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := conn.NewTable(conn.Limits{Total: 1}).Listener(ln, nil).Accept()
	if err != nil {
		t.Fatal(err)
	}
	text, want := &doc.Text{}, ""
	for i := range 3000 {
		part := strings.Repeat(string(rune('a'+i%26)), 40+i%7)
		text.Add([]byte(part))
		want += part
	}
	stream, ok := textStream(accepted, text).(*gatheredText)
	if !ok {
		t.Fatal("not gathered")
	}
	sent := make(chan error, 1)
	go func() {
		defer accepted.Close()
		w := bufio.NewWriter(accepted)
		for range 2 {
			if _, err := w.WriteString("head:"); err != nil {
				sent <- err
				return
			}
			if n, err := stream.WriteTo(w); err != nil || n != int64(text.Size) {
				sent <- err
				return
			}
		}
		_, _ = w.WriteString("end")
		sent <- w.Flush()
	}()
	got, err := io.ReadAll(client)
	if err != nil || string(got) != "head:"+want+"head:"+want+"end" {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}
