package admin

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

const (
	// backupWindow is the time within which a client must read backupQuota bytes of a backup: the exchange drops no
	// segment meanwhile.
	backupWindow = time.Minute
	backupQuota  = 4 << 20

	binaryType = "application/octet-stream"
)

// backup serves GET /backup: a tar file of the data directory (internal/backup).
func (s *Server) backup(c *edge.Ctx) *refuse.Refusal {
	if c.IsHead() {
		c.Response.Header.SetContentType("application/x-tar")
		return nil // without a backup, so without a size
	}
	body, size, refused := s.opt.Backup()
	if refused != nil {
		return refused
	}
	c.Response.Header.SetContentType("application/x-tar")
	c.Response.Header.Set("Content-Disposition", `attachment; filename="tickhive-backup.tar"`)
	c.SendPaced(body, size, backupQuota, backupWindow)
	return nil
}

// Snapshot is a snapshot of this node that a client reads.
type Snapshot struct {
	Tag  string // strong entity tag
	Size int64
	Body interface {
		io.ReaderAt
		io.Closer
	}
}

// AnySnapshot asks Options.Snapshot for the newest kept snapshot. No entity tag is like it.
const AnySnapshot = "*"

// snapshot serves GET /snapshots/latest: the state of a node behind a message of the stream (internal/node). A request
// for a range gets a part of a kept snapshot, so that a transfer goes on where it broke off; any other one takes a
// snapshot.
func (s *Server) snapshot(c *edge.Ctx) *refuse.Refusal {
	h := &c.Response.Header
	if c.IsHead() {
		h.SetContentType(binaryType)
		h.Set("Accept-Ranges", "bytes")
		return nil // without a snapshot, so without a size
	}
	want, part := parseRange(string(c.Request.Header.Peek("Range")))
	var found *Snapshot
	var refused *refuse.Refusal
	if part {
		tag := string(c.Request.Header.Peek("If-Range"))
		found, refused = s.opt.Snapshot(cmp.Or(tag, AnySnapshot))
		part = found != nil || tag == ""
	}
	if found == nil && refused == nil {
		found, refused = s.opt.Snapshot("")
	}
	if refused != nil {
		return refused
	}
	h.SetContentType(binaryType)
	h.Set("Accept-Ranges", "bytes")
	h.SetCanonical(edge.HdrETag, []byte(found.Tag))
	from, n := int64(0), found.Size
	if part {
		var ok bool
		if from, n, ok = want.of(found.Size); !ok {
			_ = found.Body.Close() // was not read
			h.Set("Content-Range", fmt.Sprintf("bytes */%d", found.Size))
			c.Response.SetStatusCode(fasthttp.StatusRequestedRangeNotSatisfiable)
			return nil
		}
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, found.Size))
		c.Response.SetStatusCode(fasthttp.StatusPartialContent)
	}
	c.SendPaced(struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(found.Body, from, n), found.Body}, n, backupQuota, backupWindow)
	return nil
}
