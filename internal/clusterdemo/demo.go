package clusterdemo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options configures a demo.
type Options struct {
	Program string    // path of the program that the nodes run
	In      io.Reader // a line for each key
	Out     io.Writer
	Clear   bool // the table replaces the one before
	// Every is the time between two tables; 0: a second.
	Every time.Duration
}

const help = "Type a key and Enter: 1 to 4 kill or start a node, a to c stop or start a server of the stream, q ends.\n"

// Run starts the cluster and shows it until ctx ends or the key q arrives.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "tickhive-cluster-")
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil {
			err = removed
		}
	}()
	c, err := newCluster(o.Program, dir)
	if err != nil {
		return err
	}
	defer c.stop()
	fmt.Fprintf(o.Out, "a cluster in %s: three servers of a stream, a writer, a standby, two replicas\n", dir)
	if err := c.start(ctx); err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	helpers.Go(func() { c.bot.run(run) })
	p := &page{presses: make(chan press), ended: run.Done()}
	if err := p.listen(run, c.page, &helpers); err != nil {
		return err
	}
	return show(run, c, p, o)
}

// show shows the cluster, and does what keys and the page ask for.
func show(ctx context.Context, c *cluster, p *page, o Options) error {
	if o.Every == 0 {
		o.Every = time.Second
	}
	keys := make(chan string)
	go func() {
		for s := bufio.NewScanner(o.In); s.Scan(); {
			select {
			case keys <- strings.TrimSpace(s.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	t := table{out: o.Out, clear: o.Clear, page: c.page}
	for {
		v := c.look(ctx)
		p.state.Store(&v)
		t.print(v)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case key := <-keys:
			if key == "q" {
				return nil
			}
			if err := c.press(key); err != nil {
				fmt.Fprintln(o.Out, err)
			}
		case a := <-p.presses:
			err := c.turn(a.name, a.on)
			v := c.look(ctx)
			p.state.Store(&v)
			a.done <- err
		}
	}
}

// logOf returns the path of a node's log.
func logOf(dir, name string) string { return filepath.Join(dir, name+".log") }
