package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tickhive/internal/stream/jet"
)

// asStream makes the test binary run a server of a stream. Its value has blanks between the file of its seed, directory
// and address, and for one of several servers its name, its address for the others, and the addresses by which it reaches them.
const asStream = "TEST_AS_STREAM"

// lazyServer as the last word makes the server acknowledge before it syncs.
const lazyServer = "lazy"

// testSeed is the file with the seed of the servers of a stream, which the programs of these tests have too.
type testSeed struct{ file, env string }

var streamSeed testSeed

func (s *testSeed) make() error {
	dir, err := os.MkdirTemp("", "tickhive-seed-")
	if err != nil {
		return err
	}
	s.file = filepath.Join(dir, "stream.nk")
	s.env = "TICKHIVE_STREAM_CREDENTIALS=" + s.file
	_, err = jet.WriteSeed(s.file)
	return err
}

func (s *testSeed) remove() { _ = os.RemoveAll(filepath.Dir(s.file)) }

// remote names a server for a connection of the tests themselves.
func (s *testSeed) remote(at string) jet.Remote {
	return jet.Remote{URLs: []string{"nats://" + at}, Seed: s.file}
}

// noCredentials starts a program without the credentials that the tests give it.
const noCredentials = "TICKHIVE_STREAM_CREDENTIALS="

// serveStream runs a server until the process is killed. One of several tells no other way to a server than the links,
// because it would go round a fault.
func serveStream(words []string) int {
	seed, err := os.ReadFile(words[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	words = words[1:]
	o := jet.ServerOptions{Dir: words[0], Listen: words[1], Seed: string(seed)}
	if words[len(words)-1] == lazyServer {
		o.LazySync, words = true, words[:len(words)-1]
	}
	if len(words) > 2 {
		o.Name, o.Cluster, o.Routes, o.Hidden = words[2], words[3], words[4:], true
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
	at, folder string
	args       string
	routes     []*link // to the other servers, nil to itself; none for a single one
	*instance
}

// newServers returns servers that are not started, each with a link to each other one.
func newServers(t *testing.T, n int) (all []*streamServer) {
	t.Helper()
	addresses := make([]string, n)
	for i := range n {
		s := &streamServer{at: streamAddress(t), folder: t.TempDir()}
		s.args = s.folder + " " + s.at
		addresses[i] = streamAddress(t)
		all = append(all, s)
	}
	for i := range n {
		if n == 1 {
			break
		}
		s := all[i]
		s.args += fmt.Sprintf(" s%d %s", i, addresses[i])
		for j := range n {
			if i == j {
				s.routes = append(s.routes, nil)
				continue
			}
			l := newLink(t, addresses[j])
			s.routes = append(s.routes, l)
			s.args += " " + l.addr()
		}
	}
	return all
}

func (s *streamServer) start(t *testing.T) {
	t.Helper()
	s.instance = launch(t, []string{asStream + "=" + streamSeed.file + " " + s.args})
	s.waitLine("stream ready")
}

// startDamaged starts a server some of whose files are damaged, and reports whether it did not start with them: then it
// is emptied first, as it says.
func (s *streamServer) startDamaged(t *testing.T) (emptied bool) {
	t.Helper()
	s.instance = launch(t, []string{asStream + "=" + streamSeed.file + " " + s.args})
	if _, ok := s.line("stream ready"); ok {
		return false
	}
	if code, text := s.wait(), s.stderr.String(); code != 1 || !strings.Contains(text, "corrupt: empty "+s.folder) {
		t.Fatalf("a damaged server does not start: %s", text)
	}
	if err := os.RemoveAll(s.folder); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	return true
}

// between sets the ways between two servers. A connection may have been dialled by either of them.
func between(servers []*streamServer, i, j int, w wire) {
	servers[i].routes[j].set(w)
	w.hold[there], w.hold[back] = w.hold[back], w.hold[there]
	servers[j].routes[i].set(w)
}

// leaderOf returns the index of the server that leads the stream, as a server says that can be reached; -1: none says.
func leaderOf(servers []*streamServer) int {
	if len(servers) == 1 {
		return 0
	}
	for _, s := range servers {
		if i := s.leader(); i >= 0 {
			return i
		}
	}
	return -1
}

func (s *streamServer) leader() int {
	c, err := jet.Connect(streamSeed.remote(s.at))
	if err != nil {
		return -1
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	epochs, err := c.Epochs(ctx)
	if err != nil || len(epochs) != 1 {
		return -1
	}
	name, err := c.Leader(ctx, epochs[0])
	if err != nil {
		return -1
	}
	i, err := strconv.Atoi(strings.TrimPrefix(name, "s"))
	if err != nil {
		return -1
	}
	return i
}

// files returns the files of a stopped server that have bytes, those of the stream's messages and of its agreement.
func (s *streamServer) files(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(s.folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
