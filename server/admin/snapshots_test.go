package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/servertest"
)

// text is the body of a snapshot of a test.
type text struct {
	*strings.Reader
	closed *atomic.Int64
}

func (t text) Close() error {
	t.closed.Add(1)
	return nil
}

// Ranges of the snapshot file are answered as RFC 9110 says, and as net/http does for each single range: a part of the
// file, or, for a client that has begun with another one, the whole of it.
func TestRangesOfSnapshots(t *testing.T) {
	const body, tag = "0123456789abcdef", `"7-00ff"`
	var fresh, opened int
	var closed atomic.Int64
	t.Cleanup(func() { // when the listener has ended
		if int64(opened) != closed.Load() {
			t.Errorf("%d bodies, %d closed", opened, closed.Load())
		}
	})
	var refused *refuse.Refusal
	h := servertest.NewExchange(t, func(o *exchange.Options) {
		o.Hooks.Admin = func(o *admin.Options) {
			o.Snapshot = func(f bool) (*admin.Snapshot, *refuse.Refusal) {
				if refused != nil {
					return nil, refused
				}
				if f {
					fresh++
				}
				opened++
				t := text{strings.NewReader(body), &closed}
				return &admin.Snapshot{Tag: tag, Size: int64(len(body)), Message: 12, Body: t}, nil
			}
		}
	})
	send := func(method, query string, headers ...string) servertest.Answer {
		lines := method + " /internal/v1/snapshot" + query + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		for _, line := range headers {
			lines += line + "\r\n"
		}
		return innerRaw(h, lines+"\r\n")
	}
	ask := func(headers ...string) servertest.Answer { return send("GET", "", headers...) }
	reference := func(value string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Range", value)
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
		return w
	}
	for _, value := range []string{
		"bytes=0-", "bytes=0-0", "bytes=15-", "bytes=15-15", "bytes=3-7", "bytes=3-99", "bytes=-1", "bytes=-16",
		"bytes=-17", "bytes=16-", "bytes=16-20", "bytes=99-", "bytes=-99999999999999999",
	} {
		got, want := ask("Range: "+value), reference(value)
		whole := want.Code == 206 || want.Code == 416
		if !whole || got.Status != want.Code || got.Header.Get("Content-Range") != want.Header().Get("Content-Range") ||
			want.Code == 206 && (got.Body != want.Body.String() || got.Header.Get("ETag") != tag ||
				got.Header.Get("Content-Length") != want.Header().Get("Content-Length")) ||
			want.Code == 416 && got.Body != "" {
			t.Errorf("%s: %d %v %q, net/http %d %v %q", value, got.Status, got.Header, got.Body, want.Code,
				want.Header(), want.Body)
		}
	}
	if got := ask("Range: bytes=99999999999999999999999-"); got.Status != 416 {
		t.Errorf("beyond every body: %d", got.Status)
	}
	if got := ask("Range: bytes=3-99999999999999999999999"); got.Status != 206 || got.Body != body[3:] {
		t.Errorf("to beyond every body: %d %q", got.Status, got.Body)
	}
	if got := ask("Range: bytes=-0"); got.Status != 416 || got.Header.Get("Content-Range") != "bytes */16" {
		t.Errorf("no byte: %d %v", got.Status, got.Header)
	}
	// no range, several, or another identity: the whole
	for _, headers := range [][]string{
		{"Range: bytes=0-1,3-4"},
		{"Range: bytes=0-1, 3-4"},
		{"Range: bytes=5-3"},
		{"Range: bytes=a-"},
		{"Range: bytes=-"},
		{"Range: bytes=+1-2"},
		{"Range: lines=0-1"},
		{"Range: bytes"},
		{"Range: bytes=3"},
		{"Range: bytes=3-4", `If-Range: "8-00ff"`},
		{"Range: bytes=3-4", "If-Range: W/" + tag},
		{"Range: bytes=3-4", "If-Range: Sat, 29 Oct 2994 19:43:31 GMT"},
		{"Range: bytes=99-", `If-Range: "8"`},
		{"If-Range: " + tag},
		{},
	} {
		got := ask(headers...)
		if got.Status != 200 || got.Body != body || got.Header.Get("Content-Range") != "" ||
			got.Header.Get("ETag") != tag || got.Header.Get("Accept-Ranges") != "bytes" ||
			got.Header.Get(admin.HdrMessage) != "12" {
			t.Errorf("%q: %d %v %q", headers, got.Status, got.Header, got.Body)
		}
	}
	if got := ask("Range: bytes=3-4", "If-Range: "+tag); got.Status != 206 || got.Body != "34" {
		t.Errorf("of the same: %d %q", got.Status, got.Body)
	}
	if fresh != 0 {
		t.Errorf("%d snapshots were taken, and nobody asked for one", fresh)
	}
	if got := send("GET", "?fresh=true"); got.Status != 200 || got.Body != body || fresh != 1 {
		t.Errorf("a fresh one: %d %q, %d taken", got.Status, got.Body, fresh)
	}
	if got := send("GET", "?fresh=yes"); got.Status != 400 {
		t.Errorf("fresh=yes: %d %q", got.Status, got.Body)
	}
	head := send("HEAD", "", "Range: bytes=0-1")
	if head.Status != 200 || head.Header.Get("Accept-Ranges") != "bytes" || head.Header.Get("ETag") != tag ||
		head.Header.Get("Content-Length") != "16" || head.Header.Get(admin.HdrMessage) != "12" || head.Body != "" {
		t.Errorf("HEAD: %d %v %q", head.Status, head.Header, head.Body)
	}
	refused = refuse.New(refuse.Conflict, "", "There is none.")
	if got := ask(); got.Status != 409 || got.Header.Get("ETag") != "" {
		t.Errorf("without a directory: %d %v", got.Status, got.Header)
	}
}
