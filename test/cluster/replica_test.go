package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"

	"github.com/tickhive/tickhive/test/harness"
)

// position returns role and position in /api/status.
func position(t *testing.T, in *harness.Instance) (role, pos string) {
	t.Helper()
	m, _ := harness.Object(t, in.Do("GET", in.Public+"/api/status", "").Body)["replication"].(map[string]any)
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
func stateOf(a harness.Answer) string {
	return fmt.Sprint(a.Status, a.Header.Get("X-Seq"), a.Header.Get("ETag"))
}

// sameAnswers compares the public answers of an exchange and of its replica, when both have ended.
func sameAnswers(t *testing.T, writer, replica *harness.Instance) {
	t.Helper()
	for _, path := range replicaPaths {
		w, r := writer.Do("GET", writer.Public+path, ""), replica.Do("GET", replica.Public+path, "")
		if w.Status != 200 || w.Body != r.Body || stateOf(w) != stateOf(r) {
			t.Errorf("%s: writer %s %.600s\nreplica %s %.600s", path, stateOf(w), w.Body, stateOf(r), r.Body)
		}
		if r.Header.Get("X-Lag-Ms") == "" || w.Header.Get("X-Lag-Ms") != "" {
			t.Errorf("%s: X-Lag-Ms of the replica %q, of the writer %q", path, r.Header.Get("X-Lag-Ms"),
				w.Header.Get("X-Lag-Ms"))
		}
	}
}

// sameAtOneSeq looks at both until they have answered a path at the same seq, and compares these answers.
func sameAtOneSeq(t *testing.T, writer, replica *harness.Instance, path string) {
	t.Helper()
	ws, rs := map[string]harness.Answer{}, map[string]harness.Answer{}
	harness.WaitFor(t, func() bool {
		w, r := writer.Do("GET", writer.Public+path, ""), replica.Do("GET", replica.Public+path, "")
		ws[w.Header.Get("X-Seq")], rs[r.Header.Get("X-Seq")] = w, r
		for seq, w := range ws {
			if r, ok := rs[seq]; ok {
				if seq == "" || w.Status != 200 || w.Body != r.Body || stateOf(w) != stateOf(r) {
					t.Errorf("%s at seq %s: writer %s %.600s\nreplica %s %.600s", path, seq, stateOf(w), w.Body,
						stateOf(r), r.Body)
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
	at, dir := harness.StreamAddress(t), t.TempDir()
	args := []string{
		"--data-dir", dir, "--pairs", "none", "--sim", "off", "--quiet", "--log-level", "warn",
		"--journal", "embedded", "--ack", "quorum",
		"--set", "stream.listen=" + at, "--set", "journal.segment_bytes=65536", "--set", "journal.snapshot_bytes=60000",
		"--set", "rate.allow=127.0.0.1",
	}
	a := harness.NewAcked()
	writer := harness.Start(t, args...)
	a.Begin(writer)
	replica := harness.StartReplica(t, at)
	var book *client.Follower
	for round := range 3 {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { a.Load(writer, uint64(round), stop); close(done) }()
		harness.WaitFor(t, func() bool { return a.InFlight.Load() >= 50 })
		sameAtOneSeq(t, writer, replica, "/api/orderbook?currencyPairCode=AA_USDT")
		sameAtOneSeq(t, writer, replica, "/api/deals?currencyPairCode=BB_USDT")
		switch round {
		case 0:
			replica.Signal(syscall.SIGKILL)
			replica.Wait()
			replica = harness.StartReplica(t, at)
			book = replica.Follower("AA_USDT") // sees the writer end and begin again
		case 1:
			writer.Signal(syscall.SIGKILL)
			writer.Wait()
		}
		close(stop)
		<-done
		if round == 1 {
			writer = harness.Start(t, args...)
		}
	}
	harness.WaitFor(t, func() bool {
		wr, wp := position(t, writer)
		rr, rp := position(t, replica)
		if wr != "writer" || rr != "replica" {
			t.Fatalf("roles %s and %s", wr, rr)
		}
		return wp == rp && wp != "0"
	})
	sameAnswers(t, writer, replica)
	harness.SameAsREST(t, writer, book, "AA_USDT")
	wh, rh := writer.Call(200, "GET", "/state-hash", ""), replica.Call(200, "GET", "/state-hash", "")
	if wh["hash"] == nil || fmt.Sprint(wh) != fmt.Sprint(rh) {
		t.Errorf("state hashes %v and %v", wh, rh)
	}
	if w, r := shownEpoch(t, writer), shownEpoch(t, replica); w != r || w == "" {
		t.Errorf("epochs %q and %q", w, r)
	}
	a.VerifyStores(t, writer)
	refusesToWrite(t, writer, replica)
	replica.Signal(syscall.SIGTERM)
	if code := replica.Wait(); code != 0 {
		t.Errorf("replica: exit code %d", code)
	}
	writer.Signal(syscall.SIGTERM)
	writer.EndsClean(dir)
}

func shownEpoch(t *testing.T, in *harness.Instance) string {
	t.Helper()
	epoch, _ := harness.Object(t, in.Do("GET", in.Public+"/api/status", "").Body)["epoch"].(string)
	return epoch
}

// refusesToWrite checks that a replica executes nothing of what is signed and what changes something: it is the writer
// that refuses it, and the internal listener has no other node.
func refusesToWrite(t *testing.T, writer, replica *harness.Instance) {
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
		got := replica.Do(r.method, replica.Public+r.path, "{}", header...)
		at := writer.Do(r.method, writer.Public+r.path, "{}", header...)
		code := fmt.Sprint(harness.Object(t, at.Body)["code"])
		if got.Status != at.Status || got.Status < 400 || !strings.Contains(got.Body, `"code":"`+code+`"`) ||
			"http://"+got.Header.Get("X-Served-By") != writer.Public {
			t.Errorf("%s %s: %d %v %s, the writer %d %s", r.method, r.path, got.Status, got.Header, got.Body, at.Status,
				at.Body)
		}
	}
	replica.Refuse(503, "UNAVAILABLE", "", "POST", "/users", `{"nativeBalance":1}`)
	replica.Refuse(503, "UNAVAILABLE", "", "POST", "/orders",
		`{"currencyPairCode":"AA_USDT","side":"buy","type":"limit","price":1,"amount":1}`)
}

// A replica that has heard nothing from the writer for longer than max_lag refuses reads, and serves again when the
// writer is back. Probes, status and open sockets say so, and nothing but the process's life counts as healthy.
func TestReplicaRefusesStaleReads(t *testing.T) {
	t.Parallel()
	at, dir := harness.StreamAddress(t), t.TempDir()
	args := []string{
		"--data-dir", dir, "--sim", "off", "--quiet", "--journal", "embedded", "--set", "stream.listen=" + at,
	}
	writer := harness.Start(t, args...)
	replica := harness.StartReplica(t, at, "--set", "replica.max_lag=3s")
	get := func(path string) harness.Answer { return replica.Do("GET", replica.Public+path, "") }
	harness.WaitFor(t, func() bool { return get("/api/orderbook?currencyPairCode=BTC_USDT").Status == 200 })
	replicaReady(t, replica, 200, 0, `{"ready":true}`)
	socket := replica.Follower("BTC_USDT").Stream
	if s := replicaStatus(t, replica); s.Status != "ok" || s.Replication.StaleSince != nil {
		t.Errorf("before: %+v", s)
	}
	writer.Signal(syscall.SIGKILL)
	writer.Wait()
	harness.WaitFor(t, func() bool {
		a := get("/api/orderbook?currencyPairCode=BTC_USDT")
		return a.Status == 503 && strings.Contains(a.Body, `"code":"STALE"`) && a.Header.Get("Retry-After") == "1"
	})
	replicaReady(t, replica, 503, 1, "s behind its writer")
	if a := get("/healthz"); a.Status != 200 {
		t.Errorf("/healthz: %d %s: a supervisor would restart the replica", a.Status, a.Body)
	}
	s := replicaStatus(t, replica)
	if since := s.Replication.StaleSince; s.Status != "stale" || s.Replication.Role != "replica" ||
		s.Replication.Term != 1 || since == nil || *since > s.Time || *since <= s.Time-s.Replication.LagMs {
		t.Errorf("stale: %+v", s)
	}
	endsStale(t, socket)
	if _, err := client.Dial(t.Context(), client.StreamURL(replica.Public)); err == nil {
		t.Error("a stale replica takes a socket")
	}
	harness.WaitFor(t, func() bool {
		return strings.Contains(get("/api/status").Body,
			"this replica is too far behind")
	})

	harness.Start(t, args...)
	harness.WaitFor(t, func() bool { return get("/api/orderbook?currencyPairCode=BTC_USDT").Status == 200 })
	harness.WaitFor(t, func() bool { return strings.Contains(get("/api/status").Body, "this replica has caught up") })
	replicaReady(t, replica, 200, 0, `{"ready":true}`)
	if s := replicaStatus(t, replica); s.Status != "ok" || s.Replication.Term != 2 ||
		s.Replication.StaleSince != nil {
		t.Errorf("after the restart: %+v", s)
	}
	again := replica.Follower("BTC_USDT")
	for !again.Books["BTC_USDT"].Ready() {
		harness.Step(t, again)
	}
}

// replicaReady checks what every probe of readiness answers, and how the command ready ends.
func replicaReady(t *testing.T, replica *harness.Instance, status, exit int, text string) {
	t.Helper()
	for _, url := range []string{replica.Public + "/readyz", replica.Root + "/readyz", replica.Internal + "/ready"} {
		if a := replica.Do("GET", url, ""); a.Status != status || !strings.Contains(a.Body, text) {
			t.Errorf("%s: %d %s", url, a.Status, a.Body)
		}
	}
	for _, base := range []string{replica.Public, replica.Root} {
		r := harness.Launch(t, nil, "ready", base)
		if r.Wait() != exit || exit != 0 && !strings.Contains(r.Stderr.String(), text) {
			t.Errorf("tickhive ready %s: %s", base, r.Stderr.String())
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

func replicaStatus(t *testing.T, replica *harness.Instance) (s shownStatus) {
	t.Helper()
	if err := json.Unmarshal([]byte(replica.Do("GET", replica.Public+"/api/status", "").Body), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// endsStale reads a socket to its end: an error STALE, then the close frame 1013.
func endsStale(t *testing.T, s *client.Stream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
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
	at := harness.StreamAddress(t)
	writer := harness.Start(t, "--data-dir", t.TempDir(), "--sim", "off", "--quiet", "--journal", "embedded",
		"--set", "stream.listen="+at)
	replica := harness.StartReplica(t, at)
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	conn, err := jet.Connect(harness.StreamSeed.Remote(at))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log, err := conn.Log(ctx, shownEpoch(t, writer), 0)
	if err != nil {
		t.Fatal(err)
	}
	impostor(ctx, t, log)
	code := replica.Wait()
	if code != 3 || !strings.Contains(replica.Stderr.String(), "the state differs from the writer's") {
		t.Errorf("a wrong digest: exit code %d: %s", code, replica.Stderr.String())
	}
	harness.WaitFor(t, func() bool {
		body := writer.Do("GET", writer.Public+"/api/status", "").Body
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
	second := harness.Launch(t, nil, "replica", "--from", "nats://"+at, "--listen", "127.0.0.1:0", "--internal-listen",
		"127.0.0.1:0", "--quiet")
	if code := second.Wait(); code != 3 {
		t.Errorf("a damaged stream: exit code %d: %s", code, second.Stderr.String())
	}
}

// impostor becomes the writer of a stream, and sends a beat with a wrong digest.
func impostor(ctx context.Context, t *testing.T, log jet.Log) {
	t.Helper()
	for number := uint64(1000); ; number++ {
		state, err := node.End(ctx, log, streamKeys(t))
		if err != nil {
			t.Fatal(err)
		}
		w, err := stream.Campaign(&stream.Candidate{
			At: state, Node: number, Rules: node.Rules, Keys: streamKeys(t),
			Limits: stream.Limits{InFlight: 1, Queue: stream.MaxMessage},
		}, state.SentNs)
		if err != nil {
			t.Fatal(err)
		}
		a := jet.NewAppender(log, w, jet.Timing{
			NowNs: func() int64 { return state.SentNs }, BeatAfter: 10 * time.Millisecond, AckTimeout: time.Second,
		})
		a.NoteDigest(state.End.Seq, [4]uint64{4711})
		run, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- a.Run(run) }()
		status := stream.Campaigning
		harness.WaitFor(t, func() bool {
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
		in := harness.Launch(t, nil, strings.Fields(args)...)
		if code := in.Wait(); code != 2 || !strings.Contains(in.Stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, in.Stderr.String())
		}
	}
}

// Without a stream nothing of it runs: no goroutine of a server, a connection or a sender. With one, they do.
func TestNothingOfAStreamRunsWithoutOne(t *testing.T) {
	t.Parallel()
	parts := []string{
		"github.com/nats-io/", "github.com/tickhive/tickhive/internal/stream",
		"github.com/tickhive/tickhive/internal/node.(*Sender)",
	}
	stacks := func(args ...string) string {
		in := harness.Start(t, append(args, "--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet")...)
		text := ""
		harness.WaitFor(t, func() bool { // each goroutine has begun
			text = in.Do("GET", in.Root+"/debug/pprof/goroutine?debug=2", "").Body
			return len(args) == 0 || strings.Contains(text, parts[len(parts)-1])
		})
		return text
	}
	without := stacks()
	if !strings.Contains(without, "github.com/tickhive/tickhive/engine/sequencer") {
		t.Fatalf("no stacks: %.500s", without)
	}
	with := stacks("--journal", "embedded", "--set", "stream.listen="+harness.StreamAddress(t))
	for _, part := range parts {
		if strings.Contains(without, part) {
			t.Errorf("without a stream there is a goroutine of %s", part)
		}
		if !strings.Contains(with, part) {
			t.Errorf("with a stream there is no goroutine of %s: the test looks for the wrong ones", part)
		}
	}
}
