package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tickhive/internal/node"
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

// small returns a snapshot of few bytes behind a message.
func (a *archived) small(text string) []byte {
	a.t.Helper()
	return snapshot(a.t, a.states[4], text)
}

// fetch fetches from the giver, and returns the body of the snapshot.
func (a *archived) fetch(g *giver) (state string, err error) {
	a.t.Helper()
	server := httptest.NewServer(g)
	defer server.Close()
	s, err := node.Fetch(a.t.Context(), a.log, node.Peer{URL: server.URL})
	if err != nil {
		return "", err
	}
	defer s.Close()
	err = s.Body(func(body io.Reader) error {
		text, err := io.ReadAll(body)
		state = string(text)
		return err
	})
	return state, err
}

// A transfer that breaks off goes on at the byte that it has reached, wherever that is, and no byte comes twice.
func TestATransferGoesOnWhereItBrokeOff(t *testing.T) {
	a := newArchived(t)
	data := a.small("market")
	size := int64(len(data))
	for at := range size {
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

// A large one is cut at the boundaries of its chunks, and one byte before and behind.
func TestATransferGoesOnAtTheBoundariesOfChunks(t *testing.T) {
	a := newArchived(t)
	data := snapshot(t, a.states[4], strings.Repeat("0123456789", 120_000))
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
	a := newArchived(t)
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
	a := newArchived(t)
	data := a.small("market")
	damaged := bytes.Clone(data)
	damaged[len(data)/2] ^= 1
	g := &giver{now: damaged, tag: `"1-a"`}
	if _, err := a.fetch(g); !errors.Is(err, node.ErrSnapshot) || len(g.asked) != 3 {
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
	g = &giver{now: a.small(strings.Repeat("m", 1000)), tag: `"1-a"`, cuts: ones}
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
}

// A node keeps two snapshots for ten minutes behind their last reader, and takes none while both are read.
func TestAShelfIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s node.KeptSnapshots
		number := uint64(0)
		take := func() (*node.Kept, error) {
			number++
			return s.Take(func(w io.Writer) (uint64, error) {
				_, err := fmt.Fprintf(w, "snapshot %08d", number)
				return number, err
			})
		}
		first, err := take()
		if err != nil || first.Tag != `"1-3130303030303030"` || first.Size != 17 {
			t.Fatalf("%v %+v", err, first)
		}
		second, err := take()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := take(); !errors.Is(err, node.ErrReading) {
			t.Errorf("a third one: %v", err)
		}
		again, err := s.Find(first.Tag)
		if err != nil || again.Tag != first.Tag {
			t.Errorf("%v %+v", err, again)
		}
		_, _ = first.Close(), again.Close()
		third, err := take() // replaces the first one, which no client reads
		if err != nil {
			t.Fatal(err)
		}
		if k, err := s.Find(first.Tag); k != nil || err != nil {
			t.Errorf("the first one is still there: %v", err)
		}
		if k, err := s.Find(""); err != nil || k.Tag != third.Tag || k.Close() != nil {
			t.Errorf("the newest one: %v, %v", k, err)
		}
		_, _ = second.Close(), second.Close() // the second time without effect
		<-time.After(9 * time.Minute)
		if k, err := s.Find(second.Tag); err != nil || k == nil || k.Close() != nil {
			t.Errorf("after nine minutes: %v", err)
		}
		<-time.After(11 * time.Minute)
		if k, err := s.Find(second.Tag); err != nil || k != nil {
			t.Errorf("after eleven minutes: %v", err)
		}
		var all []*node.Kept
		for k, err := s.Find(""); err == nil; k, err = s.Find("") {
			all = append(all, k)
		}
		if len(all) != 7 { // beside third
			t.Errorf("%d readings at a time", len(all)+1)
		}
		s.Close()
		if k, err := s.Find(""); k != nil || err != nil {
			t.Errorf("a closed store has %v, %v", k, err)
		}
		if _, err := take(); err == nil {
			t.Error("a closed store takes one")
		}
		var b [4]byte
		for _, k := range append(all, third) {
			if _, err := k.ReadAt(b[:], 0); err != nil || string(b[:]) != "snap" {
				t.Errorf("a reading under way: %q %v", b, err)
			}
			_ = k.Close()
		}
		if _, err := third.ReadAt(b[:], 0); err == nil {
			t.Error("the file is open behind its last reader")
		}
	})
}

// While one snapshot is being taken there is no second one, and one that fails leaves nothing behind.
func TestAShelfTakesOneAtATime(t *testing.T) {
	var s node.KeptSnapshots
	defer s.Close()
	failed := errors.New("failed")
	_, err := s.Take(func(io.Writer) (uint64, error) {
		if _, err := s.Take(nil); !errors.Is(err, node.ErrTaking) {
			t.Errorf("a second one: %v", err)
		}
		return 0, failed
	})
	if !errors.Is(err, failed) {
		t.Error(err)
	}
	if _, err := s.Take(func(io.Writer) (uint64, error) { return 0, nil }); !errors.Is(err, node.ErrNone) {
		t.Error(err)
	}
	if k, err := s.Find(""); k != nil || err != nil {
		t.Errorf("%v, %v", k, err)
	}
}
