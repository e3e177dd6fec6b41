package jet

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/tickhive/tickhive/internal/clock"
)

// readyWithin bounds the start of the embedded server, which reads its files first.
const readyWithin = 60 * time.Second

// Server is a NATS server with JetStream in this process. It syncs each message to the disk before it acknowledges it.
// A client and another server need its seed: without it they read, publish and delete nothing.
type Server struct {
	s    *server.Server
	user nkeys.KeyPair // the only one; nil: the server listens nowhere
}

// ServerOptions configures a Server. Addresses are of this machine: HOST:PORT, port 0 picks a free one.
type ServerOptions struct {
	Dir    string // for its files
	Listen string // for other processes; empty: only this process can connect
	// Seed is the secret of the only user, and of the servers among each other (NewSeed). With Listen it is needed,
	// because every process of the machine reaches a loopback address.
	Seed string
	// Name, Cluster and Routes make it one of several servers that keep copies: its own name, its address for the
	// others, and theirs. Without Cluster it is alone.
	Name    string
	Cluster string
	Routes  []string
	// LazySync makes it acknowledge before it syncs, for tests.
	LazySync bool
	// Hidden keeps the server from advertising addresses: other servers and clients know only the addresses that they
	// were given.
	Hidden bool
}

// StartServer starts a server. One of several is ready for connections before it has met the others.
//
// Errors: ErrSettings, ErrSeed.
func StartServer(so ServerOptions) (*Server, error) {
	o := &server.Options{
		ServerName: cmp.Or(so.Name, "tickhive"), JetStream: true, StoreDir: so.Dir, SyncAlways: !so.LazySync,
		DontListen: so.Listen == "", NoLog: true, NoSigs: true, MaxPayload: maxPayload,
	}
	user, err := lock(o, so.Seed)
	if err != nil {
		return nil, err
	}
	if so.Listen != "" {
		if o.Host, o.Port, err = splitLoopback(so.Listen); err != nil {
			return nil, err
		}
	}
	if so.Cluster != "" {
		o.Cluster.Name = "tickhive"
		if o.Cluster.Host, o.Cluster.Port, err = splitLoopback(so.Cluster); err != nil {
			return nil, err
		}
		o.Cluster.Username, o.Cluster.Password = "tickhive", routePassword(so.Seed)
		to := "nats://tickhive:" + o.Cluster.Password + "@"
		o.Routes = server.RoutesFromStr(to + strings.Join(so.Routes, ","+to))
	}
	if so.Hidden {
		o.Cluster.NoAdvertise, o.Cluster.Advertise = true, "127.0.0.1:1" // which no server answers
	}
	s, err := start(o)
	if err != nil {
		return nil, err
	}
	s.user = user
	return s, nil
}

// lock makes the user of a seed the only one of a server. The client proves that it has the seed by signing what the
// server has chosen, so the seed itself is never sent.
func lock(o *server.Options, seed string) (user nkeys.KeyPair, err error) {
	if seed == "" && o.DontListen {
		return nil, nil // there is no user
	}
	user, err = nkeys.FromSeed([]byte(seed))
	var public string
	if err == nil {
		public, err = user.PublicKey()
	}
	if err == nil && !nkeys.IsValidPublicUserKey(public) {
		err = errors.New("it is not one of a user")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSeed, err)
	}
	o.Nkeys = []*server.NkeyUser{{Nkey: public}}
	return user, nil
}

// routePassword returns the password of the servers among each other. It does not tell the seed: it goes over a
// loopback connection, to whoever listens at the address of a server that is down.
func routePassword(seed string) string {
	sum := sha256.Sum256([]byte("tickhive routes " + seed))
	return hex.EncodeToString(sum[:])
}

// NewSeed returns the seed of a user from 32 random bytes: what the file of stream.credentials has.
func NewSeed(random []byte) (string, error) {
	user, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, random)
	if err != nil {
		return "", fmt.Errorf("jet: %w", err)
	}
	seed, err := user.Seed()
	return string(seed), err
}

// WriteSeed writes the seed of a new user to a file, for servers that live as long as their owner's folder.
func WriteSeed(file string) (seed string, err error) {
	random := make([]byte, 32)
	if _, err = rand.Read(random); err == nil {
		seed, err = NewSeed(random)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(seed), 0o600)
	}
	return seed, err
}

// splitLoopback splits an address of this machine.
func splitLoopback(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	if !loopback(host) {
		return "", 0, fmt.Errorf("%w: the embedded server listens at loopback addresses only, not at %s",
			ErrSettings, host)
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("%w: port %q is no number", ErrSettings, text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

func start(o *server.Options) (*Server, error) {
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("jet: the embedded server: %w", err)
	}
	r := newReasons()
	s.SetLogger(r, false, false)
	s.Start()
	if err := r.await(s, o); err != nil {
		s.Shutdown()
		return nil, err
	}
	if err := showSync(s); err != nil {
		s.Shutdown()
		return nil, err
	}
	return &Server{s: s}, nil
}

// reasons keeps what a server reports as the reason why it does not start, or may not. Any goroutine may use it.
type reasons struct {
	mu    sync.Mutex
	last  string        // the last error
	fatal chan struct{} // closed when the server has given up
}

func newReasons() *reasons { return &reasons{fatal: make(chan struct{})} }

// await waits until a server accepts connections.
func (r *reasons) await(s *server.Server, o *server.Options) error {
	for begun := clock.MachineNs(); ; {
		if s.ReadyForConnections(100 * time.Millisecond) {
			return nil
		}
		select {
		case <-r.fatal:
			return r.reason(o)
		default:
		}
		if clock.MachineNs()-begun > int64(readyWithin) {
			return fmt.Errorf("jet: the embedded server is not ready after %s; its last error: %s", readyWithin,
				r.text())
		}
	}
}

// reason returns why a server has given up, and what to do. Only one of several keeps the file that it calls corrupt: a
// snapshot of the agreement which streams there are.
func (r *reasons) reason(o *server.Options) error {
	text := r.text()
	if o.Cluster.Port == 0 || !strings.Contains(text, "corrupt") {
		return fmt.Errorf("jet: the embedded server: %s", text)
	}
	return fmt.Errorf("jet: the embedded server: %s: empty %s while the other servers are up, they send it what it "+
		"lacks", text, o.StoreDir)
}

func (r *reasons) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.last, "none")
}

// Errorf implements server.Logger.
func (r *reasons) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = fmt.Sprintf(format, args...)
}

// Fatalf implements server.Logger. The server has given up.
func (r *reasons) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.fatal:
	default:
		close(r.fatal)
	}
}

// Noticef, Warnf, Debugf and Tracef implement server.Logger.
func (*reasons) Noticef(string, ...any) {}
func (*reasons) Warnf(string, ...any)   {}
func (*reasons) Debugf(string, ...any)  {}
func (*reasons) Tracef(string, ...any)  {}

// showSync lets clients of a server ask whether it syncs (CheckSync).
func showSync(s *server.Server) error {
	all, system := s.GlobalAccount(), s.SystemAccount()
	err := system.AddServiceExportWithResponse(syncSubject, server.Streamed, nil)
	if err == nil {
		err = all.AddServiceImport(system, syncSubject, syncSubject)
	}
	if err != nil {
		return fmt.Errorf("jet: the embedded server: %w", err)
	}
	return nil
}

// URL returns the address for other processes, empty without one.
func (s *Server) URL() string {
	if s.s.Addr() == nil {
		return ""
	}
	return s.s.ClientURL()
}

// Stop stops the server and waits until its files are closed.
func (s *Server) Stop() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
