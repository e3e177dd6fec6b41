package nets

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/tickhive/tickhive/client"
)

// Chain collects what the private sockets of a user send: the channels orders, fills and balances, and the user data
// stream of the Binance interface where the node has one. One goroutine uses it.
type Chain struct {
	*private
	binance *client.Stream // nil: without the interface
	reports []string       // of trades
}

// Follow opens the sockets of u. What happens from here on is in the Chain.
func Follow(n *Node, u *User) *Chain {
	n.T.Helper()
	c := &Chain{private: follow(n, u)}
	if n.Binance != "" {
		a := n.do(http.MethodPost, n.Binance+"/api/v3/userDataStream", "", http.Header{"X-Mbx-Apikey": {u.Public}})
		if a.Status != http.StatusOK {
			n.T.Fatalf("a listen key: %d %s", a.Status, a.Body)
		}
		key := object(n.T, a.Body)["listenKey"].(string)
		c.binance = n.dial(strings.Replace(n.Binance, "http", "ws", 1) + "/ws/" + key)
	}
	return c
}

// Check compares what the sockets have sent with the lists of the user: the same fills with the same figures, each
// once, in the order of trade ids; every order in the state that the list has; the balances. It marks the end with an
// order on pair that is canceled at once, whose messages come last. It returns the number of fills.
func (c *Chain) Check(pair string) int {
	t := c.n.T
	t.Helper()
	api := c.n.Client(c.u)
	mark, err := api.PlaceOrder(t.Context(), client.OrderRequest{
		Side: "buy", Pair: pair, Price: "0.01", Amount: "100", PostOnly: true,
	})
	if err == nil {
		_, err = api.CancelOrder(t.Context(), mark)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.comesTo("after the end", func() string {
		if o, ok := c.orders[mark]; !ok || !o.IsCanceled {
			return "no end of the order " + mark
		}
		return ""
	})
	c.checkBalances(api)
	c.checkOrders(api)
	var listed []client.Fill
	for f, err := range api.AllFills(t.Context(), client.ListQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, f)
	}
	slices.Reverse(listed)
	c.compare("fills", textsOf(c.fills), textsOf(listed))
	if c.binance != nil {
		for r := c.nextReport(); fmt.Sprint(r["i"]) != mark || r["x"] != "CANCELED"; r = c.nextReport() {
			if r["x"] == "TRADE" {
				c.reports = append(c.reports, fmt.Sprintf("%s trade %s order %s: %s at %s, fee %s %s, maker %t",
					r["s"], r["t"], r["i"], Trim(r["l"]), Trim(r["L"]), Trim(r["n"]), r["N"], r["m"]))
			}
		}
		c.compare("executionReports", byPair(c.reports), textsOf(listed))
	}
	return len(listed)
}

// checkBalances waits until the socket shows the balances of the list.
func (c *Chain) checkBalances(api *client.Client) {
	t := c.n.T
	t.Helper()
	rows, err := api.Balances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.comesTo("at the end", func() string {
		listed := map[string]client.Balance{}
		for _, b := range rows {
			listed[b.Currency] = b
		}
		return cmp.Diff(listed, c.balances)
	})
}

// checkOrders compares the last state of each order that the socket has sent with the list.
func (c *Chain) checkOrders(api *client.Client) {
	t := c.n.T
	t.Helper()
	listed := map[string]client.Order{}
	for o, err := range api.AllOrders(t.Context(), client.ListQuery{Status: "all"}) {
		if err != nil {
			t.Fatal(err)
		}
		listed[o.ID] = o
	}
	if d := cmp.Diff(listed, c.orders); d != "" {
		t.Errorf("orders: the list (-) and the socket (+) differ:\n%.3000s", d)
	}
}

// nextReport returns the next message. Its members are letters that differ in case alone, which no struct can have.
func (c *Chain) nextReport() map[string]any {
	c.n.T.Helper()
	return object(c.n.T, string(c.n.next(c.binance).Raw))
}

// textsOf has a line for each fill, pair by pair.
func textsOf(fills []client.Fill) (out []string) {
	for _, f := range fills {
		out = append(out, fmt.Sprintf("%s trade %d order %s: %s at %s, fee %s %s, maker %t",
			strings.ReplaceAll(f.Pair, "_", ""), f.TradeID, f.OrderID, Trim(f.Volume), Trim(f.Price), Trim(f.Fee),
			f.FeeCurrency, f.IsMaker))
	}
	return byPair(out)
}

// byPair orders lines by their first word alone: between pairs there is no order.
func byPair(lines []string) []string {
	slices.SortStableFunc(lines, func(a, b string) int {
		x, _, _ := strings.Cut(a, " ")
		y, _, _ := strings.Cut(b, " ")
		return strings.Compare(x, y)
	})
	return lines
}

// Trim drops the zeros behind a point: protocols print other numbers of digits.
func Trim(d any) string {
	s := fmt.Sprint(d)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func (c *Chain) compare(what string, sent, listed []string) {
	t := c.n.T
	t.Helper()
	if len(sent) != len(listed) {
		t.Errorf("%s: %d sent, the list of deals has %d", what, len(sent), len(listed))
	}
	// The two fills of a trade of an account with itself have one trade id, and no order between them.
	for _, lines := range [][]string{sent, listed} {
		for i := 1; i < len(lines); i++ {
			if tradeOf(lines[i]) == tradeOf(lines[i-1]) && lines[i] < lines[i-1] {
				lines[i], lines[i-1] = lines[i-1], lines[i]
			}
		}
	}
	if d := cmp.Diff(listed, sent); d != "" {
		t.Errorf("%s: the list of deals (-) and the socket (+) differ:\n%.3000s", what, d)
	}
	for i := 1; i < len(sent); i++ {
		if sent[i] == sent[i-1] {
			t.Errorf("%s: %s was sent twice", what, sent[i])
		}
	}
}

// tradeOf returns pair and trade id of a line.
func tradeOf(line string) string {
	head, _, _ := strings.Cut(line, " order ")
	return head
}
