package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/bench/loadtool"
	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// keyFile writes the key of u as tickhive demo-key does.
func keyFile(t *testing.T, u *harness.Voter) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key.json")
	text := fmt.Sprintf(`{"kind":"tickhive-demo-key","publicKey":%q,"privateKey":%q}`, u.Public, u.Private)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// loadMix runs load and returns its exit code and report.
func (f *faulty) loadMix(args ...string) (code int, report map[string]any) {
	f.T.Helper()
	code, out, errs := harness.Run(f.T, append([]string{
		"load", "--target", f.Public, "--duration", "1s", "--quiet", "--json", "-",
	}, args...)...)
	if !strings.HasPrefix(out, "{") {
		f.T.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	return code, harness.Object(f.T, out)
}

// startLoaded starts an exchange with one pair that has traded at 150, and gives alice its currencies.
func startLoaded(t *testing.T) *faulty {
	t.Helper()
	f := startFaulty(t, "--set", "rate.allow=127.0.0.1")
	f.Limit("AA_BB", "sell", "150", "1")
	f.Limit("AA_BB", "buy", "150", "1")
	// Nearer than the orders of the mix rest, so that no market order meets an order of the same key.
	f.Limit("AA_BB", "sell", "151", "1000")
	f.Limit("AA_BB", "buy", "149", "1000")
	f.Call(200, "POST", "/users/"+f.alice.ID+"/deposits", `{"currencyCode":"AA","amount":"100000"}`)
	return f
}

// ordersOfAlice returns the open orders of alice, and all that she ever placed.
func (f *faulty) ordersOfAlice() (open, all []client.Order) {
	f.T.Helper()
	c := client.Client{
		Base: f.Public, PublicKey: f.alice.Public, PrivateKey: f.alice.Private,
		Now: func() time.Time { return time.UnixMilli(1767225600000) },
	}
	open, err := c.OpenOrders(context.Background(), "AA_BB")
	if err != nil {
		f.T.Fatal(err)
	}
	for o, err := range c.AllOrders(context.Background(), client.ListQuery{Pair: "AA_BB"}) {
		if err != nil {
			f.T.Fatal(err)
		}
		all = append(all, o)
	}
	return open, all
}

// The mix of orders places, cancels and trades with a key, and leaves no order open, also when answers are lost.
// Refusals are counted by their code.
func TestLoadOfOrders(t *testing.T) {
	t.Parallel()
	f := startLoaded(t)
	args := []string{"--mix", "orders", "--signed", keyFile(t, f.alice), "--rps", "200", "--connections", "2"}
	code, r := f.loadMix(append(args, "--max-errors", "0")...)
	if code != 0 || fmt.Sprint(r["answers"]) != "200" || r["reasons"] != nil {
		t.Errorf("exit code %d, %v", code, r)
	}
	open, all := f.ordersOfAlice()
	canceled, filled := 0, 0
	kinds := map[string]bool{}
	for _, o := range all {
		kinds[o.Type] = true
		kinds["trailing"] = kinds["trailing"] || o.TrailingDelta != nil
		kinds["list"] = kinds["list"] || o.ListID != nil
		if o.ClientOrderID == nil || !strings.HasPrefix(*o.ClientOrderID, "load-") {
			t.Errorf("client id %v", o.ClientOrderID)
		}
		if o.IsCanceled {
			canceled++
		} else if o.FilledAmount != "0.0" {
			filled++
		}
	}
	for _, kind := range []string{"limit", "market", "stop_limit", "take_profit_limit", "trailing", "list"} {
		if !kinds[kind] {
			t.Errorf("no order of the kind %s among %v", kind, kinds)
		}
	}
	if len(open) != 0 || canceled < 80 || filled < 8 {
		t.Errorf("%d open, %d canceled, %d filled of %d", len(open), canceled, filled, len(all))
	}

	f.rules("lost-ack method=POST route=/api/orders count=3")
	code, r = f.loadMix(args...)
	if code != 0 || fmt.Sprint(r["errors"]) != "3" || r["firstError"] == nil {
		t.Errorf("lost answers: exit code %d, %v", code, r)
	}
	if open, _ := f.ordersOfAlice(); len(open) != 0 {
		t.Errorf("%d orders whose answers were lost are open", len(open))
	}

	// Ctrl-C
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := loadtool.Options{
		Target: f.Public, Mix: loadtool.MixOrders, RPS: 100, For: loadtool.MaxFor, Connections: 2, Pairs: 1,
		Key: loadtool.Key{Public: f.alice.Public, Private: f.alice.Private}, Second: func(loadtool.Second) { cancel() },
	}
	if r, err := loadtool.Run(ctx, o); err != nil || !r.Stopped || r.Answers == 0 {
		t.Errorf("a canceled run: %v, %+v", err, r)
	}
	if open, _ := f.ordersOfAlice(); len(open) != 0 {
		t.Errorf("%d orders of a canceled run are open", len(open))
	}

	poor := f.Voter(0, "1", "1")
	code, r = f.loadMix("--mix", "orders", "--signed", keyFile(t, poor), "--rps", "50", "--connections", "1",
		"--max-errors", "50")
	reasons, _ := r["reasons"].(map[string]any)
	if code != 4 || fmt.Sprintf("%v %v", reasons["400 INSUFFICIENT_FUNDS"], r["errors"]) != "50 50" {
		t.Errorf("an account without money: exit code %d, %v", code, r)
	}
}

// The mix of streams receives what happens on the exchange. A message that is missing is an error.
func TestLoadOfStreams(t *testing.T) {
	t.Parallel()
	f := startLoaded(t)
	run := func(want string) map[string]any {
		t.Helper()
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, side := range []string{"sell", "buy"} {
					f.post("/orders", fmt.Sprintf(
						`{"currencyPairCode":"AA_BB","side":%q,"type":"limit","price":150,"amount":1}`, side))
				}
			}
		}()
		code, r := f.loadMix("--mix", "streams", "--connections", "3", "--max-errors", want)
		close(stop)
		<-done
		if code != 0 {
			t.Errorf("exit code %d, %v", code, r)
		}
		return r
	}
	r := run("0")
	if n, err := strconv.Atoi(fmt.Sprint(r["answers"])); err != nil || n < 20 || fmt.Sprint(r["errors"]) != "0" {
		t.Errorf("%v", r)
	}
	f.rules("drop channel=book probability=0.2")
	r = run("100")
	if reasons, _ := r["reasons"].(map[string]any); reasons["gap"] == nil {
		t.Errorf("lost messages are not noticed: %v", r)
	}
}

// post sends a request to the internal listener, whose answer no one needs.
func (f *faulty) post(path, body string) {
	resp, err := f.once.Post(f.Internal+path, "application/json", strings.NewReader(body))
	if err != nil {
		f.T.Error(err)
		return
	}
	if resp.StatusCode != http.StatusOK {
		f.T.Errorf("POST %s: %s", path, resp.Status)
	}
	_ = resp.Body.Close() // it was not read
}
