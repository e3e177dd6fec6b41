package jet_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tickhive/tickhive/internal/stream/jet"
)

// A server whose port is taken says so at once.
func TestAServerSaysWhyItDoesNotStart(t *testing.T) {
	for name, options := range map[string]func(taken string) jet.ServerOptions{
		"clients": func(taken string) jet.ServerOptions { return jet.ServerOptions{Listen: taken} },
		"servers": func(taken string) jet.ServerOptions {
			return jet.ServerOptions{
				Listen: "127.0.0.1:0", Name: "s0", Cluster: taken, Routes: []string{freeAddress(t)},
			}
		},
	} {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o := options(taken.Addr().String())
		o.Dir, o.Seed = t.TempDir(), testSeed
		s, err := jet.StartServer(o)
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

// One of three servers does not start with a damaged snapshot of what the servers have agreed on, and says what to do.
// Emptied, it gets the log from the others, and one of them may stop.
func TestADamagedServerIsFilledByTheOthers(t *testing.T) {
	t.Parallel()
	options := several(t, 3)
	var running []*jet.Server
	var urls []string
	for _, o := range options {
		running = append(running, startOne(t, o))
		urls = append(urls, "nats://"+o.Listen)
	}
	log, err := conn(t, jet.Remote{URLs: urls[1:]}).Log(within(t), "e1", 3)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for i := range uint64(20) {
		if a := publish(t, log, i, i, "m"); a.Seq != i+1 {
			t.Fatalf("%+v", a)
		}
	}
	running[0].Stop()
	at := options[0].Dir
	found, err := filepath.Glob(filepath.Join(at, "jetstream", "$SYS", "_js_", "_meta_", "snapshots", "snap.*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("snapshots %q: %v", found, err)
	}
	if err := os.Truncate(found[0], 10); err != nil {
		t.Fatal(err)
	}
	if s, err := jet.StartServer(options[0]); err == nil || !strings.Contains(err.Error(), "corrupt: empty "+at) {
		if err == nil {
			s.Stop()
		}
		t.Fatalf("with a damaged snapshot: %v", err)
	}
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	startOne(t, options[0])
	level(t, log)
	running[1].Stop()
	copied, err := conn(t, jet.Remote{URLs: urls[:1]}).Log(within(t), "e1", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if last, err := copied.Last(within(t)); last != 20 || err != nil {
		t.Errorf("the log ends at %d, %v", last, err)
	}
}

// level waits until every server has the whole log.
func level(t *testing.T, l jet.Log) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ctx := within(t); ; {
		info, err := jet.Info(ctx, l)
		if err == nil && info.Cluster != nil && len(info.Cluster.Replicas) == 2 &&
			!slices.ContainsFunc(info.Cluster.Replicas, func(p *jetstream.PeerInfo) bool {
				return p.Offline || !p.Current || p.Lag > 0
			}) {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("the servers are not level: %v", err)
		}
	}
}
