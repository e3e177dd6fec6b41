package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// privateCuts is how often the lines of a private stream are cut.
const privateCuts = 1000

// followed is an event of a private stream, as the programs that follow one print it.
type followed struct {
	Type, Channel string
	Fill          *struct {
		Pair    string `json:"currencyPairCode"`
		TradeID uint64 `json:"tradeId"`
		OrderID string `json:"orderId"`
	}
	Order *struct {
		ID, Status string
	}
	Missed, Complete bool
}

// The private stream of each client returns every fill once and in order, and the end of every order, while its line is
// cut at every message, and the exchange is killed in between.
func TestPrivateStreamsLoseNothing(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]func(t *testing.T, c *client.Client) <-chan followed{
		"go": followGo,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{
				"--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet", "--set", "rate.allow=127.0.0.1",
			}
			in := harness.Start(t, args...)
			m := newPrivateMarket(t, in)
			line := harness.NewCutter(t, in.Public, 20, privateCuts)
			c := *m.user
			c.Base = line.URL()
			seen := follow(t, &c)
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				m.trade(line, stop)
			}()
			got, killed := &privateRecord{ended: map[string]string{}}, false
			for line.Cuts.Load() < privateCuts {
				got.note(t, receive(t, seen))
				if killed || line.Cuts.Load() < privateCuts/2 {
					continue
				}
				killed = true
				close(stop)
				<-done
				in.Signal(syscall.SIGKILL)
				in.Wait()
				in = harness.Start(t, args...)
				m.in, m.user.Base, stop, done = in, in.Public, make(chan struct{}), make(chan struct{})
				line.Aim(t, in.Public)
				go func() {
					defer close(done)
					m.trade(line, stop)
				}()
			}
			close(stop)
			<-done
			got.compare(t, m, seen)
		})
	}
}

func receive(t *testing.T, seen <-chan followed) followed {
	t.Helper()
	select {
	case e, ok := <-seen:
		if !ok {
			t.Fatal("the program that follows has ended")
		}
		return e
	case <-time.After(harness.Patience):
		t.Fatal("no event in time")
		return followed{}
	}
}

// privateMarket makes the fills of a user on two pairs.
type privateMarket struct {
	t     *testing.T
	in    *harness.Instance
	user  *client.Client
	pairs []string
}

func newPrivateMarket(t *testing.T, in *harness.Instance) *privateMarket {
	m := &privateMarket{t: t, in: in, pairs: []string{"AA_USDT", "BB_USDT"}}
	id := in.Call(200, "POST", "/users", `{}`)["id"].(string)
	for _, pair := range m.pairs {
		in.Call(200, "POST", "/pairs", `{"code":"`+pair+`","digitsPrice":2,"digitsAmount":3}`)
		base, _, _ := strings.Cut(pair, "_")
		in.Call(200, "POST", "/users/"+id+"/deposits", `{"currencyCode":"`+base+`","amount":1000000}`)
	}
	in.Call(200, "POST", "/users/"+id+"/deposits", `{"currencyCode":"USDT","amount":100000000}`)
	key := in.Call(200, "POST", "/users/"+id+"/apikeys", `{"name":"private"}`)
	m.user = &client.Client{
		Base: in.Public, PublicKey: key["publicKey"].(string), PrivateKey: key["privateKey"].(string),
	}
	return m
}

// trade makes a round of fills for each message that is passed: as taker at two makers, as maker, and of the user with
// itself.
func (m *privateMarket) trade(line *harness.Cutter, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-line.Heard:
		}
		m.round(m.pairs[i%2], i)
	}
}

func (m *privateMarket) round(pair string, i int) {
	other := func(side, price, amount string) {
		m.in.Call(200, "POST", "/orders", fmt.Sprintf(
			`{"currencyPairCode":%q,"side":%q,"type":"limit","price":%q,"amount":%q}`, pair, side, price, amount))
	}
	place := func(o client.OrderRequest) {
		o.Pair = pair
		if _, err := m.user.PlaceOrder(context.Background(), o); err != nil {
			m.t.Errorf("%+v: %v", o, err)
		}
	}
	switch i % 3 {
	case 0:
		other("sell", "100", "1")
		other("sell", "100", "2")
		place(client.OrderRequest{Side: "buy", IsMarket: true, Amount: "3"})
	case 1:
		place(client.OrderRequest{Side: "sell", Price: "101", Amount: "2"})
		other("buy", "101", "1")
		other("buy", "101", "1")
	case 2:
		place(client.OrderRequest{Side: "sell", Price: "100", Amount: "1"})
		place(client.OrderRequest{Side: "buy", Price: "100", Amount: "1", SelfTradePrevention: "none"})
	}
}

// privateRecord is what a program has printed.
type privateRecord struct {
	fills  []string // pair, trade id, order
	missed int
	lost   int
	ended  map[string]string // status by id of the order
	last   map[string]uint64 // newest trade id by pair
}

func (r *privateRecord) note(t *testing.T, e followed) {
	t.Helper()
	switch {
	case e.Type == "lost":
		r.lost++
	case e.Fill != nil:
		if e.Missed {
			r.missed++
		}
		if r.last == nil {
			r.last = map[string]uint64{}
		}
		if e.Fill.TradeID < r.last[e.Fill.Pair] {
			t.Errorf("the fill %+v follows trade %d", *e.Fill, r.last[e.Fill.Pair])
		}
		r.last[e.Fill.Pair] = e.Fill.TradeID
		r.fills = append(r.fills, fmt.Sprintf("%s %09d %s", e.Fill.Pair, e.Fill.TradeID, e.Fill.OrderID))
	case e.Order != nil:
		if r.ended[e.Order.ID] == "Completed" && e.Order.Status != "Completed" {
			t.Errorf("the order %s has ended and is %s again", e.Order.ID, e.Order.Status)
		}
		r.ended[e.Order.ID] = e.Order.Status
	case e.Channel == "fills" && !e.Complete:
		t.Error("fills are said to be missing")
	}
}

// compare reads on until the newest fills have come and all orders have ended, and compares the fills with those of the
// exchange.
func (r *privateRecord) compare(t *testing.T, m *privateMarket, seen <-chan followed) {
	t.Helper()
	var want []string
	open := map[string]bool{}
	newest := map[string]uint64{}
	for f, err := range m.user.AllFills(t.Context(), client.ListQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%s %09d %s", f.Pair, f.TradeID, f.OrderID))
		open[f.OrderID] = true
		newest[f.Pair] = max(newest[f.Pair], f.TradeID)
	}
	for {
		maps.DeleteFunc(open, func(id string, _ bool) bool { return r.ended[id] == "Completed" })
		if len(open) == 0 && maps.Equal(newest, r.last) && len(r.fills) >= len(want) {
			break
		}
		r.note(t, receive(t, seen))
	}
	slices.Sort(want)
	slices.Sort(r.fills)
	t.Logf("%d fills, %d of them by a request, %d outages", len(r.fills), r.missed, r.lost)
	if !slices.Equal(r.fills, want) || r.missed == 0 || r.missed == len(r.fills) {
		t.Errorf("%d fills, %d of them missed; the exchange has %d", len(r.fills), r.missed, len(want))
	}
}

// followGo follows with the Go client.
func followGo(t *testing.T, c *client.Client) <-chan followed {
	out := make(chan followed, 1000)
	p := c.Private(&client.Cursor{})
	p.Retry = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for {
			e, err := p.Next(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Errorf("next: %v", err)
				return
			}
			var f followed
			raw, err := json.Marshal(map[string]any{
				"type": e.Type, "channel": e.Channel, "fill": e.Fill, "order": e.Order, "missed": e.Missed,
				"complete": e.Complete,
			})
			if err == nil {
				err = json.Unmarshal(raw, &f)
			}
			if err != nil {
				t.Error(err)
			}
			select {
			case out <- f:
			case <-ctx.Done():
			}
		}
	}()
	return out
}

// followProgram follows with a program that prints its events, one in a line.
func followProgram(name, script string) func(t *testing.T, c *client.Client) <-chan followed {
	return func(t *testing.T, c *client.Client) <-chan followed {
		program, err := exec.LookPath(name)
		if err != nil {
			if os.Getenv("TICKHIVE_STRICT") == "1" {
				t.Fatal(err)
			}
			t.Skipf("no %s: not run (TICKHIVE_STRICT=1 makes this an error)", name)
		}
		cmd := exec.CommandContext(t.Context(), program, harness.SourceTree+script)
		cmd.Env = append(os.Environ(), "BASE="+c.Base, "PUBLIC="+c.PublicKey, "PRIVATE="+c.PrivateKey)
		lines, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := make(chan followed, 1000)
		done := make(chan struct{})
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			<-done
		})
		go func() {
			defer close(done)
			defer close(out)
			for s := bufio.NewScanner(lines); s.Scan(); {
				var f followed
				if err := json.Unmarshal(s.Bytes(), &f); err != nil {
					t.Errorf("%s: %v", s.Text(), err)
					break
				}
				out <- f
			}
			_ = cmd.Wait()
		}()
		return out
	}
}
