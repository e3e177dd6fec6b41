package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/test/harness"
)

// nodesOf returns the roles of the nodes that a node lists, by their addresses. The node itself comes first.
func nodesOf(t *testing.T, in *harness.Instance) map[string]string {
	t.Helper()
	replication, _ := in.Call(200, "GET", "/figures", "")["replication"].(map[string]any)
	nodes, _ := replication["nodes"].([]any)
	all := map[string]string{}
	for i, n := range nodes {
		m := n.(map[string]any)
		if address := fmt.Sprint(m["address"]); i > 0 || address == strings.TrimPrefix(in.Public, "http://") {
			all[address] = fmt.Sprint(m["role"])
		}
	}
	return all
}

// Each node of a cluster lists all of them with their roles, and so does tickhive top. One that is killed leaves the
// lists, and the one that takes over has another role in all of them.
func TestEachNodeSeesTheOthers(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	f := newFailover(t)
	f.startWriter()
	f.start(1, f.standby(1, "--set", "sim.enabled=false"))
	replica := harness.StartReplica(t, f.at)
	at := func(in *harness.Instance) string { return strings.TrimPrefix(in.Public, "http://") }
	see := func(want map[string]string, by ...*harness.Instance) {
		t.Helper()
		for _, in := range by {
			var got map[string]string
			harness.WaitFor(t, func() bool {
				got = nodesOf(t, in)
				return maps.Equal(got, want)
			})
		}
	}
	see(map[string]string{at(f.nodes[0]): "writer", at(f.nodes[1]): "standby", at(replica): "replica"},
		f.nodes[0], f.nodes[1], replica)
	metrics := f.nodes[0].Do("GET", f.nodes[0].Root+"/metrics", "").Body
	for _, line := range []string{`nodes{role="writer"} 1`, `nodes{role="standby"} 1`, `nodes{role="replica"} 1`} {
		if !strings.Contains(metrics, "\ntickhive_"+line+"\n") {
			t.Errorf("no %s in the metrics of the writer", line)
		}
	}
	top := harness.Launch(t, nil, "top", "--once", "--interval", "100ms", "--internal", f.nodes[0].Root)
	lines := top.WaitLine("node ") + "\n" + top.WaitLine("node ")
	for _, words := range []string{at(f.nodes[1]) + "  standby  term 1", at(replica) + "  replica  term 1"} {
		if !strings.Contains(lines, words) {
			t.Errorf("tickhive top has no %s:\n%s", words, lines)
		}
	}
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	see(map[string]string{at(f.nodes[1]): "writer", at(replica): "replica"}, replica, f.nodes[1])
}

// A node whose account may not speak to the others serves, lists itself alone, and says what it lacks.
func TestANodeThatMayNotSpeakServes(t *testing.T) {
	t.Parallel()
	seed, public := jettest.NewUser(t)
	at, dir := harness.StreamAddress(t), t.TempDir()
	conf, credentials := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "seed.nk")
	for file, text := range map[string]string{
		credentials: seed,
		conf: fmt.Sprintf("listen: %q\njetstream { store_dir: %q }\nauthorization { users: [{nkey: %s, permissions: "+
			"{publish: {deny: \"tickhive.*.nodes\"}, subscribe: {deny: \"tickhive.*.nodes\"}}}] }\n", at,
			filepath.Join(dir, "store"), public),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	jettest.Start(t, conf)
	with := []string{
		"--set", "stream.credentials=" + credentials, "--set", "cluster.key_file=" + harness.StreamSeed.Key,
	}
	writer := harness.Start(t, append(with, "--pairs", "none", "--sim", "off", "--data-dir", filepath.Join(dir, "data"),
		"--journal", "nats://"+at)...)
	replica := harness.StartReplica(t, at, with...)
	for _, in := range []*harness.Instance{writer, replica} {
		harness.WaitFor(t, func() bool {
			return strings.Contains(in.Stderr.String(), "the nodes of the cluster do not see each other")
		})
		if nodes := nodesOf(t, in); len(nodes) != 1 {
			t.Errorf("it lists %v", nodes)
		}
	}
	writer.Pair("AA_USDT")
	harness.WaitFor(t, func() bool {
		_, w := position(t, writer)
		_, r := position(t, replica)
		return w == r
	})
}
