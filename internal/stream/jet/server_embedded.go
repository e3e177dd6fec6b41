package jet

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// readyWithin bounds the start of the embedded server, which reads its files first.
const readyWithin = 60 * time.Second

// Server is a NATS server with JetStream in this process. It has one node, which syncs each message to the disk before
// it acknowledges it.
type Server struct{ s *server.Server }

// StartServer starts a server that keeps its files in dir. listen is a loopback address for other processes of this
// machine; without it only this process can connect.
func StartServer(dir, listen string) (*Server, error) {
	o := &server.Options{
		ServerName: "tickhive", JetStream: true, StoreDir: dir, SyncAlways: true, DontListen: listen == "",
		NoLog: true, NoSigs: true, MaxPayload: maxPayload,
	}
	if listen != "" {
		host, port, err := net.SplitHostPort(listen)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSettings, err)
		}
		if o.Host = host; !loopback(host) {
			return nil, fmt.Errorf("%w: the embedded server listens at loopback addresses only, not at %s",
				ErrSettings, host)
		}
		if o.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("%w: port %q is no number", ErrSettings, port)
		}
		if o.Port == 0 {
			o.Port = server.RANDOM_PORT
		}
	}
	return start(o)
}

func start(o *server.Options) (*Server, error) {
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("jet: the embedded server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(readyWithin) {
		s.Shutdown()
		return nil, fmt.Errorf("jet: the embedded server is not ready after %s", readyWithin)
	}
	return &Server{s}, nil
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
