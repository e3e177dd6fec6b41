package clusterdemo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// cluster holds the servers and the nodes.
type cluster struct {
	program, dir string
	servers      [3]*streamServer
	nodes        [4]*node
	page         string // address of the page
	bot          *bot
	http         http.Client
	release      func() // of the addresses
}

// streamServer is a server of the stream, in this process.
type streamServer struct {
	options jet.ServerOptions
	running *jet.Server // nil: stopped
}

// node is a process of the cluster.
type node struct {
	name           string
	public, inside string
	args           []string // of its next start
	cmd            *exec.Cmd
	log            *os.File
	ended          chan struct{} // closed when the process has ended
}

// newCluster chooses the addresses. Nothing runs yet.
func newCluster(program, dir string) (*cluster, error) {
	c := &cluster{program: program, dir: dir, http: http.Client{Timeout: time.Second}}
	at, release, err := listen.Free(2*len(c.servers) + 2*len(c.nodes) + 1)
	if err != nil {
		return nil, err
	}
	c.release, c.page = release, at[len(at)-1]
	seed, err := jet.WriteSeed(filepath.Join(dir, seedFile))
	if err != nil {
		release()
		return nil, err
	}
	var urls, routes []string
	for i := range c.servers {
		o := jet.ServerOptions{
			Name: serverName(i), Dir: filepath.Join(dir, serverName(i)),
			Listen: at[2*i], Cluster: at[2*i+1], Seed: seed,
		}
		urls, routes = append(urls, "nats://"+o.Listen), append(routes, o.Cluster)
		c.servers[i] = &streamServer{options: o}
	}
	for _, s := range c.servers {
		s.options.Routes = routes
	}
	from := strings.Join(urls, ",")
	at = at[2*len(c.servers):]
	for i, name := range [len(c.nodes)]string{"node-1", "node-2", "node-3", "node-4"} {
		n := &node{name: name, public: at[2*i], inside: at[2*i+1]}
		switch i {
		case 0:
			n.args = c.args(n, "serve", "--journal", from, "--ack", "quorum", "--data-dir", filepath.Join(dir, name))
		case 1:
			n.args = c.standby(n, from)
		default:
			n.args = c.args(n, "replica", "--from", from)
		}
		c.nodes[i] = n
	}
	c.bot = newBot(c.nodes[:], c.status)
	return c, nil
}

func (c *cluster) args(n *node, args ...string) []string {
	return append(args, "--listen", n.public, "--internal-listen", n.inside, "--quiet",
		"--set", "server.console=loopback",
		"--set", "cluster.key_file="+filepath.Join(c.dir, "cluster.key"),
		"--set", "stream.credentials="+filepath.Join(c.dir, seedFile),
		"--set", "orders.closed_kept="+strconv.Itoa(keptOrders))
}

// keptOrders is what the nodes keep of closed orders, the simulated market's among them, so that the bot finds its own.
const keptOrders = 20 * maxOrders

func serverName(i int) string { return fmt.Sprintf("server-%c", 'a'+i) }

// seedFile has the credentials of the servers.
const seedFile = "stream.nk"

func (c *cluster) standby(n *node, from string) []string {
	return c.args(n, "replica", "--from", from, "--promote", "--data-dir", filepath.Join(c.dir, n.name))
}

// start starts the servers, the writer, and the others when the writer is ready.
func (c *cluster) start(ctx context.Context) error {
	for _, s := range c.servers {
		if err := s.start(); err != nil {
			return err
		}
	}
	if err := c.run(c.nodes[0]); err != nil {
		return err
	}
	for state := c.status(ctx, c.nodes[0]); state.Role != "writer"; state = c.status(ctx, c.nodes[0]) {
		select {
		case <-ctx.Done():
			return nil
		case <-c.nodes[0].ended:
			text, _ := os.ReadFile(logOf(c.dir, c.nodes[0].name))
			return fmt.Errorf("the writer did not start:\n%s", text)
		case <-time.After(100 * time.Millisecond):
		}
	}
	c.nodes[0].args = c.standby(c.nodes[0], c.nodes[2].args[2]) // from now on, another node may be the writer
	for _, n := range c.nodes[1:] {
		if err := c.run(n); err != nil {
			return err
		}
	}
	return nil
}

func (s *streamServer) start() (err error) {
	s.running, err = jet.StartServer(s.options)
	return err
}

// run starts the process of a node.
func (c *cluster) run(n *node) (err error) {
	if n.log, err = os.OpenFile(logOf(c.dir, n.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	n.cmd = exec.Command(c.program, n.args...)
	n.cmd.Dir, n.cmd.Stdout, n.cmd.Stderr = c.dir, n.log, n.log
	if err := n.cmd.Start(); err != nil {
		return errors.Join(err, n.log.Close())
	}
	ended := make(chan struct{})
	n.ended = ended
	cmd, log := n.cmd, n.log
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed
		c.bot.ended(n.name)
		_ = log.Close()
	}()
	return nil
}

// up reports whether the process of a node runs.
func (n *node) up() bool {
	if n.ended == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// press does what a key asks for.
func (c *cluster) press(key string) error {
	switch {
	case len(key) == 1 && key >= "1" && key <= "4":
		n := c.nodes[key[0]-'1']
		return c.turn(n.name, !n.up())
	case len(key) == 1 && key >= "a" && key <= "c":
		s := c.servers[key[0]-'a']
		return c.turn(s.options.Name, s.running == nil)
	case key == "":
		return nil
	}
	return fmt.Errorf("there is no key %q: %s", key, strings.TrimSpace(help))
}

// errNone and errSame are the errors of turn that are not the machine's.
var (
	errNone = errors.New("there is no such node or server of the stream")
	errSame = errors.New("it is so already")
)

// turn starts what has a name, or ends it: a node by SIGKILL, as a failure would, a server of the stream by a stop.
func (c *cluster) turn(name string, on bool) error {
	for _, n := range c.nodes {
		switch {
		case n.name != name:
		case n.up() == on:
			return errSame
		case on:
			return c.run(n)
		default:
			c.bot.killed(name)
			return n.kill()
		}
	}
	for _, s := range c.servers {
		switch {
		case s.options.Name != name:
		case (s.running != nil) == on:
			return errSame
		case on:
			return s.start()
		default:
			s.running.Stop()
			s.running = nil
			return nil
		}
	}
	return errNone
}

// kill ends a process as a failure would.
func (n *node) kill() error {
	err := n.cmd.Process.Kill()
	<-n.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// stop ends everything.
func (c *cluster) stop() {
	for _, n := range c.nodes {
		if n.up() {
			_ = n.kill() // it may have ended by itself
		}
	}
	for _, s := range c.servers {
		if s.running != nil {
			s.running.Stop()
		}
	}
	c.release()
}

// state holds what /api/status says of a node.
type state struct {
	Role     string
	Term     uint64
	Position uint64
	LagMs    int64
}

// status asks a node; the role is empty without an answer.
func (c *cluster) status(ctx context.Context, n *node) (s state) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.public+"/api/status", nil)
	if err != nil {
		return s
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return s
	}
	defer func() { _ = resp.Body.Close() }()
	var body struct{ Replication state }
	if json.NewDecoder(resp.Body).Decode(&body) != nil {
		return s
	}
	return body.Replication
}
