package account_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/servertest"
)

// turns counts the queries that the handlers make.
type turns struct {
	entry.Exchange
	n atomic.Int64
}

// Query implements entry.Exchange.
func (c *turns) Query(fn func()) error {
	c.n.Add(1)
	return c.Exchange.Query(fn)
}

// The snapshot of the private channel orders reads at most 1,000 orders of the history at once: the goroutine that
// matches orders serves others in between.
func TestASnapshotOfOwnOrdersComesInTurns(t *testing.T) {
	t.Parallel()
	var count turns
	h, a, _ := servertest.NewTradedExchange(t, func(o *exchange.Options) {
		open := o.Hooks.Account
		o.Hooks.Account = func(o *account.Options) {
			if open != nil {
				open(o)
			}
			count.Exchange = o.Exchange
			o.Exchange = &count
		}
	})
	const orders, perTurn = 3000, 1000
	for from := 0; from < orders; from += 500 {
		var list strings.Builder
		for i := range 500 {
			fmt.Fprintf(&list, `,{"place":{"accountId":%q,"currencyPairCode":"BTC_USDT","side":"buy","type":"limit",`+
				`"amount":0.01,"price":%d}}`, a.ID, 1+(from+i)%9)
		}
		h.MustInternal("POST", "/orders/batch", `{"commands":[`+list.String()[1:]+`]}`)
	}
	s := h.Socket()
	if err := s.Authenticate(a.Public, a.Private, h.Now()); err != nil {
		t.Fatal(err)
	}
	before := count.n.Load()
	_ = s.Send(client.Request{Op: "subscribe", Channel: "orders"})
	m := servertest.Next(t, s)
	for m["type"] != "snapshot" {
		m = servertest.Next(t, s)
	}
	got := m["orders"].([]any)
	if len(got) != orders {
		t.Fatalf("%d orders, want %d", len(got), orders)
	}
	seen := map[any]bool{}
	for i, o := range got {
		id := o.(map[string]any)["id"]
		if seen[id] {
			t.Fatalf("order %d, %v, is there twice", i, id)
		}
		seen[id] = true
	}
	if n := count.n.Load() - before; n < orders/perTurn {
		t.Errorf("%d orders were read in %d turns, each of which stops the matching of orders", orders, n)
	}
}
