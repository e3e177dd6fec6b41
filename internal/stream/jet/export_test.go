package jet

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// What the tests beside this package look at.
const (
	ReadyWithin  = readyWithin
	StatusWithin = statusWithin
)

var (
	RoutePassword = routePassword
	Settings      = settings
	StartWith     = start
)

// JetStream returns the client below the connection.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Flush waits until the server has seen, and answered, everything that was sent.
func (c *Conn) Flush(ctx context.Context) error { return c.nc.FlushWithContext(ctx) }

// SetStaleFor changes the time for which a log may look shorter than it was.
func (c *Conn) SetStaleFor(d time.Duration) { c.staleFor = d }

// Addr returns the address at which the server listens.
func (s *Server) Addr() string { return s.s.Addr().String() }

// Subject returns the subject of a log's messages.
func Subject(l Log) string { return l.(*jetLog).subject }

// Info asks the servers for the state of a log.
func Info(ctx context.Context, l Log) (*jetstream.StreamInfo, error) {
	return l.(*jetLog).stream.Info(ctx)
}
