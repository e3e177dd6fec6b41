package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"tickhive/client"
	"tickhive/internal/listen"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
)

// streamAddress returns a loopback address that another process can listen at.
func streamAddress(t *testing.T) string {
	t.Helper()
	all, release, err := listen.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return all[0]
}

// startReplica starts a replica of the stream at an address, and waits until it serves.
func startReplica(t *testing.T, at string, args ...string) *instance {
	t.Helper()
	in := launch(t, nil, append([]string{
		"replica", "--from", "nats://" + at, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--quiet",
		"--set", "rate.allow=127.0.0.1", "--set", "replica.max_lag=1h",
	}, args...)...)
	in.takeAddresses(in.waitLine("ready "))
	return in
}

// position returns role and position in /api/status.
func position(t *testing.T, in *instance) (role, pos string) {
	t.Helper()
	m, _ := object(t, in.do("GET", in.public+"/api/status", "").body)["replication"].(map[string]any)
	return fmt.Sprint(m["role"]), fmt.Sprint(m["position"])
}

// replicaPaths are public reads of every resource.
var replicaPaths = []string{
	"/api/currencies", "/api/currencies/pairs", "/api/currencies/commissions",
	"/api/orderbook?currencyPairCode=AA_USDT", "/api/orderbook?currencyPairCode=BB_USDT&aliases=false",
	"/api/deals?currencyPairCode=AA_USDT", "/api/deals?currencyPairCode=BB_USDT&pageSize=7",
	"/api/tickers?currencyPairCode=AA_USDT", "/api/summary",
	"/api/marketdata/getaggregator/pairs", "/api/marketdata/getaggregator/tickers",
	"/api/marketdata/getaggregator/asset", "/api/marketdata/getaggregator/orderbook?ticker_id=AA_USDT",
	"/api/marketdata/getaggregator/historical_trades?ticker_id=AA_USDT", "/listing/coingecko/tickers",
	"/listing/coinmarketcap/orderbook/BB_USDT",
	"/udf/history?symbol=AA_USDT&resolution=1D&from=0&to=4000000000",
	"/api/launchpad/tokens", "/api/agents/overview", "/api/agents/workers", "/api/agents/proposals",
	"/api/agents/action-logs",
}

// stateOf returns what tells two answers of a path apart, without the body.
func stateOf(a answer) string {
	return fmt.Sprint(a.status, a.header.Get("X-Seq"), a.header.Get("ETag"))
}

// sameAnswers compares the public answers of an exchange and of its replica, when both have ended.
func sameAnswers(t *testing.T, writer, replica *instance) {
	t.Helper()
	for _, path := range replicaPaths {
		w, r := writer.do("GET", writer.public+path, ""), replica.do("GET", replica.public+path, "")
		if w.status != 200 || w.body != r.body || stateOf(w) != stateOf(r) {
			t.Errorf("%s: writer %s %.600s\nreplica %s %.600s", path, stateOf(w), w.body, stateOf(r), r.body)
		}
		if r.header.Get("X-Lag-Ms") == "" || w.header.Get("X-Lag-Ms") != "" {
			t.Errorf("%s: X-Lag-Ms of the replica %q, of the writer %q", path, r.header.Get("X-Lag-Ms"),
				w.header.Get("X-Lag-Ms"))
		}
	}
}

// sameAtOneSeq looks at both until they have answered a path at the same seq, and compares these answers.
func sameAtOneSeq(t *testing.T, writer, replica *instance, path string) {
	t.Helper()
	ws, rs := map[string]answer{}, map[string]answer{}
	waitFor(t, func() bool {
		w, r := writer.do("GET", writer.public+path, ""), replica.do("GET", replica.public+path, "")
		ws[w.header.Get("X-Seq")], rs[r.header.Get("X-Seq")] = w, r
		for seq, w := range ws {
			if r, ok := rs[seq]; ok {
				if seq == "" || w.status != 200 || w.body != r.body || stateOf(w) != stateOf(r) {
					t.Errorf("%s at seq %s: writer %s %.600s\nreplica %s %.600s", path, seq, stateOf(w), w.body,
						stateOf(r), r.body)
				}
				return true
			}
		}
		return false
	})
}

// A replica answers every public read with the writer's bytes at the same seq, under load, after kills of the replica
// and of the writer. At the end the state hashes are equal.
func TestReplicaShowsWhatTheWriterShows(t *testing.T) {
	t.Parallel()
	at, dir := streamAddress(t), t.TempDir()
	args := []string{
		"--data-dir", dir, "--pairs", "none", "--sim", "off", "--quiet", "--log-level", "warn",
		"--journal", "embedded", "--ack", "quorum",
		"--set", "stream.listen=" + at, "--set", "journal.segment_bytes=65536", "--set", "journal.snapshot_bytes=60000",
		"--set", "rate.allow=127.0.0.1",
	}
	a := newAcked()
	writer := start(t, args...)
	a.begin(writer)
	replica := startReplica(t, at)
	var book *client.Follower
	for round := range 3 {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { a.load(writer, uint64(round), stop); close(done) }()
		waitFor(t, func() bool { return a.inFlight.Load() >= 50 })
		sameAtOneSeq(t, writer, replica, "/api/orderbook?currencyPairCode=AA_USDT")
		sameAtOneSeq(t, writer, replica, "/api/deals?currencyPairCode=BB_USDT")
		switch round {
		case 0:
			replica.signal(syscall.SIGKILL)
			replica.wait()
			replica = startReplica(t, at)
			book = replica.follower("AA_USDT") // sees the writer end and begin again
		case 1:
			writer.signal(syscall.SIGKILL)
			writer.wait()
		}
		close(stop)
		<-done
		if round == 1 {
			writer = start(t, args...)
		}
	}
	waitFor(t, func() bool {
		wr, wp := position(t, writer)
		rr, rp := position(t, replica)
		if wr != "writer" || rr != "replica" {
			t.Fatalf("roles %s and %s", wr, rr)
		}
		return wp == rp && wp != "0"
	})
	sameAnswers(t, writer, replica)
	sameAsREST(t, writer, book, "AA_USDT")
	wh, rh := writer.call(200, "GET", "/state-hash", ""), replica.call(200, "GET", "/state-hash", "")
	if wh["hash"] == nil || fmt.Sprint(wh) != fmt.Sprint(rh) {
		t.Errorf("state hashes %v and %v", wh, rh)
	}
	if w, r := shownEpoch(t, writer), shownEpoch(t, replica); w != r || w == "" {
		t.Errorf("epochs %q and %q", w, r)
	}
	a.verifyStores(t, writer)
	refusesToWrite(t, replica)
	replica.signal(syscall.SIGTERM)
	if code := replica.wait(); code != 0 {
		t.Errorf("replica: exit code %d", code)
	}
	writer.signal(syscall.SIGTERM)
	writer.endsClean(dir)
}

func shownEpoch(t *testing.T, in *instance) string {
	t.Helper()
	epoch, _ := object(t, in.do("GET", in.public+"/api/status", "").body)["epoch"].(string)
	return epoch
}

// refusesToWrite checks that a replica refuses what is signed and what changes something, and executes none of it.
func refusesToWrite(t *testing.T, replica *instance) {
	t.Helper()
	for _, r := range []struct{ method, path, key string }{
		{"GET", "/api/user/orders", ""},
		{"POST", "/api/orders", ""},
		{"POST", "/api/launchpad/spawn", ""},
		{"GET", "/api/orderbook?currencyPairCode=AA_USDT", strings.Repeat("ab", 32)},
	} {
		var header []string
		if r.key != "" {
			header = []string{"API-PublicKey", r.key}
		}
		got := replica.do(r.method, replica.public+r.path, "{}", header...)
		if got.status != http.StatusMisdirectedRequest || !strings.Contains(got.body, `"code":"NOT_WRITER"`) {
			t.Errorf("%s %s: %d %s", r.method, r.path, got.status, got.body)
		}
	}
	replica.refuse(503, "UNAVAILABLE", "", "POST", "/users", `{"nativeBalance":1}`)
	replica.refuse(503, "UNAVAILABLE", "", "POST", "/orders",
		`{"currencyPairCode":"AA_USDT","side":"buy","type":"limit","price":1,"amount":1}`)
}

// A replica that has heard nothing from the writer for longer than max_lag refuses reads, and serves again when the
// writer is back. Probes, status and open sockets say so, and nothing but the process's life counts as healthy.
func TestReplicaRefusesStaleReads(t *testing.T) {
	t.Parallel()
	at, dir := streamAddress(t), t.TempDir()
	args := []string{
		"--data-dir", dir, "--sim", "off", "--quiet", "--journal", "embedded", "--set", "stream.listen=" + at,
	}
	writer := start(t, args...)
	replica := startReplica(t, at, "--set", "replica.max_lag=3s")
	get := func(path string) answer { return replica.do("GET", replica.public+path, "") }
	waitFor(t, func() bool { return get("/api/orderbook?currencyPairCode=BTC_USDT").status == 200 })
	replicaReady(t, replica, 200, 0, `{"ready":true}`)
	socket := replica.follower("BTC_USDT").Stream
	if s := replicaStatus(t, replica); s.Status != "ok" || s.Replication.StaleSince != nil {
		t.Errorf("before: %+v", s)
	}
	writer.signal(syscall.SIGKILL)
	writer.wait()
	waitFor(t, func() bool {
		a := get("/api/orderbook?currencyPairCode=BTC_USDT")
		return a.status == 503 && strings.Contains(a.body, `"code":"STALE"`) && a.header.Get("Retry-After") == "1"
	})
	replicaReady(t, replica, 503, 1, "s behind its writer")
	if a := get("/healthz"); a.status != 200 {
		t.Errorf("/healthz: %d %s: a supervisor would restart the replica", a.status, a.body)
	}
	s := replicaStatus(t, replica)
	if since := s.Replication.StaleSince; s.Status != "stale" || s.Replication.Role != "replica" ||
		s.Replication.Term != 1 || since == nil || *since > s.Time || *since <= s.Time-s.Replication.LagMs {
		t.Errorf("stale: %+v", s)
	}
	endsStale(t, socket)
	if _, err := client.Dial(t.Context(), client.StreamURL(replica.public)); err == nil {
		t.Error("a stale replica takes a socket")
	}
	waitFor(t, func() bool { return strings.Contains(get("/api/status").body, "this replica is too far behind") })

	start(t, args...)
	waitFor(t, func() bool { return get("/api/orderbook?currencyPairCode=BTC_USDT").status == 200 })
	waitFor(t, func() bool { return strings.Contains(get("/api/status").body, "this replica has caught up") })
	replicaReady(t, replica, 200, 0, `{"ready":true}`)
	if s := replicaStatus(t, replica); s.Status != "ok" || s.Replication.Term != 2 ||
		s.Replication.StaleSince != nil {
		t.Errorf("after the restart: %+v", s)
	}
	again := replica.follower("BTC_USDT")
	for !again.Books["BTC_USDT"].Ready() {
		step(t, again)
	}
}

// replicaReady checks what every probe of readiness answers, and how the command ready ends.
func replicaReady(t *testing.T, replica *instance, status, exit int, text string) {
	t.Helper()
	for _, url := range []string{replica.public + "/readyz", replica.root + "/readyz", replica.internal + "/ready"} {
		if a := replica.do("GET", url, ""); a.status != status || !strings.Contains(a.body, text) {
			t.Errorf("%s: %d %s", url, a.status, a.body)
		}
	}
	for _, base := range []string{replica.public, replica.root} {
		r := launch(t, nil, "ready", base)
		if r.wait() != exit || exit != 0 && !strings.Contains(r.stderr.String(), text) {
			t.Errorf("tickhive ready %s: %s", base, r.stderr.String())
		}
	}
}

// shownStatus holds the members of /api/status that tell the age of a replica.
type shownStatus struct {
	Status      string
	Time        int64
	Replication struct {
		Role       string
		Term       uint64
		LagMs      int64
		StaleSince *int64
	}
}

func replicaStatus(t *testing.T, replica *instance) (s shownStatus) {
	t.Helper()
	if err := json.Unmarshal([]byte(replica.do("GET", replica.public+"/api/status", "").body), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// endsStale reads a socket to its end: an error STALE, then the close frame 1013.
func endsStale(t *testing.T, s *client.Stream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last *client.Message
	for {
		m, err := s.NextContext(ctx)
		if err != nil {
			if client.CloseCode(err) != 1013 || last == nil || last.Type != "error" || last.Code != "STALE" {
				t.Errorf("the socket ended with %v behind %+v", err, last)
			}
			return
		}
		last = m
	}
}

// A replica stops with exit code 3 at a digest that differs, and behind a message that does not verify when the writer
// does not continue what came before it. The writer, which another process has replaced, says so.
func TestReplicaStopsAtWhatItCannotExecute(t *testing.T) {
	t.Parallel()
	at := streamAddress(t)
	writer := start(t, "--data-dir", t.TempDir(), "--sim", "off", "--quiet", "--journal", "embedded",
		"--set", "stream.listen="+at)
	replica := startReplica(t, at)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := jet.Connect(streamSeed.remote(at))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log, err := conn.Log(ctx, shownEpoch(t, writer), 0)
	if err != nil {
		t.Fatal(err)
	}
	impostor(ctx, t, log)
	code := replica.wait()
	if code != 3 || !strings.Contains(replica.stderr.String(), "the state differs from the writer's") {
		t.Errorf("a wrong digest: exit code %d: %s", code, replica.stderr.String())
	}
	waitFor(t, func() bool {
		body := writer.do("GET", writer.public+"/api/status", "").body
		return strings.Contains(body, `"failed":true`) && strings.Contains(body, `"kind":"stream"`)
	})
	last, err := log.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	beat, err := log.Read(ctx, last) // its repetitions do not continue anything, as the messages behind a lost one
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(70) {
		data := beat
		if i == 0 {
			data = []byte("no message of this format")
		}
		if err := log.Publish(99+i, last+i, data); err != nil {
			t.Fatal(err)
		}
		if a := <-log.Answers(); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	second := launch(t, nil, "replica", "--from", "nats://"+at, "--listen", "127.0.0.1:0", "--internal-listen",
		"127.0.0.1:0", "--quiet")
	if code := second.wait(); code != 3 {
		t.Errorf("a damaged stream: exit code %d: %s", code, second.stderr.String())
	}
}

// impostor becomes the writer of a stream, and sends a beat with a wrong digest.
func impostor(ctx context.Context, t *testing.T, log jet.Log) {
	t.Helper()
	for number := uint64(1000); ; number++ {
		state, _, err := node.ReadStream(ctx, log)
		if err != nil {
			t.Fatal(err)
		}
		w, err := stream.Campaign(&stream.Candidate{
			At: state, Node: number, Rules: node.Rules,
			Limits: stream.Limits{InFlight: 1, Queue: stream.MaxMessage},
		}, state.SentNs)
		if err != nil {
			t.Fatal(err)
		}
		a := jet.NewAppender(log, w, jet.Timing{
			NowNs: func() int64 { return state.SentNs }, BeatAfter: 10 * time.Millisecond, AckTimeout: time.Second,
		})
		a.SetDigest(state.Pos.Of(stream.Engine), 4711)
		run, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- a.Run(run) }()
		status := stream.Campaigning
		waitFor(t, func() bool {
			var now stream.State
			status, now = a.Status()
			return status == stream.Fenced || status == stream.Leading && now.Seq > state.Seq+1
		})
		stop()
		<-done
		if status == stream.Leading {
			return
		}
	}
}

// Settings of a stream that cannot work are refused before anything starts.
func TestStreamSettings(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"serve --journal embedded --clock virtual":             "virtual clock",
		"serve --journal embedded --data-dir= --set data.dir=": "data.dir",
		"serve --ack quorum":                                   "journal.ack",
		"serve --journal nats://10.1.2.3:4222":                 "CA and a seed file",
		"serve --journal embedded --set stream.listen=4222":    "stream.listen",
		"serve --set cluster.key_file=x":                       "set journal.stream",
		"serve --journal embedded --advertise h4":              "cluster.advertise",
		"serve --journal embedded --set cluster.ca=missing":    "cluster.ca",
		"replica":                           "--from",
		"replica --from http://127.0.0.1:1": "nats://HOST:PORT",
		"replica --from nats://127.0.0.1:1 --set replica.max_lag=yesterday": "replica.max_lag",
	} {
		in := launch(t, nil, strings.Fields(args)...)
		if code := in.wait(); code != 2 || !strings.Contains(in.stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, in.stderr.String())
		}
	}
}

// Without a stream nothing of it runs: no goroutine of a server, a connection or a mirror. With one, they do.
func TestNothingOfAStreamRunsWithoutOne(t *testing.T) {
	t.Parallel()
	parts := []string{"github.com/nats-io/", "tickhive/internal/stream", "tickhive/internal/mirror"}
	stacks := func(args ...string) string {
		in := start(t, append(args, "--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet")...)
		return in.do("GET", in.root+"/debug/pprof/goroutine?debug=2", "").body
	}
	without := stacks()
	if !strings.Contains(without, "tickhive/engine/sequencer") {
		t.Fatalf("no stacks: %.500s", without)
	}
	with := stacks("--journal", "embedded", "--set", "stream.listen="+streamAddress(t))
	for _, part := range parts {
		if strings.Contains(without, part) {
			t.Errorf("without a stream there is a goroutine of %s", part)
		}
		if !strings.Contains(with, part) {
			t.Errorf("with a stream there is no goroutine of %s: the test looks for the wrong ones", part)
		}
	}
}
