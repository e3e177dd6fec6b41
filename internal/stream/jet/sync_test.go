package jet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

// Servers that sync each message pass, alone and as three of a cluster, and one that does not is named.
func TestCheckSyncFindsTheServersThatDoNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		servers, lazy int
	}{{1, 0}, {1, 1}, {3, 0}, {3, 1}} {
		t.Run(fmt.Sprintf("%d of %d are lazy", c.lazy, c.servers), func(t *testing.T) {
			log, con := cluster(t, c.servers, c.lazy)
			err := con.CheckSync(within(t), log, jet.SyncSources{})
			if c.lazy == 0 && err != nil {
				t.Error(err)
			}
			if c.lazy > 0 &&
				(!errors.Is(err, jet.ErrLazy) || !strings.Contains(err.Error(), "s0 acknowledges before")) {
				t.Error(err)
			}
		})
	}
}

// cluster starts servers of which the first ones are lazy, and opens a log with a copy on each.
func cluster(t *testing.T, n, lazy int) (jet.Log, *jet.Conn) {
	t.Helper()
	r := jet.Remote{}
	for i, o := range several(t, n) {
		o.LazySync = i < lazy
		r.URLs = append(r.URLs, startOne(t, o).URL())
	}
	con := conn(t, r)
	log, err := con.Log(within(t), "e1", n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	return log, con
}

// several returns the options of so many servers that keep copies, or of one that is alone.
func several(t *testing.T, n int) []jet.ServerOptions {
	t.Helper()
	all := make([]jet.ServerOptions, n)
	var routes []string
	for i := range all {
		all[i] = jet.ServerOptions{
			Seed: testSeed, Dir: t.TempDir(), Listen: freeAddress(t), Name: fmt.Sprintf("s%d", i),
		}
		if n > 1 {
			all[i].Cluster = freeAddress(t)
			routes = append(routes, all[i].Cluster)
		}
	}
	for i := range all {
		all[i].Routes = routes
	}
	return all
}

func startOne(t *testing.T, o jet.ServerOptions) *jet.Server {
	t.Helper()
	o.Seed = cmp.Or(o.Seed, testSeed)
	s, err := jet.StartServer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// freeAddress returns an address of this machine that a server can listen at, also after a restart.
func freeAddress(t *testing.T) string {
	t.Helper()
	all, release, err := listen.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return all[0]
}

// configured starts a server as nats-server does with a configuration file, and returns its address and the address of
// its monitor.
func configured(t *testing.T, text string) (at, monitor string) {
	t.Helper()
	at, monitor = freeAddress(t), freeAddress(t)
	file := filepath.Join(t.TempDir(), "nats.conf")
	text = fmt.Sprintf("listen: %s\nhttp: %s\nserver_name: s0\n%s", at, monitor,
		strings.ReplaceAll(text, "STORE", strconv.Quote(t.TempDir())))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := jettest.Configured(t, file)
	s.Start()
	if !s.ReadyForConnections(jet.ReadyWithin) {
		t.Fatal("the server does not start")
	}
	return "nats://" + at, "http://" + monitor
}

// seed writes the seed of a new user to a file, and returns the user's public key.
func seed(t *testing.T) (file, public string) {
	t.Helper()
	secret, public := jettest.NewUser(t)
	file = filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, public
}

// A server with a configuration of its own shows what it does in three ways, and is refused without one of them.
func TestCheckSyncLooksInThreePlaces(t *testing.T) {
	t.Parallel()
	for _, sync := range []string{"always", "2m"} {
		t.Run(sync, func(t *testing.T) {
			t.Parallel()
			app, appKey := seed(t)
			system, systemKey := seed(t)
			accounts := `
jetstream { store_dir: STORE, sync_interval: ` + sync + ` }
system_account: SYS
accounts {
  SYS { users: [{nkey: ` + systemKey + `}], EXPORTS }
  APP { jetstream: enabled, users: [{nkey: ` + appKey + `}], IMPORTS }
}
`
			with := strings.NewReplacer(
				"EXPORTS", `exports: [{service: "$SYS.REQ.SERVER.PING.JSZ", response: stream}]`,
				"IMPORTS", `imports: [{service: {account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ"}}]`)
			without := strings.NewReplacer(", EXPORTS", "", ", IMPORTS", "")
			check := func(
				ctx context.Context, text string, from func(r jet.Remote, monitor string) jet.SyncSources,
			) error {
				at, monitor := configured(t, text)
				r := jet.Remote{URLs: []string{at}, Seed: app}
				con := conn(t, r)
				return con.CheckSync(ctx, open(t, con), from(r, monitor))
			}
			ctx := within(t)
			for name, err := range map[string]error{
				"import": check(ctx, with.Replace(accounts), func(jet.Remote, string) jet.SyncSources {
					return jet.SyncSources{}
				}),
				"system user": check(ctx, without.Replace(accounts), func(r jet.Remote, _ string) jet.SyncSources {
					r.Seed = system
					return jet.SyncSources{System: &r}
				}),
				"monitor": check(ctx, without.Replace(accounts), func(_ jet.Remote, monitor string) jet.SyncSources {
					return jet.SyncSources{Monitor: []string{monitor}}
				}),
			} {
				if sync == "always" && err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if sync != "always" &&
					(!errors.Is(err, jet.ErrLazy) || !strings.Contains(err.Error(), "s0 acknowledges")) {
					t.Errorf("%s: %v", name, err)
				}
			}
			// instead of formWithin: one attempt is enough
			brief, cancel := context.WithTimeout(ctx, 5*jet.StatusWithin)
			defer cancel()
			err := check(brief, without.Replace(accounts), func(jet.Remote, string) jet.SyncSources {
				return jet.SyncSources{Monitor: []string{"http://" + freeAddress(t)}}
			})
			for _, way := range []string{"stream.system_credentials", "stream.monitor", "--trust-lazy-sync"} {
				if !errors.Is(err, jet.ErrLazy) || !strings.Contains(err.Error(), way) {
					t.Errorf("%v, want %s", err, way)
				}
			}
		})
	}
}
