package tickhivetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/tickhivetest"
)

// dipBuyer is the bot of the examples: it buys once when the best offer of a pair is at most its limit.
type dipBuyer struct {
	exchange *client.Client
	pair     string
	limit    client.Decimal
	amount   client.Decimal
	id       string // client order id: a repeated order is refused, not doubled
}

// step looks at the book and buys if the price is right. It may be called again after any error.
func (b *dipBuyer) step(ctx context.Context) error {
	book, err := b.exchange.OrderBook(ctx, b.pair, 2)
	if err != nil || len(book.Asks) == 0 {
		return err
	}
	_, err = b.exchange.PlaceOrder(ctx, client.OrderRequest{
		Pair: b.pair, Side: "buy", Type: "limit", TimeInForce: "ioc", Price: b.limit, Amount: b.amount,
		ClientOrderID: b.id,
	})
	if client.IsCode(err, client.CodeDuplicateClientOrderID) {
		return nil // an earlier try has arrived
	}
	return err
}

// A table of markets, and what the bot has to have done in each.
func TestExampleTableOfABot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asks   []string // prices at which 1 BTC is offered
		bought string
	}{
		"no offers":   {nil, ""},
		"too dear":    {[]string{"60000.01"}, ""},
		"cheap":       {[]string{"59000"}, "0.4995"}, // less the fee
		"two of four": {[]string{"59000", "60000", "60001", "70000"}, "0.4995"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := tickhivetest.Start(t)
			for _, price := range c.asks {
				x.Sell("BTC_USDT", "1", price)
			}
			user := x.NewUser("50000 USDT").Client()
			bot := dipBuyer{user, "BTC_USDT", "60000", "0.5", "dip-1"}
			if err := bot.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := free(t, user, "BTC"); got != c.bought {
				t.Errorf("%q BTC, want %q", got, c.bought)
			}
		})
	}
}

// Half of the answers to orders are lost after the orders were carried out. The bot tries again and must not buy twice.
func TestExampleFlakyNetwork(t *testing.T) {
	t.Parallel()
	x := tickhivetest.Start(t)
	x.Sell("BTC_USDT", "100", "50000")
	lost := x.Fault("lost-ack route=/api/orders probability=0.5 seed=3")
	user := x.NewUser("1000000 USDT").Client()
	for n := range 20 {
		bot := dipBuyer{user, "BTC_USDT", "50000", "0.1", fmt.Sprint("dip-", n)}
		for tries := 1; bot.step(t.Context()) != nil; tries++ {
			if tries == 20 {
				t.Fatalf("order %d did not arrive in %d tries", n, tries)
			}
		}
	}
	if lost.Hits() == 0 {
		t.Error("no answer was lost: the test shows nothing")
	}
	if got := free(t, user, "BTC"); got != "1.998" { // 20 orders of 0.1, less the fee
		t.Errorf("%s BTC, want 1.998: an order was lost or doubled", got)
	}
}

// A day of a market passes in a moment: an order that nobody takes, a candle for each hour, and a bot that acts hourly.
func TestExampleADayInASecond(t *testing.T) {
	t.Parallel()
	x := tickhivetest.Start(t)
	for hour := range 24 {
		x.Sell("ETH_USDT", "1", fmt.Sprint(3000+hour))
		x.Buy("ETH_USDT", "1", "") // at the market: a trade
		x.Advance(time.Hour)
	}
	hours := 0
	for candle, err := range x.Client().Candles(t.Context(), "ETH_USDT", "hour", x.Now().Add(-24*time.Hour), x.Now()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint(3000+hours, ".00"); candle.Close.String() != want {
			t.Errorf("hour %d closed at %s, want %s", hours, candle.Close, want)
		}
		hours++
	}
	if hours != 24 {
		t.Errorf("%d candles, want 24", hours)
	}
}

// The exchange dies in the middle of the bot's work and comes back.
func TestExampleKilledExchange(t *testing.T) {
	t.Parallel()
	x := tickhivetest.Start(t)
	x.Sell("BTC_USDT", "1", "50000")
	user := x.NewUser("50000 USDT").Client()
	bot := dipBuyer{user, "BTC_USDT", "50000", "0.5", "dip-1"}
	if err := bot.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.Kill()
	if err := bot.step(t.Context()); err == nil || errors.As(err, new(*client.APIError)) {
		t.Errorf("%v, want an error of the connection", err)
	}
	x.Restart()
	if err := bot.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := free(t, user, "BTC"); got != "0.4995" {
		t.Errorf("%s BTC: the order is lost or doubled", got)
	}
}
