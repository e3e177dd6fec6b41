package stream_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/client"
)

// rawSocket sends text unchanged and reads one message after another.
type rawSocket struct {
	t  *testing.T
	ws *websocket.Conn
}

func rawDial(t *testing.T, x *live, query string) *rawSocket {
	t.Helper()
	c, _, err := websocket.DefaultDialer.Dial("ws://"+x.addr+"/ws"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	return &rawSocket{t, c}
}

func (r *rawSocket) send(text string) {
	r.t.Helper()
	if err := r.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rawSocket) next() *client.Message {
	r.t.Helper()
	_, raw, err := r.ws.ReadMessage()
	if err != nil {
		r.t.Fatal(err)
	}
	m := &client.Message{}
	if err := json.Unmarshal(raw, m); err != nil {
		r.t.Fatalf("%v: %s", err, raw)
	}
	m.Raw = raw
	return m
}

func (r *rawSocket) until(kind string) *client.Message {
	r.t.Helper()
	for {
		if m := r.next(); m.Type == kind {
			return m
		}
	}
}

// closed reads until the socket closes and returns its close code and reason.
func (r *rawSocket) closed() (int, string) {
	r.t.Helper()
	for {
		_, _, err := r.ws.ReadMessage()
		var ce *websocket.CloseError
		if errors.As(err, &ce) {
			return ce.Code, ce.Text
		}
		if err != nil {
			r.t.Fatalf("ended without a close code: %v", err)
		}
	}
}
