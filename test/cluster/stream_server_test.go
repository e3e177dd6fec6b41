package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/stream/jet"

	"github.com/tickhive/tickhive/test/harness"
)

// noCredentials starts a program without the credentials that the tests give it.
const noCredentials = "TICKHIVE_STREAM_CREDENTIALS="

// streamServer is a server of the stream.
type streamServer struct {
	at, folder string
	args       string
	routes     []*harness.Line // to the other servers, nil to itself; none for a single one
	*harness.Instance
}

// newServers returns servers that are not started, each with a link to each other one.
func newServers(t *testing.T, n int) (all []*streamServer) {
	t.Helper()
	addresses := make([]string, n)
	for i := range n {
		s := &streamServer{at: harness.StreamAddress(t), folder: t.TempDir()}
		s.args = s.folder + " " + s.at
		addresses[i] = harness.StreamAddress(t)
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
			l := harness.NewLine(t, addresses[j])
			s.routes = append(s.routes, l)
			s.args += " " + l.Addr()
		}
	}
	return all
}

func (s *streamServer) start(t *testing.T) {
	t.Helper()
	s.Instance = harness.LaunchStream(t, s.args)
	s.WaitLine("stream ready")
}

// startDamaged starts a server some of whose files are damaged, and reports whether it did not start with them: then it
// is emptied first, as it says.
func (s *streamServer) startDamaged(t *testing.T) (emptied bool) {
	t.Helper()
	s.Instance = harness.LaunchStream(t, s.args)
	if _, ok := s.Line("stream ready"); ok {
		return false
	}
	if code, text := s.Wait(), s.Stderr.String(); code != 1 || !strings.Contains(text, "corrupt: empty "+s.folder) {
		t.Fatalf("a damaged server does not start: %s", text)
	}
	if err := os.RemoveAll(s.folder); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	return true
}

// between sets the ways between two servers. A connection may have been dialled by either of them.
func between(servers []*streamServer, i, j int, w harness.Wire) {
	servers[i].routes[j].Set(w)
	w.Hold[0], w.Hold[1] = w.Hold[1], w.Hold[0]
	servers[j].routes[i].Set(w)
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
	c, err := jet.Connect(harness.StreamSeed.Remote(s.at))
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
