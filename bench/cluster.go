package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// servers holds the NATS servers of a stream, each in a separate process. They are the product's embedded server, which
// syncs each message before it acknowledges it.
type servers struct {
	r    *Run
	dir  string
	args [][]string // by server
	all  []*proc.Child
	urls string

	release func() // of the addresses
}

// startServers starts one server, or three that keep copies.
func (r *Run) startServers(n int) (s *servers, err error) {
	s = &servers{r: r, all: make([]*proc.Child, n)}
	if s.dir, err = r.temp("nats"); err != nil {
		return nil, err
	}
	if _, err := jet.WriteSeed(s.seed()); err != nil {
		return nil, err
	}
	at, release, err := listen.Free(2 * n)
	if err != nil {
		return nil, err
	}
	s.release = release
	var urls []string
	for i := range n {
		args := []string{s.seed(), filepath.Join(s.dir, serverName(i)), at[i], serverName(i)}
		if n > 1 {
			args = append(append(args, at[n+i]), at[n:]...)
		}
		s.args, urls = append(s.args, args), append(urls, "nats://"+at[i])
	}
	s.urls = strings.Join(urls, ",")
	for i := range n {
		if err := s.start(i); err != nil {
			s.end()
			return nil, err
		}
	}
	return s, nil
}

func serverName(i int) string { return fmt.Sprintf("server-%d", i) }

func (s *servers) start(i int) (err error) {
	s.all[i], err = s.r.child("nats", s.args[i]...)
	return err
}

// dial connects a loop of nats.go alone.
func (s *servers) dial() (*natsConn, error) { return dialNATS(s.urls, s.seed()) }

// log opens the product's log, which has so many messages. end closes it.
func (s *servers) log(ctx context.Context) (log jet.Log, messages uint64, end func(), err error) {
	c, err := s.dial()
	if err != nil {
		return nil, 0, nil, err
	}
	defer c.close()
	info, err := c.product()
	if err != nil {
		return nil, 0, nil, err
	}
	conn, err := jet.Connect(s.remote())
	if err != nil {
		return nil, 0, nil, err
	}
	if log, err = conn.Log(ctx, info.epoch(), 0); err != nil {
		conn.Close()
		return nil, 0, nil, err
	}
	return log, info.messages, func() { log.Close(); conn.Close() }, nil
}

// remote names the servers for the product's connection.
func (s *servers) remote() jet.Remote {
	return jet.Remote{URLs: strings.Split(s.urls, ","), Seed: s.seed()}
}

// seed returns the file with the credentials of the servers.
func (s *servers) seed() string { return filepath.Join(s.dir, "stream.nk") }

// named returns the index of a server, -1 for another name.
func (s *servers) named(name string) int {
	for i := range s.all {
		if serverName(i) == name {
			return i
		}
	}
	return -1
}

// end stops the servers and removes their files.
func (s *servers) end() {
	for _, c := range s.all {
		if c != nil {
			c.Stop()
		}
	}
	s.release()
	_ = os.RemoveAll(s.dir)
}

// writer starts an exchange that sends its records to the servers. Its key is in the servers' folder, so that replicas
// and standbys forward to it.
func (s *servers) writer(set ...string) (*product, error) {
	dir, err := s.r.temp("writer")
	if err != nil {
		return nil, err
	}
	return s.r.serve(dir, append(s.with(set), "journal.stream="+s.urls)...)
}

// with adds the settings that all nodes have in common.
func (s *servers) with(set []string) []string {
	return append(set, "cluster.key_file="+s.keyFile(), "stream.credentials="+s.seed())
}

// keyFile returns the file with the key of the cluster, which the writer makes.
func (s *servers) keyFile() string { return filepath.Join(s.dir, "cluster.key") }

// keys returns the keys of the product's messages.
func (s *servers) keys() (*stream.Keys, error) {
	text, err := os.ReadFile(s.keyFile())
	if err != nil {
		return nil, err
	}
	ring, err := clusterkey.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.keyFile(), err)
	}
	return stream.KeysOf(ring), nil
}

// replica starts a replica. The time until it returns is the time until it has caught up.
func (s *servers) replica() (*product, error) {
	dir, err := s.r.temp("replica")
	if err != nil {
		return nil, err
	}
	return s.r.start(dir, []string{"replica", "--from", s.urls}, s.with(nil)...)
}

// standby starts a standby on a directory below dir, in which a former one may have run.
func (s *servers) standby(dir string, set ...string) (*product, error) {
	return s.r.start(dir, []string{
		"replica", "--from", s.urls, "--promote", "--data-dir", filepath.Join(dir, "data"),
	}, append(s.with(set), "sim.enabled=false")...)
}

// cluster holds the servers of a stream, the exchange that writes to it, and a connection of nats.go alone.
type cluster struct {
	*servers
	product *product
	bare    *natsConn
}

// startCluster starts servers with so many copies of the stream, and a writer with these contents.
func (r *Run) startCluster(copies int, filled contents, set ...string) (c *cluster, err error) {
	c = &cluster{}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	if c.servers, err = r.startServers(copies); err != nil {
		return c, err
	}
	if c.product, err = c.writer(set...); err != nil {
		return c, err
	}
	if c.bare, err = c.dial(); err != nil {
		return c, err
	}
	return c, c.product.fillPairs(filled)
}

// end stops what was started.
func (c *cluster) end() {
	if c.bare != nil {
		c.bare.close()
	}
	if c.product != nil {
		c.product.end()
	}
	if c.servers != nil {
		c.servers.end()
	}
}
