package stream

import (
	"net"
	"net/netip"
	"testing"

	"github.com/tickhive/tickhive/marketdata"
)

// lent is lent by the server to an upgrade callback, and to another client afterwards.
type lent struct {
	net.Conn
	asked int // how often the connection below was asked for
}

func (l *lent) UnsafeConn() net.Conn { l.asked++; return l.Conn }

// The hub knows a connection a little longer than the server lends it to the reader.
func TestTheHubDoesNotUseALentConnectionAfterItsEnd(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	l := &lent{Conn: near}
	c := newConn(x.Sockets, l, netip.Addr{})
	c.session = newSession(x.Hub, c)
	before := l.asked
	c.SetSpare()
	if before == 0 || l.asked != before {
		t.Errorf("asked %d times by the reader, %d times by the hub", before, l.asked-before)
	}
}
