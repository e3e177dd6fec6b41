package clusterdemo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/web"
)

// page serves the demo's own page and its routes (docs/contract/cluster.md#the-page-of-the-demo), with the checks of
// a console of this machine.
//
// Owner: handlers read state; Run's goroutine stores it and receives presses.
type page struct {
	state   atomic.Pointer[view]
	presses chan press
	ended   <-chan struct{} // the demo ends
}

// press asks Run's goroutine to start or end what has a name.
type press struct {
	name string
	on   bool
	done chan error
}

const pageShutdown = time.Second

// listen serves the page until ctx ends; then helpers ends, too.
func (p *page) listen(ctx context.Context, at string, helpers *sync.WaitGroup) error {
	p.state.Store(&view{})
	files, err := web.ClusterPage()
	if err != nil {
		return err
	}
	s, err := edge.New(edge.Options{
		Clock: clock.Real{}, Resources: []edge.Resource{files},
		Console: &edge.Console{Table: p.routes(), Refuse: admin.LocalPages},
	})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", at)
	if err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	s.SetReady()
	helpers.Go(func() { _ = s.Serve(ln) })
	helpers.Go(func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), pageShutdown)
		defer cancel()
		_ = s.Shutdown(end) // a browser that stays connected does not keep the demo
	})
	return nil
}

const pathCluster = edge.InternalPrefix + "/cluster"

var pathName = edge.Text("name")

func (p *page) routes() []*edge.Route {
	return []*edge.Route{
		{Method: fasthttp.MethodGet, Path: pathCluster, Handle: p.show},
		{
			Method: fasthttp.MethodPost, Path: pathCluster + "/{name}/start", Handle: p.turn(true),
			Params: edge.Params(pathName),
		},
		{
			Method: fasthttp.MethodPost, Path: pathCluster + "/{name}/kill", Handle: p.turn(false),
			Params: edge.Params(pathName),
		},
	}
}

// turn returns a handler that starts or ends what the path names, and answers the state.
func (p *page) turn(on bool) edge.Handler {
	return func(c *edge.Ctx) *refuse.Refusal {
		name, refusal := pathName.Of(c)
		if refusal != nil {
			return refusal
		}
		a := press{name, on, make(chan error, 1)}
		var err error
		select {
		case p.presses <- a:
			err = <-a.done
		case <-p.ended:
			return refuse.New(refuse.Unavailable, "", "The demo ends.")
		}
		switch {
		case errors.Is(err, errNone):
			return refuse.New(refuse.NotFound, "name", "There is no node or server of the stream with this name.")
		case errors.Is(err, errSame) && on:
			return refuse.New(refuse.Conflict, "name", "It runs already.")
		case errors.Is(err, errSame):
			return refuse.New(refuse.Conflict, "name", "It does not run.")
		case err != nil:
			return refuse.New(refuse.Unavailable, "", "It could not be done: %s.", err)
		}
		return p.show(c)
	}
}

func (p *page) show(c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	p.state.Load().write(&w)
	c.Private(w.Bytes())
	return nil
}

// write writes the state that the page shows.
func (v *view) write(w *json.Writer) {
	w.Object()
	w.Name("time").Ms(v.atNs)
	w.Name("nodes").List()
	for i := range v.nodes {
		n := &v.nodes[i]
		w.Object()
		w.Name("name").Text(n.name)
		w.Name("url").Text("http://" + n.public)
		w.Name("up").Bool(n.up)
		w.Name("role").Text(n.word())
		w.Name("term").Uint(n.Term)
		w.Name("position").Uint(n.Position)
		w.Name("lagMs").Int(n.LagMs)
		w.EndObject()
	}
	w.EndList()
	w.Name("servers").List()
	for i, up := range v.servers {
		w.Object()
		w.Name("name").Text(serverName(i))
		w.Name("up").Bool(up)
		w.EndObject()
	}
	w.EndList()
	w.Name("bot").Object()
	v.bot.write(w)
	w.EndObject()
	w.Name("outage")
	if x := v.bot.outage; x == nil {
		w.Null()
	} else {
		w.Object()
		w.Name("former").Text(x.former)
		w.Name("forMs").Int(max(0, (v.atNs-x.began.UnixNano())/1_000_000))
		w.Name("stuck").TextOrNull(v.stuck())
		w.EndObject()
	}
	w.Name("takeovers").List()
	for i := range v.bot.taken {
		t := &v.bot.taken[len(v.bot.taken)-1-i]
		w.Object()
		w.Name("time").Ms(t.At.UnixNano())
		w.Name("node").Text(t.Node)
		w.Name("former").Text(t.Former)
		w.Name("afterMs").Int(t.After.Milliseconds())
		w.Name("checked").Bool(t.Done)
		w.Name("bot").Object()
		t.write(w)
		w.EndObject()
		w.Name("text").Text(t.String())
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
}

func (c *counts) write(w *json.Writer) {
	w.Name("acknowledged").Int(int64(c.Acknowledged))
	w.Name("refused").Int(int64(c.Refused))
	w.Name("unanswered").Int(int64(c.Unanswered))
	w.Name("checked").Int(int64(c.Checked))
	w.Name("lost").Int(int64(c.Lost))
}
