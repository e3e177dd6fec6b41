package clusterkey

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
)

// Scheme is the first word of the header Authorization of a request that a node has signed:
//
//	Authorization: TickHive-Node KEY-ID TIME-MS NONCE PROOF
const Scheme = "TickHive-Node"

// proveRequest is the purpose of the proof of a request.
const proveRequest = "request"

// Bounds of a connection of Client.
const (
	dialTime   = 5 * time.Second
	headerTime = 60 * time.Second // a node may take a fresh snapshot first
	idleTime   = 20 * time.Second // less than the idle timeout of the listener
)

// ErrPlain reports an address to which nothing is sent, because everybody on the way could read it.
var ErrPlain = errors.New("http:// reaches this machine alone: between machines name https://HOST:PORT, for which " +
	"the internal listener there serves TLS")

// Client returns a client for the internal listeners of the cluster's nodes. It signs each request, speaks https to
// nodes that have a key of the ring, and http to this machine alone. It follows no redirect and asks no proxy.
//
// Errors (in *url.Error): ErrOtherKey, ErrPlain.
func (r *Ring) Client() *http.Client {
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSClientConfig:     r.ClientTLS(),
		TLSHandshakeTimeout: dialTime, ResponseHeaderTimeout: headerTime, IdleConnTimeout: idleTime,
		DisableCompression: true,
	}
	return &http.Client{
		Transport:     &signer{r, t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// plainAddress returns the address of this machine that a URL names. A proof counts at this address alone, so the name
// localhost must not lead to one of two.
func plainAddress(u *url.URL) (string, error) {
	name, port := u.Hostname(), u.Port()
	if name == "localhost" {
		name = "127.0.0.1"
	}
	if port == "" {
		port = "80"
	}
	ip, err := netip.ParseAddr(name)
	if err != nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%s: %w", u.Host, ErrPlain)
	}
	return net.JoinHostPort(ip.String(), port), nil
}

// signer signs requests.
type signer struct {
	ring *Ring
	to   *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (s *signer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if req.URL.Scheme != "https" {
		at, err := plainAddress(req.URL)
		if err != nil {
			return nil, err
		}
		req.URL.Host, req.Host = at, ""
	}
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	req.Header.Set("Authorization", s.ring.Sign(req.Method, req.URL.RequestURI(), host,
		clock.MachineNs()/int64(time.Millisecond)))
	return s.to.RoundTrip(req)
}

// CloseIdleConnections closes the connections that no request uses.
func (s *signer) CloseIdleConnections() { s.to.CloseIdleConnections() }

// Sign returns the header Authorization of one request: its method, its target (path and query as they are sent), and
// the header Host.
func (r *Ring) Sign(method, target, host string, nowMs int64) string {
	ms, nonce := strconv.FormatInt(nowMs, 10), rand.Text()
	return strings.Join([]string{
		Scheme, r.ID(), ms, nonce, r.Prove(proveRequest, method, target, host, ms, nonce),
	}, " ")
}
