package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"tickhive/internal/stream/jet"
)

// SnapshotPath is the route by which a node gives a snapshot of itself.
const SnapshotPath = "/internal/v1/snapshots/latest"

// Bounds of a snapshot that another node gives.
const (
	fetchIdle   = 3                // requests in a row that bring nothing
	fetchTries  = 64               // requests in all
	fetchAgain  = time.Second      // behind a request that brings nothing
	fetchSilent = 30 * time.Second // without a byte
	fetchWindow = time.Minute      // in which fetchQuota bytes must come
	fetchQuota  = 4 << 20
	maxSnapshot = 1 << 40 // bytes
)

// Peer is another node that gives a snapshot.
type Peer struct {
	URL   string // of its internal listener: http://HOST:PORT
	Token string // of it; empty: it needs none
}

// Fetch returns a snapshot of another node that the stream continues. A transfer that breaks off goes on at the byte
// that it has reached, if the node still has this snapshot. The caller closes it.
func Fetch(ctx context.Context, log jet.Log, from Peer) (*Snapshot, error) {
	f := &fetching{from: from}
	defer f.drop()
	var err error
	for idle, tries := 0, 0; idle < fetchIdle && tries < fetchTries; tries++ {
		if idle > 0 {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(fetchAgain):
			}
		}
		had, tag := f.have, f.tag
		if err = f.request(ctx); err == nil {
			var s *Snapshot
			if s, err = f.finish(ctx, log); err == nil {
				return s, nil
			}
			f.drop() // whole and unusable: begin again, with another one
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if idle++; f.file != nil && f.tag != "" && (f.have > had || f.tag != tag && f.have > 0) {
			idle = 0
		}
	}
	return nil, fmt.Errorf("%s: %w", from.URL, err)
}

// fetching is a snapshot of which a part has arrived.
type fetching struct {
	from Peer
	file *os.File // nil: nothing has arrived
	tag  string   // of the snapshot; empty: the node cannot continue it
	have int64
	size int64
}

// drop forgets what has arrived.
func (f *fetching) drop() {
	if f.file != nil {
		_ = f.file.Close() // it has no name
	}
	*f = fetching{from: f.from}
}

// request asks for the snapshot, or for what is missing of it. Without an error the file is whole.
func (f *fetching) request(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(fetchSilent, func() { cancel(fmt.Errorf("silent for %s", fetchSilent)) })
	defer silent.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(f.from.URL, "/")+SnapshotPath,
		http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept-Encoding", "identity")
	if f.from.Token != "" {
		req.Header.Set("Authorization", "Bearer "+f.from.Token)
	}
	if f.tag == "" {
		f.drop()
	} else {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", f.have))
		req.Header.Set("If-Range", f.tag)
	}
	resp, err := peers.Do(req)
	if err != nil {
		return because(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // was only read
	if err := f.accept(resp); err != nil {
		return err
	}
	slow := time.AfterFunc(fetchWindow, func() {
		cancel(fmt.Errorf("fewer than %d bytes within %s", fetchQuota, fetchWindow))
	})
	defer slow.Stop()
	n, err := io.Copy(f.file, io.LimitReader(&heard{r: resp.Body, silent: silent, slow: slow}, f.size-f.have))
	f.have += n
	if err == nil && f.have < f.size {
		err = io.ErrUnexpectedEOF
	}
	return because(ctx, err)
}

// because returns the reason why a request was given up, if it was.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// accept reads the head of an answer: the whole snapshot, or the part of the known one behind the bytes that are here.
// After 416 the next request begins again; any other answer may pass.
func (f *fetching) accept(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		f.drop()
		if resp.ContentLength < 0 || resp.ContentLength > maxSnapshot {
			return fmt.Errorf("an answer of %d bytes, at most %d", resp.ContentLength, int64(maxSnapshot))
		}
		var err error
		f.size = resp.ContentLength
		if f.tag = resp.Header.Get("ETag"); strings.HasPrefix(f.tag, "W/") {
			f.tag = "" // equal tags do not mean equal bytes
		}
		f.file, err = temporary()
		return err
	case http.StatusPartialContent:
		want := fmt.Sprintf("bytes %d-%d/%d", f.have, f.size-1, f.size)
		got, tag := resp.Header.Get("Content-Range"), resp.Header.Get("ETag")
		if f.file != nil && got == want && tag == f.tag {
			return nil
		}
		defer f.drop()
		return fmt.Errorf("the node continues with %q of %s, and %q of %s was asked for", got, tag, want, f.tag)
	}
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		f.drop()
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return errors.Join(fmt.Errorf("%s: %.300s", resp.Status, text), err)
}

// finish reads the snapshot to its end and compares it with the stream. The snapshot owns the file then.
func (f *fetching) finish(ctx context.Context, log jet.Log) (*Snapshot, error) {
	err := sound(f.file)
	if err == nil {
		_, err = f.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	file := f.file
	f.file = nil
	s, err := ReadSnapshot(file)
	if err != nil {
		return nil, err
	}
	if err := proven(ctx, log, s); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// peers sends a token to the named node only.
var peers = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// heard puts the end of a silence off with each read, and the end of a slow transfer with each quota.
type heard struct {
	r            io.Reader
	silent, slow *time.Timer
	n            int
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.silent.Reset(fetchSilent)
	if h.n += n; h.n >= fetchQuota {
		h.n = 0
		h.slow.Reset(fetchWindow)
	}
	return n, err
}
