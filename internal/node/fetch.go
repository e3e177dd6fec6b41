package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// SnapshotPath is the route by which a node gives its newest snapshot.
const SnapshotPath = "/internal/v1/snapshot"

// MessageHeader is the header of an answer of SnapshotPath with the number of the message behind which the stream
// continues the snapshot.
const MessageHeader = "X-Stream-Message"

// Bounds of a snapshot that another node gives.
const (
	fetchIdle   = 3                // requests in a row that bring nothing
	fetchTries  = 64               // requests in all
	fetchAgain  = time.Second      // behind a request that brings nothing
	fetchSilent = 30 * time.Second // without a byte
	fetchWindow = time.Minute      // in which fetchQuota bytes must come
	fetchQuota  = 4 << 20
	maxSnapshot = 1 << 40 // bytes
	fetchPiece  = 256 << 10

	// DownloadName is the name of a snapshot in the directory of a copy while it is downloaded.
	DownloadName = "snapshot.tmp"
)

// Peer is another node, which gives its newest snapshot.
type Peer struct {
	URL    string       // of its internal listener
	Token  string       // of it; empty: the client proves itself, or the listener needs none
	Client *http.Client // follows no redirect: the token is for the named node only
}

// Fetch downloads the newest snapshot of a node into a new file, and verifies every byte of it. A transfer that breaks
// off goes on at the byte that it has reached, if the node still has this snapshot. One goroutine uses it.
type Fetch struct {
	Machine Machine
	From    Peer
	Fresh   bool   // the node takes a snapshot first
	To      string // file; Run leaves it behind only without an error
	Options wal.Options
	// Progress is called with what has arrived; nil: nobody is told.
	Progress func(done, total int64)

	file vfs.File // nil: nothing has arrived
	tag  string   // of the snapshot; empty: the node cannot continue it
	have int64
	size int64
}

// Run downloads the snapshot and opens it.
func (f *Fetch) Run(ctx context.Context) (s *wal.SnapshotFile, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("the snapshot of %s: %w", f.From.URL, err), f.drop())
		}
	}()
	for idle, tries := 0, 0; idle < fetchIdle && tries < fetchTries; tries++ {
		if idle > 0 {
			again := f.Machine.Clock.NowNs() + int64(fetchAgain)
			if late := f.Machine.await(ctx, nil, again); !errors.Is(late, errLate) {
				return nil, late
			}
		}
		had, tag := f.have, f.tag
		if err = f.request(ctx); err == nil {
			if s, err = f.finish(); err == nil {
				return s, nil
			}
			err = errors.Join(err, f.drop()) // whole and unusable: begin again, with another one
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.As(err, new(finalError)) {
			return nil, err
		}
		if idle++; f.file != nil && f.tag != "" && (f.have > had || f.tag != tag && f.have > 0) {
			idle = 0
		}
	}
	return nil, err
}

// finalError is an answer that another request would get, too.
type finalError struct{ error }

// drop removes what has arrived.
func (f *Fetch) drop() (err error) {
	if f.file != nil {
		err = errors.Join(f.file.Close(), f.Machine.FS.Remove(f.To))
	}
	f.file, f.tag, f.have, f.size = nil, "", 0, 0
	return err
}

// ask sends a request to the node.
func (p *Peer) ask(ctx context.Context, method, query string, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(p.URL, "/")+SnapshotPath+query, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	if p.Token != "" {
		req.Header.Set("Authorization", "Bearer "+p.Token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return p.Client.Do(req)
}

// Kept returns what the newest snapshot of the node covers: the position, and the number of the message behind which
// the stream continues it.
func (p *Peer) Kept(ctx context.Context) (pos, message uint64, err error) {
	resp, err := p.ask(ctx, http.MethodHead, "")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = resp.Body.Close() }()    // was only read
	if resp.StatusCode == http.StatusConflict { // it has none, or gives none at the moment
		return 0, 0, nil
	}
	if resp.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("%s%s: %s", p.URL, SnapshotPath, resp.Status)
	}
	if pos, err = tagPosition(resp.Header.Get("ETag")); err == nil {
		message, err = strconv.ParseUint(resp.Header.Get(MessageHeader), 10, 64)
	}
	return pos, message, err
}

// SnapshotTag returns the strong entity tag of a snapshot: equal tags, equal bytes.
func SnapshotTag(m *wal.SnapshotMeta) string { return fmt.Sprintf(`"%x-%016x"`, m.Seq, m.Chain) }

// tagPosition returns the position in the tag of a snapshot.
func tagPosition(tag string) (uint64, error) {
	pos, _, _ := strings.Cut(strings.Trim(tag, `"`), "-")
	return strconv.ParseUint(pos, 16, 64)
}

// watched ends a request that is silent or slow. A simulated machine has no such requests.
type watched struct {
	r            io.Reader
	silent, slow *time.Timer
	n            int
}

// Read puts the end of a silence off with each read, and the end of a slow transfer with each quota.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if w.silent == nil {
		return n, err
	}
	w.silent.Reset(fetchSilent)
	if w.n += n; w.n >= fetchQuota {
		w.n = 0
		w.slow.Reset(fetchWindow)
	}
	return n, err
}

// begin starts the watch: of the silence from now on, of the speed by watchSpeed.
func (w *watched) begin(m *Machine, cancel context.CancelCauseFunc) (stop func()) {
	if m.Driver != nil {
		return func() {}
	}
	w.silent = time.AfterFunc(fetchSilent, func() { cancel(fmt.Errorf("silent for %s", fetchSilent)) })
	w.slow = time.AfterFunc(fetchSilent+fetchWindow, func() {
		cancel(fmt.Errorf("fewer than %d bytes within %s", fetchQuota, fetchWindow))
	})
	return func() {
		w.silent.Stop()
		w.slow.Stop()
	}
}

// request asks for the snapshot, or for what is missing of it. Without an error the file is whole.
func (f *Fetch) request(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var w watched
	defer w.begin(&f.Machine, cancel)()
	var headers []string
	query := ""
	if f.tag == "" {
		if err := f.drop(); err != nil {
			return err
		}
		if f.Fresh {
			query = "?fresh=true"
		}
	} else {
		headers = []string{"Range", fmt.Sprintf("bytes=%d-", f.have), "If-Range", f.tag}
	}
	resp, err := f.From.ask(ctx, http.MethodGet, query, headers...)
	if err != nil {
		return because(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // was only read
	if err := f.accept(resp); err != nil {
		return err
	}
	if w.r = resp.Body; w.slow != nil {
		w.slow.Reset(fetchWindow)
	}
	return because(ctx, f.keep(&w))
}

// keep writes what arrives behind what the file has.
func (f *Fetch) keep(r io.Reader) error {
	for buf := make([]byte, fetchPiece); f.have < f.size; {
		n, err := r.Read(buf[:min(int64(len(buf)), f.size-f.have)])
		if _, failed := f.file.WriteAt(buf[:n], f.have); failed != nil {
			return failed
		}
		if f.have += int64(n); f.Progress != nil {
			f.Progress(f.have, f.size)
		}
		if f.have < f.size && errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil && f.have < f.size {
			return err
		}
	}
	return nil
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
func (f *Fetch) accept(resp *http.Response) (err error) {
	switch resp.StatusCode {
	case http.StatusOK:
		if err := f.drop(); err != nil {
			return err
		}
		if resp.ContentLength < 0 || resp.ContentLength > maxSnapshot {
			return fmt.Errorf("an answer of %d bytes, at most %d", resp.ContentLength, int64(maxSnapshot))
		}
		if f.file, err = f.Machine.FS.Create(f.To); err != nil {
			return err
		}
		f.size = resp.ContentLength
		if f.tag = resp.Header.Get("ETag"); strings.HasPrefix(f.tag, "W/") {
			f.tag = "" // equal tags do not mean equal bytes
		}
		return nil
	case http.StatusPartialContent:
		want := fmt.Sprintf("bytes %d-%d/%d", f.have, f.size-1, f.size)
		got, tag := resp.Header.Get("Content-Range"), resp.Header.Get("ETag")
		if f.file != nil && got == want && tag == f.tag {
			return nil
		}
		return errors.Join(
			fmt.Errorf("the node continues with %q of %s, and %q of %s was asked for", got, tag, want, f.tag), f.drop())
	}
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		err = f.drop()
	}
	text, readErr := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	again := resp.Header.Get("Retry-After") != "" || resp.StatusCode == http.StatusRequestedRangeNotSatisfiable
	refused := fmt.Errorf("%s: %.300s", resp.Status, text)
	if resp.StatusCode < 500 && !again {
		refused = finalError{refused}
	}
	return errors.Join(refused, err, readErr)
}

// finish makes the file durable, and reads every byte of the snapshot.
func (f *Fetch) finish() (*wal.SnapshotFile, error) {
	if err := f.file.Sync(); err != nil {
		return nil, err
	}
	s, err := OpenSnapshot(f.Machine.FS, f.To, f.Options)
	if err != nil {
		return nil, err
	}
	file := f.file
	f.file = nil
	return s, file.Close()
}

// OpenSnapshot opens a snapshot file and verifies every byte of it.
//
// Errors: those of wal.OpenSnapshotFile and Verify, with the name; stream.ErrRules.
func OpenSnapshot(fsys vfs.FS, name string, o wal.Options) (*wal.SnapshotFile, error) {
	o.Name = logName // wherever the file is
	s, err := wal.OpenSnapshotFile(fsys, name, o)
	if err != nil {
		return nil, err
	}
	if err = s.Verify(); err == nil {
		_, err = ParseHead(s.Meta)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
