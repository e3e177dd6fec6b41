package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A stream that an earlier program began lacks the settings that this one has added. They have their defaults: at the
// writer, and at replicas, whose own configuration says nothing about the meaning of the records.
func TestAStreamOfAnEarlierProgramLacksSettings(t *testing.T) {
	t.Parallel()
	at, dir := streamAddress(t), t.TempDir()
	writer := []string{
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir, "--sim", "off",
		"--quiet", "--journal", "embedded", "--set", "stream.listen=" + at,
	}
	earlier := launch(t, []string{asEarlier + "=1"}, writer...)
	earlier.waitLine("ready ")
	earlier.signal(syscall.SIGTERM)
	earlier.endsClean(dir)
	other := launch(t, nil, append(writer, "--set", "referral.bonus_share=0.5")...)
	if code := other.wait(); code != 1 || !strings.Contains(other.stderr.String(), "bonus_share = '0.5'") {
		t.Errorf("with another setting: exit code %d: %s", code, other.stderr.String())
	}
	now := launch(t, nil, writer...)
	now.takeAddresses(now.waitLine("ready "))
	replica := startReplica(t, at, "--set", "referral.bonus_share=0.5")
	replica.signal(syscall.SIGTERM)
	replica.wait()
	now.signal(syscall.SIGTERM)
	now.endsClean(dir)
}

// A replica takes the default of a key that its stream lacks, whatever its own configuration says.
func TestAKeyThatAStreamLacksHasItsDefault(t *testing.T) {
	t.Parallel()
	want, err := defaultConfig().streamSettings()
	if err != nil {
		t.Fatal(err)
	}
	begun, _, _ := strings.Cut(want, "[referral]")
	_, tables, _ := strings.Cut(want, "\n[[")
	own := defaultConfig()
	own.Referral.BonusShare, own.Hive.Quorum = "0.5", "7"
	if err := own.readStream(begun + "[[" + tables); err != nil {
		t.Fatal(err)
	}
	if got, err := own.streamSettings(); got != want || err != nil {
		t.Errorf("%v, settings\n%s", err, got)
	}
}

// nextVersion is the environment of a node of the next version, needsLater what the present one says to its records.
var nextVersion = []string{asLater + "=1"}

const needsLater = "replace this one by the writer's version"

// endUpgrade replaces the nodes of the present version, if the next one has come to a node.
func (c *failing) endUpgrade() {
	if !slices.ContainsFunc(c.later[:], func(env []string) bool { return env != nil }) {
		return
	}
	for n := range c.nodes {
		if c.later[n] == nil {
			c.kill(c.nodes[n].Load())
			c.later[n] = nextVersion
			c.startNode(n)
		}
	}
}

// startAs starts a node of a version.
func (f *failover) startAs(n int, version, args []string) {
	f.t.Helper()
	f.nodes[n] = launch(f.t, version, args...)
	f.nodes[n].takeAddresses(f.nodes[n].waitLine("ready "))
}

// refusedAs checks that a node of the present version does not start, and says what to do.
func refusedAs(t *testing.T, args []string) {
	t.Helper()
	in := launch(t, nil, args...)
	if code := in.wait(); code != 1 || !strings.Contains(in.stderr.String(), needsLater) {
		t.Errorf("%v: exit code %d: %s", args, code, in.stderr.String())
	}
}

// follows waits until a node has executed what the writer has.
func (f *failover) follows(replica, writer *instance) {
	f.t.Helper()
	waitFor(f.t, func() bool {
		_, w := position(f.t, writer)
		role, r := position(f.t, replica)
		return role == "replica" && w == r && w != "0"
	})
}

// A cluster is upgraded under load in the order of docs/operating.md: replicas, standbys, a takeover, the former
// writer. Nothing acknowledged is lost, and all have one state.
func TestAClusterIsUpgradedUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	a := f.startWriter()
	off := []string{"--set", "sim.enabled=false"}
	f.start(1, f.standby(1, off...))
	replica := startReplica(t, f.at)

	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.loadBy(clusterLoad, f.nodes[0], 1, stop); close(done) }()
	more := func() {
		t.Helper()
		before := a.count()
		waitFor(t, func() bool { return a.count() >= before+100 })
	}
	more()
	end := func(in *instance) {
		t.Helper()
		in.signal(syscall.SIGTERM)
		if code := in.wait(); code != 0 {
			t.Errorf("exit code %d: %s", code, in.stderr.String())
		}
	}
	end(replica)
	later := launch(t, nextVersion, append([]string{
		"replica", "--from", "nats://" + f.at, "--set",
		"replica.max_lag=1h",
	}, f.common...)...)
	later.takeAddresses(later.waitLine("ready "))
	more()
	end(f.nodes[1])
	f.startAs(1, nextVersion, f.standby(1, off...))
	more()
	f.nodes[0].signal(syscall.SIGTERM)
	f.nodes[0].endsClean(f.dirs[0])
	took := f.awaitRole(1, "writer")
	close(stop)
	<-done
	t.Logf("a takeover %v after the end of the former writer, %d orders acknowledged before", took, a.count())

	stop, done = make(chan struct{}), make(chan struct{})
	go func() { a.loadBy(clusterLoad, f.nodes[1], 2, stop); close(done) }()
	more()
	f.startAs(0, nextVersion, f.standby(0, off...))
	more()
	close(stop)
	<-done
	f.follows(later, f.nodes[1])
	f.follows(f.nodes[0], f.nodes[1])
	want := fmt.Sprint(f.nodes[1].call(200, "GET", "/state-hash", ""))
	for _, in := range []*instance{later, f.nodes[0]} {
		if got := fmt.Sprint(in.call(200, "GET", "/state-hash", "")); got != want {
			t.Errorf("state hashes %s and %s", got, want)
		}
	}
	for id, o := range a.orders {
		got := f.nodes[1].do("GET", fmt.Sprintf("%s/orders/%d", f.nodes[1].internal, id), "")
		if got.status != 200 || a.canceled[id] && !strings.Contains(got.body, "Canceled") {
			t.Fatalf("order %d was acknowledged with %+v and is %d %s", id, o, got.status, got.body)
		}
	}
	a.verifyStores(t, f.nodes[1])
	end(f.nodes[1])
	f.awaitRole(0, "writer")
}

// Nodes that are older than the writer stop at its term, all at one position: they serve what they have until it is too
// old, say so, and never take over. None of them starts again, until the next version takes its place.
func TestNodesThatAreOlderThanTheWriterStopBeforeItsTerm(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	serve := f.serve("--pairs", "none", "--sim", "off")
	f.start(0, serve)
	f.nodes[0].pair("AA_USDT")
	off := []string{"--set", "sim.enabled=false"}
	f.startAs(1, nextVersion, f.standby(1, off...))
	dir := t.TempDir() + "/third"
	third := append([]string{
		"replica", "--from", "nats://" + f.at, "--promote", "--data-dir", dir, "--set",
		"replica.max_lag=1h", "--set", "cluster.takeover_after=8s",
	}, append(off, f.common...)...)
	older := []*instance{startReplica(t, f.at, "--set", "replica.max_lag=3s"), launch(t, nil, third...)}
	older[1].takeAddresses(older[1].waitLine("ready "))

	f.nodes[0].signal(syscall.SIGKILL)
	f.awaitRole(1, "writer")
	f.nodes[1].limit("AA_USDT", "buy", "1.00", "1.0")
	var at []string
	for _, in := range older {
		waitFor(t, func() bool {
			s := in.do("GET", in.public+"/api/status", "").body
			return strings.Contains(s, `"failed":true`) &&
				strings.Contains(in.do("GET", in.internal+"/incidents", "").body, needsLater)
		})
		in.waitLog(needsLater, 1)
		role, pos := position(t, in)
		at = append(at, role+" "+pos)
	}
	if at[0] != at[1] {
		t.Errorf("they have stopped at %v", at)
	}
	read := func(in *instance) answer {
		return in.do("GET", in.public+"/api/orderbook?currencyPairCode=AA_USDT", "")
	}
	waitFor(t, func() bool {
		a := read(older[0])
		return a.status == 503 && strings.Contains(a.body, `"code":"STALE"`)
	})
	if a := read(older[1]); a.status != 200 || a.header.Get("X-Lag-Ms") == "" || strings.Contains(a.body, "1.0") {
		t.Errorf("a read within the lag: %d %v %s", a.status, a.header, a.body)
	}
	refusedAs(t, serve)
	refusedAs(t, f.standby(0, off...))
	refusedAs(t, append([]string{"replica", "--from", "nats://" + f.at}, f.common...))
	if code, _, text := streamCommand(t, f.at, "verify"); code != 1 || !strings.Contains(text, needsLater) {
		t.Errorf("stream verify: exit code %d: %s", code, text)
	}
	f.nodes[1].signal(syscall.SIGKILL) // and no older node takes over
	f.nodes[1].wait()
	f.startAs(0, nextVersion, f.standby(0, off...))
	f.awaitRole(0, "writer")
	for _, in := range older {
		if role := roleOf(in); role != "replica" || in.ended() {
			t.Errorf("an older node is %q: %s", role, in.stderr.String())
		}
		in.signal(syscall.SIGTERM)
		if code := in.wait(); code != 0 {
			t.Errorf("exit code %d: %s", code, in.stderr.String())
		}
	}
	if a := read(f.nodes[0]); a.status != 200 || !strings.Contains(a.body, "1.0") {
		t.Errorf("the new writer: %d %s", a.status, a.body)
	}
	f.nodes[0].signal(syscall.SIGTERM)
	f.nodes[0].endsClean(f.dirs[0]) // without a record of the accounts, behind a snapshot of the market
	sound(t, f.dirs[0])
}
