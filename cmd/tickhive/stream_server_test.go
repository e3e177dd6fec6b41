package main

import (
	"fmt"
	"os"
	"testing"

	"tickhive/internal/stream/jet"
)

// asStream makes the test binary run a server of a stream. Its value has blanks between directory and address, and for
// one of several servers its name, its address for the others, and the addresses of all.
const asStream = "TEST_AS_STREAM"

// lazyServer as the last word makes the server acknowledge before it syncs.
const lazyServer = "lazy"

// serveStream runs a server until the process is killed.
func serveStream(words []string) int {
	o := jet.ServerOptions{Dir: words[0], Listen: words[1]}
	if words[len(words)-1] == lazyServer {
		o.LazySync, words = true, words[:len(words)-1]
	}
	if len(words) > 2 {
		o.Name, o.Cluster, o.Routes = words[2], words[3], words[4:]
	}
	if _, err := jet.StartServer(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("stream ready")
	select {}
}

// streamServer is a server of the stream.
type streamServer struct {
	at, args string
	*instance
}

// newServers returns servers that are not started.
func newServers(t *testing.T, n int) (all []*streamServer) {
	t.Helper()
	routes := ""
	for i := range n {
		all = append(all, &streamServer{at: streamAddress(t)})
		all[i].args = t.TempDir() + " " + all[i].at
		if n > 1 {
			route := streamAddress(t)
			all[i].args += fmt.Sprintf(" s%d %s", i, route)
			routes += " " + route
		}
	}
	for _, s := range all {
		s.args += routes
	}
	return all
}

func (s *streamServer) start(t *testing.T) {
	t.Helper()
	s.instance = launch(t, []string{asStream + "=" + s.args})
	s.waitLine("stream ready")
}
