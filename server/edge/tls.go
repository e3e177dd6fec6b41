package edge

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"tickhive/internal/refuse"
)

// Certificate is the certificate of the public listeners. Reload replaces it; connections that
// are open keep theirs. Any goroutine may use it.
type Certificate struct {
	certFile, keyFile string
	now               func() time.Time
	current           atomic.Pointer[tls.Certificate]
}

// NewCertificate reads a certificate chain and its key, both PEM.
func NewCertificate(certFile, keyFile string, now func() time.Time) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, now: now}
	return c, c.Reload()
}

// Reload reads the files again. On an error the old certificate stays in force.
func (c *Certificate) Reload() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("tls.cert %s, tls.key %s: %w: name a PEM certificate chain and the PEM key of its first "+
			"certificate, both readable by this user", c.certFile, c.keyFile, err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return fmt.Errorf("tls.cert %s: %w", c.certFile, err)
	}
	if now := c.now(); now.After(leaf.NotAfter) {
		return fmt.Errorf("tls.cert %s: the certificate ended on %s: renew it", c.certFile,
			leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	c.current.Store(&pair)
	return nil
}

// config returns the settings of a listener. HTTP/1.1 is the only protocol that the server speaks.
func (c *Certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// Encrypted reports whether the connection has TLS. A write to it that timed out cannot be repeated.
func (c *CountedConn) Encrypted() bool { return c.Conn != c.socket }

// plainAnswer is the answer to a client that speaks HTTP without TLS.
var plainAnswer = refusal("400 Bad Request", &refuse.Refusal{
	Code: refuse.InvalidParam, Message: "This port speaks TLS: the address must begin with https:// or wss://.",
})

// answerPlain answers a client whose first bytes are a request instead of a handshake. Without it, the client would
// see an empty answer or a reset. The goroutine of the connection calls it with the error of the handshake.
func (c *CountedConn) answerPlain(handshake error) {
	var head tls.RecordHeaderError
	if !errors.As(handshake, &head) || head.Conn == nil || !isRequest(head.RecordHeader) {
		return
	}
	_ = c.socket.SetWriteDeadline(time.Now().Add(lingerTime))
	if _, err := c.socket.Write(plainAnswer); err == nil {
		c.lingerOn(c.socket)
	}
}

// isRequest reports whether a connection begins with the method and the path of a request.
func isRequest(head [5]byte) bool {
	for _, begin := range []string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO"} {
		if string(head[:]) == begin {
			return true
		}
	}
	return false
}

// encrypt puts TLS on an accepted connection. The handshake takes place at the first read, on the
// connection's goroutine and within its read timeout.
func encrypt(c net.Conn, config *tls.Config) net.Conn {
	if config == nil {
		return c
	}
	return tls.Server(c, config)
}
