package cluster

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// cluster is a writer and a replica with one key.
type cluster struct {
	writer, replica *harness.Instance
	key, dir        string
}

// startCluster starts a writer and, with a key that the writer makes, a replica that takes the client's address from
// X-Forwarded-For.
func startCluster(t *testing.T, writer ...string) cluster {
	t.Helper()
	at, c := harness.StreamAddress(t), cluster{key: filepath.Join(t.TempDir(), "cluster.key"), dir: t.TempDir()}
	c.writer = harness.Start(t, append([]string{
		"--data-dir", c.dir, "--pairs", "none", "--sim", "off", "--quiet", "--journal", "embedded",
		"--set", "stream.listen=" + at, "--set", "cluster.key_file=" + c.key,
	}, writer...)...)
	c.replica = harness.StartReplica(t, at, "--set", "cluster.key_file="+c.key, "--set",
		"server.trusted_proxies=127.0.0.1")
	return c
}

// from sends a signed request of a client at an address to the replica.
func (c *cluster) from(address string, u *harness.Voter, method, target, body string) harness.Answer {
	c.replica.T.Helper()
	header := u.Signed(fmt.Sprint(time.Now().UnixMilli()), method, target, body)
	return c.replica.Do(method, c.replica.Public+target, body, append(header, "X-Forwarded-For", address,
		"X-Request-Id", "of-the-client")...)
}

// A replica sends to the writer what is signed and what changes something. The writer uses the client's address for
// white lists, limits and the security log, and takes it from no one else.
func TestReplicaForwardsToTheWriter(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "--set", "rate.per_minute=3")
	served := strings.TrimPrefix(c.writer.Public, "http://")
	c.writer.TwoPairs()
	u := c.writer.Trader()
	order := `{"side":"buy","currencyPairCode":"AA_USDT","price":100,"amount":1}`
	for range 3 { // the second and the third use the connection of the first
		a := c.from("192.0.2.7", u, "POST", "/api/orders", order)
		if a.Status != 200 || a.Header.Get("X-Served-By") != served ||
			a.Header.Get("X-Request-Id") != "of-the-client" || len(a.Header.Values("X-Request-Id")) != 1 {
			t.Fatalf("an order: %d %v %s", a.Status, a.Header, a.Body)
		}
	}
	if n := c.writer.Opened(u); n != 3 {
		t.Errorf("%d orders in the book, want 3", n)
	}
	const balances = "/api/wallets/balances"
	w := c.writer.Do("GET", c.writer.Public+balances, "", u.Signed(fmt.Sprint(time.Now().UnixMilli()), "GET", balances,
		"")...)
	for _, method := range []string{"GET", "HEAD"} {
		a := c.from("192.0.2.7", u, method, balances, "")
		if a.Status != 200 || a.Header.Get("Content-Length") != w.Header.Get("Content-Length") ||
			method == "GET" && a.Body != w.Body || method == "HEAD" && a.Body != "" {
			t.Errorf("%s: %d %s, the writer %d %s", method, a.Status, a.Body, w.Status, w.Body)
		}
	}
	c.readsItsOwnWrites(t, u, served)
	c.usesTheClientsAddress(t, u)
	c.takesNoOtherAddress(t, u)
	c.refusesTheSocket(t, served)
	if a := c.replica.Do("GET", c.replica.Public+"/api/status", ""); !strings.Contains(a.Body,
		`"writer":"`+served+`"`) {
		t.Errorf("status: %s", a.Body)
	}
	if a := c.replica.Do("GET", c.replica.Public+"/api/orderbook?currencyPairCode=AA_USDT", ""); a.Status != 200 ||
		a.Header.Get("X-Served-By") != "" {
		t.Errorf("a read: %d %v", a.Status, a.Header)
	}
	c.shownByMetrics(t)
	c.writer.Signal(syscall.SIGKILL)
	c.writer.Wait()
	if a := c.from("192.0.2.7", u, "POST", "/api/orders", order); a.Status != 503 ||
		!strings.Contains(a.Body, `"code":"UNAVAILABLE"`) || !strings.Contains(a.Body, served) {
		// an idle connection that the replica has not seen end
		if a.Status != 504 || !strings.Contains(a.Body, `"code":"OUTCOME_UNKNOWN"`) {
			t.Errorf("without a writer: %d %s", a.Status, a.Body)
		}
	}
}

// shownByMetrics checks the metrics of both nodes.
func (c *cluster) shownByMetrics(t *testing.T) {
	t.Helper()
	for in, want := range map[*harness.Instance][]string{
		c.writer: {`tickhive_stream_term{role="writer"} 1`, `tickhive_stream_lag_seconds{role="writer"}`},
		c.replica: {
			`tickhive_stream_term{role="replica"} 1`, `tickhive_stream_void_total{role="replica"} 0`,
			`tickhive_forwarded_total{outcome="unreached"} 0`, `tickhive_forwarded_total{outcome="answered"} `,
		},
	} {
		var role, pos, series string
		harness.WaitFor(t, func() bool { // no record comes between the two reads
			role, pos = position(t, in)
			series = in.Do("GET", in.Root+"/metrics", "").Body
			_, after := position(t, in)
			return pos == after
		})
		for _, line := range append(want, fmt.Sprintf("tickhive_stream_position{role=%q} %s", role, pos)) {
			if !strings.Contains(series, "\n"+line) {
				t.Errorf("no %s in the metrics of the %s", line, role)
			}
		}
		if in == c.writer && strings.Contains(series, "tickhive_forwarded_total") ||
			in == c.replica && strings.Contains(series, `{outcome="answered"} 0`) {
			t.Errorf("the metrics of the %s count what was forwarded wrongly", role)
		}
	}
}

// readsItsOwnWrites checks that a read of the replica has the order that was answered before it, and that the writer
// gets the read of a seq that the replica does not reach.
func (c *cluster) readsItsOwnWrites(t *testing.T, u *harness.Voter, served string) {
	t.Helper()
	read := func(seq uint64) (a harness.Answer, at uint64) {
		a = c.replica.Do("GET", fmt.Sprintf("%s/api/orderbook?currencyPairCode=BB_USDT&minSeq=%d", c.replica.Public,
			seq), "")
		at, _ = strconv.ParseUint(a.Header.Get("X-Seq"), 10, 64)
		return a, at
	}
	last := uint64(0)
	for range 20 {
		a := c.from("192.0.2.7", u, "POST", "/api/orders",
			`{"side":"buy","currencyPairCode":"BB_USDT","price":1,"amount":1}`)
		seq, err := strconv.ParseUint(a.Header.Get("X-Seq"), 10, 64)
		if err != nil || seq <= last {
			t.Fatalf("seq %d behind %d: %v %s", seq, last, err, a.Body)
		}
		if a, at := read(seq); a.Status != 200 || at < seq {
			t.Errorf("at seq %d: %d, seq %d %s", seq, a.Status, at, a.Body)
		}
		last = seq
	}
	if a, _ := read(last + 1); a.Status != 503 || !strings.Contains(a.Body, `"code":"STALE"`) ||
		a.Header.Get("X-Served-By") != served {
		t.Errorf("beyond the last seq: %d %v %s", a.Status, a.Header, a.Body)
	}
}

// usesTheClientsAddress checks the white list, the limit of an address, and the security log.
func (c *cluster) usesTheClientsAddress(t *testing.T, u *harness.Voter) {
	t.Helper()
	key := c.writer.Call(200, "POST", "/users/"+u.ID+"/apikeys",
		`{"name":"home","canTrade":true,"ipWhitelist":["192.0.2.0/24"]}`)
	home := &harness.Voter{ID: u.ID, Public: key["publicKey"].(string), Private: key["privateKey"].(string)}
	for address, status := range map[string]int{"192.0.2.7": 200, "198.51.100.1": 403} {
		if a := c.from(address, home, "GET", "/api/wallets/balances", ""); a.Status != status {
			t.Errorf("white list, from %s: %d %s", address, a.Status, a.Body)
		}
	}
	if a := c.from("192.0.2.9", u, "POST", "/api/apikeys", `{"name":"new"}`); a.Status != 200 {
		t.Errorf("a new key: %d %s", a.Status, a.Body)
	}
	c.writer.WaitLog("from=192.0.2.9", 1)
	limited := map[string]int{}
	for _, address := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"} {
		a := c.replica.Do("POST", c.replica.Public+"/api/launchpad/spawn", "{}", "X-Forwarded-For", address,
			"Content-Type", "application/json")
		if a.Status == http.StatusTooManyRequests {
			limited[address]++
		} else if a.Status != http.StatusUnauthorized || a.Header.Get("X-RateLimit-Limit") != "3" {
			t.Errorf("from %s: %d %v %s", address, a.Status, a.Header, a.Body)
		}
	}
	if len(limited) != 1 || limited["192.0.2.1"] != 1 {
		t.Errorf("limited: %v, want the fourth request of 192.0.2.1", limited)
	}
}

// takesNoOtherAddress checks that the header of a forwarded request counts from a node only.
func (c *cluster) takesNoOtherAddress(t *testing.T, u *harness.Voter) {
	t.Helper()
	for _, to := range []*harness.Instance{c.writer, c.replica} {
		header := u.Signed(fmt.Sprint(time.Now().UnixMilli()), "GET", "/api/wallets/balances", "")
		a := to.Do("GET", to.Public+"/api/wallets/balances", "", append(header, "X-Tickhive-Client",
			fmt.Sprintf("192.0.2.7 %d %064d", time.Now().UnixMilli(), 1))...)
		if a.Status != 403 || !strings.Contains(a.Body, `"field":"X-Tickhive-Client"`) {
			t.Errorf("a forged header: %d %s", a.Status, a.Body)
		}
	}
}

// refusesTheSocket checks that a socket of the replica names the writer.
func (c *cluster) refusesTheSocket(t *testing.T, served string) {
	t.Helper()
	ws := c.replica.DialSocket(c.replica.Public, "/ws")
	const auth = `{"op":"auth","id":1,"publicKey":"x","timestamp":1,"nonce":"n","signature":"s"}`
	for _, want := range []string{`"code":"NOT_WRITER"`, "http://" + served} {
		if err := ws.WriteMessage(1, []byte(auth)); err != nil {
			t.Fatal(err)
		}
		harness.Hears(t, ws, want)
	}
}

// A replica forwards to a writer with TLS, whose certificate it verifies, and to none that has another key. A replica
// makes no key.
func TestReplicaForwardsByTLS(t *testing.T) {
	t.Parallel()
	at, dir := harness.StreamAddress(t), t.TempDir()
	cert, key := harness.WriteCertificate(t, dir, 1, time.Now().Add(24*time.Hour))
	secret := filepath.Join(dir, "cluster.key")
	writer := harness.Start(t, "--data-dir", filepath.Join(dir, "data"), "--pairs", "none", "--sim", "off", "--quiet",
		"--journal", "embedded", "--set", "stream.listen="+at, "--set", "cluster.key_file="+secret,
		"--set", "tls.cert="+cert, "--set", "tls.key="+key)
	served := strings.TrimPrefix(writer.Public, "http://")
	for _, c := range []struct {
		set    string
		status int
		code   string
	}{
		{"cluster.ca=" + cert, 401, "UNAUTHORIZED"},
		{"cluster.ca=", 503, "UNAVAILABLE"}, // the certificate has no signature that the machine trusts
	} {
		replica := harness.StartReplica(t, at, "--set", "cluster.key_file="+secret, "--set", c.set)
		a := replica.Do("POST", replica.Public+"/api/orders", "{}", "Content-Type", "application/json")
		if a.Status != c.status || !strings.Contains(a.Body, `"code":"`+c.code+`"`) ||
			c.status != 401 && !strings.Contains(a.Body, "https://"+served) {
			t.Errorf("%s: %d %s", c.set, a.Status, a.Body)
		}
		replica.Signal(syscall.SIGTERM)
		replica.Wait()
	}
	for file, want := range map[string]struct {
		code int
		says string
	}{
		filepath.Join(dir, "missing.key"): {2, "copy the writer's"},
		otherKey(t):                       {1, "cluster.key_file of this node must have the key of the writer"},
	} {
		none := harness.Launch(t, nil, "replica", "--from", "nats://"+at, "--quiet", "--listen", "127.0.0.1:0",
			"--internal-listen", "127.0.0.1:0",
			"--set", "cluster.key_file="+file)
		if code := none.Wait(); code != want.code || !strings.Contains(none.Stderr.String(), want.says) {
			t.Errorf("with the key %s: exit code %d, %s", file, code, none.Stderr.String())
		}
	}
}

// otherKey returns the file of a key of another cluster.
func otherKey(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.key")
	if err := os.WriteFile(path, []byte(strings.Repeat("k", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
