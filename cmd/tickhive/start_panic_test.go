package main

import (
	"os"
	"strings"
	"testing"
)

// A start that panics is a failed start. It admits no client, never reports ready, and reports
// the panic.
func TestAStartThatPanicsIsNeverReady(t *testing.T) {
	out, said := &lockedBuffer{}, &lockedBuffer{}
	p := &program{out: out, err: said}
	f := serveFlags{Listen: "127.0.0.1:0", InternalListen: "127.0.0.1:0", DataDir: t.TempDir(), Quiet: true}
	cfg, err := f.config(p)
	if err != nil {
		t.Fatal(err)
	}
	x, err := newExchange(p, cfg, true)
	if err != nil {
		t.Fatal(err)
	}
	x.agents = nil // makes the start panic halfway
	up, err := x.startBefore(make(chan os.Signal))
	t.Cleanup(func() {
		for _, end := range []func() error{x.publicLn.Close, x.internalLn.Close, x.market.journal.Close, x.data.lock.Close} {
			_ = end()
		}
	})
	if up || err == nil || !strings.Contains(err.Error(), "nil pointer") || !strings.Contains(err.Error(), "(*exchange).start") {
		t.Errorf("up %t: %v", up, err)
	}
	if x.ready.Load() || strings.Contains(out.String(), "ready") {
		t.Errorf("it said %q", out.String())
	}
}
