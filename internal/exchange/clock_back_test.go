package exchange_test

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

// signedGet is a signed request that can be sent again.
type signedGet http.Header

const signedTarget = "/api/wallets/balances"

// sign signs a request that is dated ahead of the machine's clock.
func (c *clockRig) sign(public, private string, ahead time.Duration, nonce string) signedGet {
	wall, _ := c.Read()
	stamp := strconv.FormatInt((wall+int64(ahead))/int64(time.Millisecond), 10)
	return signedGet{
		"API-PublicKey": {public}, "API-Timestamp": {stamp}, "API-Nonce": {nonce},
		"API-Signature":  {client.Sign(private, stamp, nonce, http.MethodGet, signedTarget, nil)},
		"API-RecvWindow": {"60000"},
	}
}

// send returns the status of a signed request, with what the answer says.
func (c *clockRig) send(r signedGet) (int, string) {
	c.t.Helper()
	a := c.DoWith(http.MethodGet, c.Public+signedTarget, "", http.Header(r))
	return a.Status, a.Body
}

// A clock that went back over a restart lets no signed request pass again: a start refuses every timestamp that the
// last process can have accepted, by the last record of any log, and the requests of the first second.
func TestClockThatWentBackLetsNoSignedRequestPassAgain(t *testing.T) {
	const begin = int64(1_767_225_600) * int64(time.Second)
	for _, c := range []struct {
		what   string
		record func(x *clockRig, user string) // the last change of the first process
		back   time.Duration                  // by which the clock went back meanwhile
		wait   time.Duration                  // after which requests pass again
	}{
		{"the clock goes on", nil, 0, 1001 * time.Millisecond},
		{"back behind a record of the market", func(x *clockRig, _ string) {
			x.Limit("BTC_USDT", "buy", "1", "1")
		}, 40 * time.Second, 41_001 * time.Millisecond},
		{"back behind a record of the accounts", func(x *clockRig, user string) {
			x.Call("POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":"1"}`)
		}, 40 * time.Second, 41_001 * time.Millisecond},
		{"back behind a record of the ledger", func(x *clockRig, user string) {
			x.Call("POST", "/users/"+user+"/deposits", `{"currencyCode":"NATIVE","amount":"1"}`)
		}, 40 * time.Second, 41_001 * time.Millisecond},
	} {
		m, dir := &stepClock{wall: begin, boot: begin}, t.TempDir()
		x := startClockRig(t, dir, m)
		x.Pair("ETH_USDT") // makes USDT a currency
		user := x.Call("POST", "/users", "{}")["id"].(string)
		key := x.Call("POST", "/users/"+user+"/apikeys", `{"name":"test"}`)
		public, private := key["publicKey"].(string), key["privateKey"].(string)
		m.pass(time.Minute)
		var used []signedGet
		for i, ahead := range []time.Duration{0, 999 * time.Millisecond} { // a new directory accepts both at once
			r := x.sign(public, private, ahead, "used-"+strconv.Itoa(i))
			if status, said := x.send(r); status != http.StatusOK {
				t.Fatalf("%s: %v ahead: %d %s", c.what, ahead, status, said)
			}
			used = append(used, r)
		}
		if status, said := x.send(x.sign(public, private, 1001*time.Millisecond, "n")); status != 401 {
			t.Errorf("%s: dated 1,001 ms ahead: %d %s", c.what, status, said)
		}
		if c.record != nil {
			c.record(x, user)
		}
		x.Stop()
		m.set(-c.back)
		x = startClockRig(t, dir, m)
		again := func() {
			t.Helper()
			for i, r := range used {
				if status, said := x.send(r); status != 401 {
					t.Errorf("%s: request %d passed again: %d %s", c.what, i, status, said)
				}
			}
		}
		again()
		degraded := strings.Contains(x.Do("GET", x.Public+"/api/status", "").Body, `"degraded"`)
		if degraded != (c.back > 0) {
			t.Errorf("%s: degraded %t", c.what, degraded)
		}
		m.pass(c.wait - time.Millisecond)
		status, said := x.send(x.sign(public, private, 0, "early"))
		if status != 401 || !strings.Contains(said, "Repeat the request in 1 ms.") {
			t.Errorf("%s: 1 ms too early: %d %s", c.what, status, said)
		}
		again()
		m.pass(time.Millisecond)
		if status, said := x.send(x.sign(public, private, 0, "in-time")); status != http.StatusOK {
			t.Errorf("%s: in time: %d %s", c.what, status, said)
		}
		again()
		x.Stop()
	}
}

// A writer whose clock is behind the last message of the stream, as after a takeover to a slower clock, refuses what
// the one before can have accepted until then, although no log has a record of that time.
func TestASlowerWriterLetsNoSignedRequestPassAgain(t *testing.T) {
	const begin = int64(1_767_225_600) * int64(time.Second)
	m, dir, mem := &stepClock{wall: begin, boot: begin}, t.TempDir(), jettest.NewMem()
	streamed := func(o *exchange.Options) {
		o.Cluster.Key = clusterRing()
		o.Stream = exchange.StreamOptions{Open: func(context.Context, string) (jet.Log, func(), error) {
			return mem.Connect(), func() {}, nil
		}}
	}
	x := startClockRig(t, dir, m, streamed)
	user := x.Call("POST", "/users", "{}")["id"].(string)
	key := x.Call("POST", "/users/"+user+"/apikeys", `{"name":"test"}`)
	public, private := key["publicKey"].(string), key["privateKey"].(string)
	m.pass(30 * time.Second)
	used := x.sign(public, private, 999*time.Millisecond, "used")
	if status, said := x.send(used); status != http.StatusOK {
		t.Fatal(status, said)
	}
	last := func() int64 { // time of the last message
		log := mem.Connect()
		at, err := node.End(t.Context(), log, clusterKeys())
		if err != nil {
			t.Fatal(err)
		}
		return at.SentNs
	}
	for last() < begin+int64(30*time.Second) {
		runtime.Gosched() // until the writer has spoken
	}
	x.Stop()
	m.set(-25 * time.Second)
	x = startClockRig(t, dir, m, streamed)
	for _, pass := range []time.Duration{0, 25 * time.Second, 1000 * time.Millisecond} {
		m.pass(pass)
		if status, said := x.send(used); status != 401 {
			t.Errorf("passed again: %d %s", status, said)
		}
		if status, said := x.send(x.sign(public, private, 0, "early")); status != 401 {
			t.Errorf("too early: %d %s", status, said)
		}
	}
	m.pass(time.Millisecond)
	if status, said := x.send(x.sign(public, private, 0, "in-time")); status != http.StatusOK {
		t.Errorf("in time: %d %s", status, said)
	}
}

// A start of a directory without keys refuses nothing: no process can have accepted a request.
func TestAStartWithoutKeysAcceptsSignedRequestsAtOnce(t *testing.T) {
	const begin = int64(1_767_225_600) * int64(time.Second)
	m, dir := &stepClock{wall: begin, boot: begin}, t.TempDir()
	x := startClockRig(t, dir, m)
	user := x.Call("POST", "/users", "{}")["id"].(string)
	x.Stop()
	x = startClockRig(t, dir, m)
	key := x.Call("POST", "/users/"+user+"/apikeys", `{"name":"test"}`)
	r := x.sign(key["publicKey"].(string), key["privateKey"].(string), 0, "n")
	if status, said := x.send(r); status != http.StatusOK {
		t.Errorf("%d %s", status, said)
	}
}
