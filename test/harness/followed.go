package harness

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
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
)

// Followed is an event of a private stream, as the programs that follow one print it.
type Followed struct {
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

// ReceiveFollowed waits for the next event of a program that follows.
func ReceiveFollowed(t *testing.T, seen <-chan Followed) Followed {
	t.Helper()
	select {
	case e, ok := <-seen:
		if !ok {
			t.Fatal("the program that follows has ended")
		}
		return e
	case <-time.After(Patience):
		t.Fatal("no event in time")
		return Followed{}
	}
}

// PrivateFollowers are the programs that follow the private stream of the user of c, by language. They begin with the
// oldest fill; standbys are further addresses of the exchange.
func PrivateFollowers() map[string]func(t *testing.T, c client.Client, standbys ...string) <-chan Followed {
	return map[string]func(t *testing.T, c client.Client, standbys ...string) <-chan Followed{
		"go":         followGo,
		"javascript": followProgram("node", "/test/harness/testdata/follow.mjs", NodeFlags),
		"python":     followProgram("python3", "/test/harness/testdata/follow.py", func() []string { return nil }),
	}
}

// PrivateMarket makes the fills of a user on two pairs.
type PrivateMarket struct {
	In   *Instance
	User *client.Client

	t     *testing.T
	pairs []string
}

// NewPrivateMarket adds the pairs and a user with money.
func NewPrivateMarket(t *testing.T, in *Instance) *PrivateMarket {
	m := &PrivateMarket{t: t, In: in, pairs: []string{"AA_USDT", "BB_USDT"}}
	id := in.Call(200, "POST", "/users", `{}`)["id"].(string)
	for _, pair := range m.pairs {
		in.Call(200, "POST", "/pairs", `{"code":"`+pair+`","digitsPrice":2,"digitsAmount":3}`)
		base, _, _ := strings.Cut(pair, "_")
		in.Call(200, "POST", "/users/"+id+"/deposits", `{"currencyCode":"`+base+`","amount":1000000}`)
	}
	in.Call(200, "POST", "/users/"+id+"/deposits", `{"currencyCode":"USDT","amount":100000000}`)
	key := in.Call(200, "POST", "/users/"+id+"/apikeys", `{"name":"private"}`)
	m.User = &client.Client{
		Base: in.Public, PublicKey: key["publicKey"].(string), PrivateKey: key["privateKey"].(string),
	}
	return m
}

// Trade makes a round of fills for each message that is passed: as taker at two makers, as maker, and of the user with
// itself.
func (m *PrivateMarket) Trade(line *Cutter, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-line.Heard:
		}
		m.Round(i)
	}
}

// TradeAlone lets the user trade with itself until stop is closed. An order without an answer goes to the next base.
func (m *PrivateMarket) TradeAlone(stop <-chan struct{}, bases ...string) {
	c := *m.User
	for i := 0; ; {
		for _, side := range []string{"sell", "buy"} {
			select {
			case <-stop:
				return
			default:
			}
			c.Base = bases[i%len(bases)]
			_, err := c.PlaceOrder(context.Background(), client.OrderRequest{
				Side: side, Pair: m.pairs[0], Price: "100", Amount: "1", SelfTradePrevention: "none",
			})
			if err != nil {
				i++
			}
		}
	}
}

// Round makes the fills of one round: with other numbers other ones.
func (m *PrivateMarket) Round(i int) {
	pair := m.pairs[i%2]
	other := func(side, price, amount string) {
		m.In.Call(200, "POST", "/orders", fmt.Sprintf(
			`{"currencyPairCode":%q,"side":%q,"type":"limit","price":%q,"amount":%q}`, pair, side, price, amount))
	}
	place := func(o client.OrderRequest) {
		o.Pair = pair
		if _, err := m.User.PlaceOrder(context.Background(), o); err != nil {
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

// PrivateRecord is what a program has printed.
type PrivateRecord struct {
	fills  []string // pair, trade id, order
	missed int
	lost   int
	ended  map[string]string // status by id of the order
	last   map[string]uint64 // newest trade id by pair
}

// NewPrivateRecord returns a record without events.
func NewPrivateRecord() *PrivateRecord {
	return &PrivateRecord{ended: map[string]string{}, last: map[string]uint64{}}
}

// Begin notes events until the stream has begun: it tells the ends of the orders that are placed from then on.
func (r *PrivateRecord) Begin(t *testing.T, seen <-chan Followed) {
	t.Helper()
	for e := (Followed{}); e.Type != "snapshot" || e.Channel != "balances"; {
		e = ReceiveFollowed(t, seen)
		r.Note(t, e)
	}
}

// Note notes an event.
func (r *PrivateRecord) Note(t *testing.T, e Followed) {
	t.Helper()
	switch {
	case e.Type == "lost":
		r.lost++
	case e.Fill != nil:
		if e.Missed {
			r.missed++
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

// Fills returns the number of fills, Missed how many of them came by a request.
func (r *PrivateRecord) Fills() int  { return len(r.fills) }
func (r *PrivateRecord) Missed() int { return r.missed }

// Compare reads on until the newest fills have come and all orders have ended, and compares the fills with those of the
// exchange.
func (r *PrivateRecord) Compare(t *testing.T, m *PrivateMarket, seen <-chan Followed) {
	t.Helper()
	var want []string
	open := map[string]bool{}
	newest := map[string]uint64{}
	for f, err := range m.User.AllFills(t.Context(), client.ListQuery{}) {
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
		r.Note(t, ReceiveFollowed(t, seen))
	}
	slices.Sort(want)
	slices.Sort(r.fills)
	t.Logf("%d fills, %d of them by a request, %d outages", len(r.fills), r.missed, r.lost)
	if !slices.Equal(r.fills, want) {
		t.Errorf("%d fills, the exchange has %d", len(r.fills), len(want))
	}
}

// followGo follows with the Go client.
func followGo(t *testing.T, c client.Client, standbys ...string) <-chan Followed {
	out := make(chan Followed, 1000)
	p := c.PrivateStream(&client.Cursor{}, standbys...)
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
			var f Followed
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

// NodeFlags enables the WebSocket of Node 20 and 21, which later versions enable by default.
func NodeFlags() []string {
	const flag = "--experimental-websocket"
	if exec.Command("node", flag, "-e", "").Run() != nil {
		return nil
	}
	return []string{flag}
}

// followProgram follows with a program that prints its events, one in a line.
func followProgram(name, script string, flags func() []string) func(*testing.T, client.Client,
	...string,
) <-chan Followed {
	return func(t *testing.T, c client.Client, standbys ...string) <-chan Followed {
		t.Helper()
		program, err := exec.LookPath(name)
		if err != nil {
			if os.Getenv("TICKHIVE_STRICT") == "1" {
				t.Fatal(err)
			}
			t.Skipf("no %s: not run (TICKHIVE_STRICT=1 makes this an error)", name)
		}
		cmd := exec.CommandContext(t.Context(), program, append(flags(), SourceTree+script)...)
		bases := strings.Join(append([]string{c.Base}, standbys...), " ")
		cmd.Env = append(os.Environ(), "BASE="+bases, "PUBLIC="+c.PublicKey, "PRIVATE="+c.PrivateKey)
		lines, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := make(chan Followed, 1000)
		done := make(chan struct{})
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			<-done
		})
		go func() {
			defer close(done)
			defer close(out)
			for s := bufio.NewScanner(lines); s.Scan(); {
				var f Followed
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
