package jet

import (
	"net"
	"strings"
	"testing"
)

// A server whose port is taken says so at once.
func TestAServerSaysWhyItDoesNotStart(t *testing.T) {
	for name, options := range map[string]func(taken string) ServerOptions{
		"clients": func(taken string) ServerOptions { return ServerOptions{Listen: taken} },
		"servers": func(taken string) ServerOptions {
			return ServerOptions{Listen: "127.0.0.1:0", Name: "s0", Cluster: taken, Routes: []string{freeAddress(t)}}
		},
	} {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o := options(taken.Addr().String())
		o.Dir = t.TempDir()
		s, err := StartServer(o)
		if err == nil {
			s.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("%s: %v", name, err)
		}
		if err := taken.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
