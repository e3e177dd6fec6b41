package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"

	"tickhive/bench/peer"
	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/stream/jet"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/public"
)

// constantCmd is the reference server of the HTTP goals: the product's server, with a handler that returns the
// bytes of a file.
type constantCmd struct {
	Body string `arg:"" help:"File with the answer."`
}

// Run serves until its standard input ends.
func (b *constantCmd) Run(p *program) error {
	body, err := os.ReadFile(b.Body)
	if err != nil {
		return err
	}
	feed := marketdata.NewFeed(marketdata.Options{})
	s, err := edge.NewConstant(serverOptions(feed), body)
	if err != nil {
		return err
	}
	return serveChild(p, s.Serve)
}

// serverOptions returns the server options of serve, but without limits per address, because all load comes
// from one address.
func serverOptions(feed *marketdata.Feed) edge.Options {
	return edge.Options{
		Clock: clock.Real{}, ConnectionsPerIP: -1, Rate: edge.RateOptions{Allow: []string{"127.0.0.0/8"}},
		Resources: []edge.Resource{public.New(public.Options{
			Board: feed.Board(), Clock: clock.Real{}, Version: cmdline.Version,
		}).Routes},
	}
}

// serveChild listens, prints its address and ends when its standard input ends.
func serveChild(p *program, serve func(net.Listener) error) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "ready public=%s\n", ln.Addr())
	go func() {
		peer.UntilClosed(os.Stdin)
		_ = p.profile.Stop()
		os.Exit(0)
	}()
	return serve(ln)
}

// plainCmd serves the same documents with net/http.
type plainCmd struct {
	Body string `arg:"" help:"File with the answer."`
}

// Run serves until its standard input ends.
func (b *plainCmd) Run(p *program) error {
	body, err := os.ReadFile(b.Body)
	if err != nil {
		return err
	}
	p.floor = nil // an ordinary net/http server has no heap floor
	runtime.GC()
	return serveChild(p, peer.PlainServer(body).Serve)
}

// marketCmd is the real server over a market that this process changes at a constant rate. The changes run on
// their own thread, whose CPU time is measured.
type marketCmd struct {
	Pairs  int `default:"1" help:"Pairs."`
	Levels int `default:"60" help:"Levels on each side."`
}

// Run serves and executes the lines of standard input (peer.Writer).
func (b *marketCmd) Run(p *program) error {
	w := peer.NewWriter(b.Pairs, b.Levels)
	s, err := edge.New(serverOptions(w.Feed))
	if err != nil {
		return err
	}
	s.SetReady()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = s.Serve(ln) }()
	fmt.Fprintf(p.out, "ready public=%s\n", ln.Addr())
	return w.ServeLines(os.Stdin, p.out)
}

// handlerCmd calls the real server and the constant server in memory.
type handlerCmd struct {
	Pairs int `default:"1" help:"Pairs."`
}

// constantBytes is the size of a ticker response.
const constantBytes = 282

// Run executes the lines of standard input (peer.Handlers).
func (b *handlerCmd) Run(p *program) error {
	levels := 2
	if b.Pairs == 1 {
		levels = 60
	}
	w := peer.NewWriter(b.Pairs, levels)
	o := serverOptions(w.Feed)
	// The clock advances by 10 ms a request, so that no cache interval hides a change.
	var machine atomic.Int64
	o.MachineNs = func() int64 { return machine.Add(10_000_000) }
	product, err := edge.New(o)
	if err != nil {
		return err
	}
	product.SetReady()
	constant, err := edge.NewConstant(o, make([]byte, constantBytes))
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, "ready")
	h := &peer.Handlers{Writer: w, Product: product.Serve, Constant: constant.Serve, Pairs: b.Pairs}
	return h.ServeLines(os.Stdin, p.out)
}

// framesCmd writes prepared frames to every connection. It is the reference of the streams scenario.
type framesCmd struct{}

// Run serves until its standard input ends.
func (b *framesCmd) Run(p *program) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "ready public=%s\n", ln.Addr())
	return peer.ServeFrames(ln, os.Stdin, p.out)
}

// wakeupsCmd measures how late the machine wakes up a process that does nothing else.
type wakeupsCmd struct{}

// Run serves until its standard input ends.
func (b *wakeupsCmd) Run(p *program) error {
	fmt.Fprintln(p.out, "ready")
	return peer.ServeWakeups(os.Stdin, p.out)
}

// listenCmd reads the streams of many connections.
type listenCmd struct {
	Addr   string `arg:"" help:"Server."`
	Conns  int    `arg:"" help:"Connections."`
	Target string `arg:"" optional:"" help:"Path of the upgrade; none: frames without one."`
}

// Run reads and executes the lines of standard input (peer.Listener).
func (b *listenCmd) Run(p *program) error {
	l, err := peer.NewListener(b.Addr, b.Target, b.Conns)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, "ready")
	return l.ServeLines(os.Stdin, p.out)
}

// natsCmd is a server of a stream.
type natsCmd struct {
	Seed    string   `arg:"" help:"File with the seed of its only user."`
	Dir     string   `arg:"" help:"Folder of its files."`
	Addr    string   `arg:"" help:"Its address."`
	Name    string   `arg:"" help:"Its name among several."`
	Cluster []string `arg:"" optional:"" help:"Its address for the others, and the addresses of all."`
}

// Run serves until its standard input ends.
func (b *natsCmd) Run(p *program) error {
	seed, err := os.ReadFile(b.Seed)
	if err != nil {
		return err
	}
	o := jet.ServerOptions{Dir: b.Dir, Listen: b.Addr, Name: b.Name, Seed: string(seed)}
	if len(b.Cluster) > 0 {
		o.Cluster, o.Routes = b.Cluster[0], b.Cluster[1:]
	}
	s, err := jet.StartServer(o)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, "ready")
	peer.UntilClosed(os.Stdin)
	s.Stop()
	return nil
}
