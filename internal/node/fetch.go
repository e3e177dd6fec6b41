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
	fetchTries  = 3
	fetchAgain  = time.Second      // between two tries
	fetchSilent = 30 * time.Second // without a byte
	maxSnapshot = 1 << 40          // bytes
)

// Peer is another node that gives a snapshot.
type Peer struct {
	URL   string // of its internal listener: http://HOST:PORT
	Token string // of it; empty: it needs none
}

// Fetch returns a snapshot that the node takes now and that the stream continues. The caller closes it.
func Fetch(ctx context.Context, log jet.Log, from Peer) (s *Snapshot, err error) {
	for try := range fetchTries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(fetchAgain):
			}
		}
		if s, err = fetchFrom(ctx, from); err == nil {
			if err = proven(ctx, log, s); err == nil {
				return s, nil
			}
			s.Close()
		}
	}
	return nil, fmt.Errorf("%s: %w", from.URL, err)
}

// fetchFrom copies a snapshot into a temporary file and reads it to its end.
func fetchFrom(ctx context.Context, from Peer) (*Snapshot, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(fetchSilent, func() { cancel(fmt.Errorf("silent for %s", fetchSilent)) })
	defer silent.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(from.URL, "/")+SnapshotPath,
		http.NoBody)
	if err != nil {
		return nil, err
	}
	if from.Token != "" {
		req.Header.Set("Authorization", "Bearer "+from.Token)
	}
	resp, err := peers.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // was only read
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, errors.Join(fmt.Errorf("%s: %.300s", resp.Status, text), err)
	}
	return keep(io.LimitReader(&heard{resp.Body, silent}, maxSnapshot))
}

// peers sends a token to the named node only.
var peers = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// heard puts the end of a silence off with each read.
type heard struct {
	io.Reader
	silent *time.Timer
}

func (h *heard) Read(p []byte) (int, error) {
	h.silent.Reset(fetchSilent)
	return h.Reader.Read(p)
}

// Keep writes a snapshot into a temporary file, and returns it for reading with its size and the message that it
// reflects; 0: there can be none now, and the file is nil.
func Keep(take func(w io.Writer) (seq uint64, err error)) (f *os.File, size int64, seq uint64, err error) {
	if f, err = temporary(); err != nil {
		return nil, 0, 0, err
	}
	if seq, err = take(f); err == nil && seq > 0 {
		if size, err = f.Seek(0, io.SeekCurrent); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	if err != nil || seq == 0 {
		return nil, 0, 0, errors.Join(err, f.Close())
	}
	return f, size, seq, nil
}
