package jettest

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Start starts a server for each file, as nats-server does with it, and waits until they agree. They end with the test.
func Start(t *testing.T, files ...string) {
	t.Helper()
	var all []*server.Server
	for _, file := range files {
		s := Configured(t, file)
		go s.Start()
		all = append(all, s)
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for slices.ContainsFunc(all, func(s *server.Server) bool { return !s.JetStreamIsCurrent() }) {
		select {
		case <-look.C:
		case <-t.Context().Done():
			t.Fatal("the servers do not agree")
		}
	}
}

// Configured returns the server of a file, as nats-server makes it. The caller starts it; it ends with the test.
func Configured(t *testing.T, file string) *server.Server {
	t.Helper()
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o.NoLog, o.NoSigs = true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// NewUser returns the seed and the public key of a new user.
func NewUser(t *testing.T) (seed, public string) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	text, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = user.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return string(text), public
}
