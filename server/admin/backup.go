package admin

import (
	"time"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

const (
	// backupWindow is the time within which a client must read backupQuota bytes of a backup: the exchange drops no
	// segment meanwhile.
	backupWindow = time.Minute
	backupQuota  = 4 << 20
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

// snapshot serves GET /snapshots/latest: the state of a replica behind a message of the stream (internal/node).
func (s *Server) snapshot(c *edge.Ctx) *refuse.Refusal {
	const binary = "application/octet-stream"
	if c.IsHead() {
		c.Response.Header.SetContentType(binary)
		return nil // without a snapshot, so without a size
	}
	body, size, refused := s.opt.Snapshot()
	if refused != nil {
		return refused
	}
	c.Response.Header.SetContentType(binary)
	c.SendPaced(body, size, backupQuota, backupWindow)
	return nil
}
