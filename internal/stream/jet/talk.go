package jet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// ErrForbidden reports that the servers do not let this client publish or subscribe. It is wrapped: use errors.Is.
var ErrForbidden = errors.New("jet: the servers forbid it")

// Talk is a Log whose users speak to each other beside it, on the subject tickhive.EPOCH.nodes. Nothing stores what
// they say, and it may be lost. Any goroutine may call it.
type Talk interface {
	Log
	// Say sends a text to all who hear at the moment, this node among them. An error means that nothing was sent.
	//
	// Errors: ErrForbidden, after the servers have refused a text or the ears of this connection; ErrUnavailable.
	Say(text []byte) error
	// Hear calls take with the texts that come from now on, from one goroutine. deaf ends that.
	Hear(take func(text []byte)) (deaf func(), err error)
}

// Say implements Talk. Servers answer to a publication that they forbid later, and once for each: the connection keeps
// the newest error until it is made again.
func (l *jetLog) Say(text []byte) error {
	if err := l.conn.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) &&
		strings.Contains(err.Error(), l.nodes) {
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	if err := l.conn.nc.Publish(l.nodes, text); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Hear implements Talk.
func (l *jetLog) Hear(take func(text []byte)) (deaf func(), err error) {
	sub, err := l.conn.nc.Subscribe(l.nodes, func(m *nats.Msg) { take(m.Data) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails on a closed connection only
}
