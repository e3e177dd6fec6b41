package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// giver serves snapshots by the ranges of net/http, and breaks answers off.
type giver struct {
	mu    sync.Mutex
	now   []byte
	tag   string
	cuts  []int64               // behind so many bytes each answer breaks off; then none does
	asked []string              // Range and If-Range of each request
	sent  int64                 // bytes of all answers
	then  func(g *giver, n int) // is called behind answer n
	bad   func(n int, w http.ResponseWriter) bool
}

// cut breaks the connection off behind n bytes of the body.
type cut struct {
	http.ResponseWriter
	g *giver
	n int64
}

func (c *cut) Write(p []byte) (int, error) {
	if int64(len(p)) < c.n || c.n < 0 {
		n, err := c.ResponseWriter.Write(p)
		c.n, c.g.sent = c.n-int64(n), c.g.sent+int64(n)
		return n, err
	}
	n, _ := c.ResponseWriter.Write(p[:c.n])
	c.g.sent += int64(n)
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func (g *giver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.asked)
	g.asked = append(g.asked, r.Header.Get("Range")+" "+r.Header.Get("If-Range"))
	defer func() {
		if g.then != nil {
			g.then(g, n)
		}
	}()
	if g.bad != nil && g.bad(n, w) {
		return
	}
	c := &cut{w, g, -1}
	if len(g.cuts) > n {
		c.n = g.cuts[n]
	}
	if g.tag != "" {
		w.Header().Set("ETag", g.tag)
	}
	http.ServeContent(c, r, "", time.Time{}, bytes.NewReader(g.now))
}

// given makes snapshot files.
type given struct {
	t *testing.T
	n int
}

// small returns a snapshot file with a body.
func (a *given) small(text string) []byte {
	a.t.Helper()
	h := node.Head{Rules: node.Rules, Genesis: node.Genesis{Epoch: "e1"}}
	head, err := h.Text()
	if err != nil {
		a.t.Fatal(err)
	}
	dir, id := a.t.TempDir(), wal.Identity{History: wal.ID{1}, Directory: wal.ID{2}}
	o := wal.Options{NoLock: true, Name: "engine", Identity: id}
	err = wal.WriteSnapshot(vfs.OS{}, dir, o, wal.SnapshotMeta{Seq: 7, Chain: 9, Head: head}, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, wal.SnapshotName(7)))
	if err != nil {
		a.t.Fatal(err)
	}
	return data
}

// fetch fetches from the giver, and returns the body of the snapshot. Nothing else stays in the directory.
func (a *given) fetch(g *giver) (state string, err error) {
	a.t.Helper()
	server := httptest.NewServer(g)
	defer server.Close()
	a.n++
	to := filepath.Join(a.t.TempDir(), fmt.Sprint(a.n))
	f := node.Fetch{
		Machine: node.OwnMachine(), From: node.Peer{URL: server.URL, Client: server.Client()}, To: to,
		Options: wal.Options{NoLock: true, Name: "engine"},
	}
	s, err := f.Run(a.t.Context())
	if err != nil {
		if _, missing := os.Stat(to); !errors.Is(missing, fs.ErrNotExist) {
			a.t.Errorf("a part of the file stays: %v", missing)
		}
		return "", err
	}
	text, err := io.ReadAll(s.Body())
	return string(text), errors.Join(err, s.Close())
}

// A transfer that breaks off goes on at the byte that it has reached, wherever that is, and no byte comes twice.
func TestATransferGoesOnWhereItBrokeOff(t *testing.T) {
	a := &given{t: t}
	data := a.small("market")
	size := int64(len(data))
	for at := int64(0); at < size; at += 5 {
		g := &giver{now: data, tag: `"1-a"`, cuts: []int64{at}}
		market, err := a.fetch(g)
		if err != nil || market != "market" || g.sent != size || len(g.asked) != 2 {
			t.Fatalf("cut behind byte %d of %d: %v, %d bytes sent, %q", at, size, err, g.sent, g.asked)
		}
		if want := fmt.Sprintf(`bytes=%d- "1-a"`, at); g.asked[1] != want {
			t.Errorf("cut behind byte %d: %q, not %q", at, g.asked[1], want)
		}
	}
	var every []int64
	for range size - 1 {
		every = append(every, size/16+1)
	}
	g := &giver{now: data, tag: `"1-a"`, cuts: every}
	if market, err := a.fetch(g); err != nil || market != "market" || g.sent != size || len(g.asked) < 15 {
		t.Errorf("cut each time: %v, %d bytes of %d sent, %d requests", err, g.sent, size, len(g.asked))
	}
}

// random returns so many bytes that do not shrink.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails
	return string(b)
}

// A large one is cut at the boundaries of its chunks, and one byte before and behind.
func TestATransferGoesOnAtTheBoundariesOfChunks(t *testing.T) {
	a := &given{t: t}
	data := a.small(random(1_200_000))
	for at := int64(256 << 10); at < int64(len(data)); at += 256 << 10 {
		for _, at := range []int64{at - 1, at, at + 1} {
			g := &giver{now: data, tag: `"1-a"`, cuts: []int64{at}}
			if market, err := a.fetch(g); err != nil || len(market) != 1_200_000 || g.sent != int64(len(data)) {
				t.Errorf("cut behind byte %d: %v, %d bytes sent", at, err, g.sent)
			}
		}
	}
}

// A node that has another snapshot by then, one without a tag, and one that continues another snapshot, make the
// transfer begin again; what came before is not used.
func TestATransferBeginsAgainWithAnotherSnapshot(t *testing.T) {
	a := &given{t: t}
	first, second := a.small("first"), a.small("the second one")
	change := func(g *giver, n int) {
		if n == 0 {
			g.now, g.tag = second, `"2-b"`
		}
	}
	g := &giver{now: first, tag: `"1-a"`, cuts: []int64{100}, then: change}
	if market, err := a.fetch(g); err != nil || market != "the second one" || len(g.asked) != 2 ||
		g.sent != 100+int64(len(second)) {
		t.Errorf("%q, %v, %d bytes, %q", market, err, g.sent, g.asked)
	}

	g = &giver{now: first, cuts: []int64{100}}
	if market, err := a.fetch(g); err != nil || market != "first" || len(g.asked) != 2 || g.asked[1] != " " {
		t.Errorf("without a tag: %q, %v, %q", market, err, g.asked)
	}

	g = &giver{now: first, tag: `"1-a"`, cuts: []int64{100}, bad: func(n int, w http.ResponseWriter) bool {
		if n == 1 {
			w.Header().Set("ETag", `"2-b"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 100-%d/%d", len(first)-1, len(first)))
			w.WriteHeader(206)
			_, _ = w.Write(second[100:len(first)])
		}
		return n == 1
	}}
	if market, err := a.fetch(g); err != nil || market != "first" || len(g.asked) != 3 || g.asked[2] != " " {
		t.Errorf("another one continued: %q, %v, %q", market, err, g.asked)
	}
}

// A transfer is given up after three requests that bring nothing, and after 64 in all. One byte that differs is
// noticed, and an answer that passes leaves the bytes that are here.
func TestATransferIsBounded(t *testing.T) {
	a := &given{t: t}
	data := a.small("market")
	damaged := bytes.Clone(data)
	damaged[len(data)/2] ^= 1
	g := &giver{now: damaged, tag: `"1-a"`}
	if _, err := a.fetch(g); !errors.As(err, new(*wal.CorruptError)) || len(g.asked) != 3 {
		t.Errorf("damaged: %v after %d requests", err, len(g.asked))
	}
	g = &giver{now: damaged, tag: `"1-a"`, cuts: []int64{int64(len(data)) - 1}, then: func(g *giver, n int) {
		g.now = data // the next one is whole; what is here is not
	}}
	if market, err := a.fetch(g); err != nil || market != "market" || len(g.asked) != 3 {
		t.Errorf("damaged, then not: %q %v after %d requests", market, err, len(g.asked))
	}
	var ones []int64
	for range 100 {
		ones = append(ones, 1)
	}
	g = &giver{now: a.small(random(1000)), tag: `"1-a"`, cuts: ones}
	if _, err := a.fetch(g); !errors.Is(err, io.ErrUnexpectedEOF) || len(g.asked) != 64 {
		t.Errorf("one byte each: %v after %d requests", err, len(g.asked))
	}
	g = &giver{now: data, tag: `"1-a"`, cuts: []int64{50}, bad: func(n int, w http.ResponseWriter) bool {
		if n == 1 {
			w.WriteHeader(503)
		}
		return n == 1
	}}
	if market, err := a.fetch(g); err != nil || market != "market" || g.sent != int64(len(data)) {
		t.Errorf("refused once: %q, %v, %d bytes", market, err, g.sent)
	}
	for status, requests := range map[int]int{401: 1, 404: 1, 409: 1, 503: 3} {
		g = &giver{now: data, bad: func(_ int, w http.ResponseWriter) bool {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "the reason")
			return true
		}}
		if _, err := a.fetch(g); err == nil || !strings.Contains(err.Error(), "the reason") ||
			len(g.asked) != requests {
			t.Errorf("%d: %v after %d requests", status, err, len(g.asked))
		}
	}
}

// A node whose file has become another one of the same length is not continued, though the range is there: 416, too,
// makes the transfer begin again.
func TestARangeThatIsNotThereBeginsAgain(t *testing.T) {
	a := &given{t: t}
	data := a.small("market")
	g := &giver{now: data, tag: `"1-a"`, cuts: []int64{100}, bad: func(n int, w http.ResponseWriter) bool {
		if n == 1 {
			w.Header().Set("Content-Range", "bytes */50")
			w.WriteHeader(416)
		}
		return n == 1
	}}
	if market, err := a.fetch(g); err != nil || market != "market" || len(g.asked) != 3 || g.asked[2] != " " {
		t.Errorf("%q, %v, %q", market, err, g.asked)
	}
	same := a.small("mArket")
	g = &giver{now: data, tag: `"1-a"`, cuts: []int64{int64(len(data)) - 20}, then: func(g *giver,
		n int,
	) {
		g.now = same
	}}
	if market, err := a.fetch(g); err != nil || market != "mArket" || len(g.asked) != 3 {
		t.Errorf("equal tags of two files: %q, %v after %d requests", market, err, len(g.asked))
	}
}

// A node that sends nothing, and one that sends too little, is not waited for.
func TestASlowTransferIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, pace := range map[string]time.Duration{"silent": time.Hour, "fewer than": 20 * time.Second} {
			client := &http.Client{Transport: slow{pace}}
			f := node.Fetch{
				Machine: node.OwnMachine(), From: node.Peer{URL: "http://slow", Client: client},
				To: filepath.Join(t.TempDir(), "to"),
			}
			if _, err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// slow answers with a byte each time.
type slow struct{ pace time.Duration }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, ContentLength: 1 << 30, Header: http.Header{}, Request: r, Body: &drops{r.Context(), s.pace},
	}, nil
}

type drops struct {
	ctx  context.Context
	pace time.Duration
}

func (d *drops) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.pace):
		p[0] = 'x'
		return 1, nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

func (d *drops) Close() error { return nil }
