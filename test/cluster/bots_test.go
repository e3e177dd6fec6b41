package cluster

import (
	"errors"
	"flag"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gobinance "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"

	"github.com/tickhive/tickhive/test/harness"
)

var botsTime = flag.Duration("bots.time", 8*time.Second, "time for which the bots trade")

const botsSymbol = "BTCUSDT"

// bot trades as programs for Binance do, with the unmodified client of another project: it learns what happens from the
// reports of its stream, and after a lost connection from REST. Its books are what it has learned.
type bot struct {
	t      *testing.T
	at     string // of the interface
	client *gobinance.Client

	mu      sync.Mutex
	trades  map[int64]botTrade // by order and trade id
	open    map[int64]botOrder // by order id
	filled  []string           // client ids of orders that were filled and are not dealt with
	seq     int
	lost    int // connections
	reports int
}

type botTrade struct{ base, quote *big.Rat }

type botOrder struct {
	client, side, kind string
	left, price        *big.Rat
	list               int64
}

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no decimal: " + text)
	}
	return r
}

func newBot(t *testing.T, in *harness.Instance, at string) *bot {
	t.Helper()
	user := in.Call(200, "POST", "/users", `{}`)["id"].(string)
	for code, amount := range map[string]int{"USDT": 1_000_000, "BTC": 10} {
		in.Call(200, "POST", "/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%d}`, code, amount))
	}
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"bot"}`)
	b := &bot{
		t: t, at: at, client: gobinance.NewClient(key["publicKey"].(string), key["privateKey"].(string)),
		trades: map[int64]botTrade{}, open: map[int64]botOrder{},
	}
	b.client.BaseURL = "http://" + at
	return b
}

// follow keeps the stream of the bot's reports until stop is closed. After each connection it reads from REST what it
// may have missed.
func (b *bot) follow(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		done, end, err := b.connect()
		if err != nil {
			<-time.After(50 * time.Millisecond)
			continue
		}
		select {
		case <-stop:
			close(end)
			<-done
			return
		case <-done:
			b.mu.Lock()
			b.lost++
			b.mu.Unlock()
		}
	}
}

func (b *bot) connect() (done, end chan struct{}, err error) {
	key, err := b.client.NewStartUserStreamService().Do(b.t.Context())
	if err != nil {
		return nil, nil, err
	}
	if done, end, err = gobinance.WsUserDataServe(key, b.report, func(error) {}); err != nil {
		return nil, nil, err
	}
	if err = b.catchUp(); err != nil {
		close(end)
		<-done
	}
	return done, end, err
}

// report takes an event of the stream.
func (b *bot) report(e *gobinance.WsUserDataEvent) {
	if e.Event != gobinance.UserDataEventTypeExecutionReport {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reports++
	o := &e.OrderUpdate
	client := o.ClientOrderId
	if o.ExecutionType == "CANCELED" {
		client = o.OrigCustomOrderId
	}
	if o.ExecutionType == "TRADE" {
		b.trade(o.Id, o.TradeId, o.Side == "BUY", o.LatestVolume, o.LatestQuoteVolume, o.FeeCost, o.FeeAsset)
	}
	if o.Status == "NEW" || o.Status == "PARTIALLY_FILLED" {
		b.open[o.Id] = botOrder{
			client, o.Side, o.Type, new(big.Rat).Sub(rat(o.Volume), rat(o.FilledVolume)), rat(o.Price), o.OrderListId,
		}
		return
	}
	delete(b.open, o.Id)
	if o.Status == "FILLED" {
		b.filled = append(b.filled, client)
	}
}

// trade books a trade once, however often it is seen.
func (b *bot) trade(order, id int64, buys bool, quantity, quote, fee, feeAsset string) {
	t := botTrade{rat(quantity), rat(quote)}
	if t.quote.Neg(t.quote); !buys {
		t.base.Neg(t.base)
		t.quote.Neg(t.quote)
	}
	if feeAsset == "BTC" {
		t.base.Sub(t.base, rat(fee))
	} else {
		t.quote.Sub(t.quote, rat(fee))
	}
	b.trades[order<<32|id] = t
}

// catchUp reads the trades since the last known ones and the open orders.
func (b *bot) catchUp() error {
	trades, err := b.client.NewListTradesService().Symbol(botsSymbol).Limit(1000).Do(b.t.Context())
	if err != nil {
		return err
	}
	orders, err := b.client.NewListOpenOrdersService().Symbol(botsSymbol).Do(b.t.Context())
	if err != nil {
		return err
	}
	b.mu.Lock()
	before := b.open
	b.open = map[int64]botOrder{}
	for _, t := range trades {
		b.trade(t.OrderID, t.ID, t.IsBuyer, t.Quantity, t.QuoteQuantity, t.Commission, t.CommissionAsset)
	}
	for _, o := range orders {
		b.open[o.OrderID] = botOrder{
			o.ClientOrderID, string(o.Side), string(o.Type),
			new(big.Rat).Sub(rat(o.OrigQuantity), rat(o.ExecutedQuantity)), rat(o.Price), o.OrderListId,
		}
	}
	var gone []int64
	for id := range before {
		if _, still := b.open[id]; !still {
			gone = append(gone, id)
		}
	}
	b.mu.Unlock()
	for _, id := range gone {
		o, err := b.client.NewGetOrderService().Symbol(botsSymbol).OrderID(id).Do(b.t.Context())
		if err != nil {
			return err
		}
		if o.Status == "FILLED" {
			b.mu.Lock()
			b.filled = append(b.filled, o.ClientOrderID)
			b.mu.Unlock()
		}
	}
	return nil
}

func (b *bot) traded() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.trades)
}

// state returns the open orders and takes the filled ones.
func (b *bot) state() (open map[string]bool, filled []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open = map[string]bool{}
	for _, o := range b.open {
		open[o.client] = true
	}
	filled, b.filled = b.filled, nil
	return open, filled
}

// refused reports whether the exchange said no. Any other error leaves the outcome open, so the bot catches up.
func (b *bot) refused(err error) bool {
	var api *common.APIError
	if errors.As(err, &api) && api.Code != -1007 && api.Code != -1001 {
		return true
	}
	if b.catchUp() != nil {
		<-time.After(50 * time.Millisecond)
	}
	return false
}

func (b *bot) price() (*big.Rat, bool) {
	p, err := b.client.NewListPricesService().Symbol(botsSymbol).Do(b.t.Context())
	if err != nil || len(p) != 1 {
		return nil, false
	}
	return rat(p[0].Price), true
}

// near returns a price some basis points away from another.
func near(p *big.Rat, points int64) string {
	return new(big.Rat).Mul(p, big.NewRat(10_000+points, 10_000)).FloatString(2)
}

// grid keeps buys below and sells above a price. A filled buy becomes a sell one level higher, a filled sell a buy one
// level lower; when all of one side are filled, the market has left the grid, and a new one is laid.
func (b *bot) grid(stop <-chan struct{}) {
	var middle *big.Rat
	place := func(level int64, side gobinance.SideType) {
		b.seq++
		_, err := b.client.NewCreateOrderService().Symbol(botsSymbol).Side(side).Type("LIMIT").TimeInForce("GTC").
			Quantity("0.001").Price(near(middle, level)).
			NewClientOrderID(fmt.Sprintf("%s_%d_%d", side, level+50, b.seq)).Do(b.t.Context())
		if err != nil {
			b.refused(err)
		}
	}
	for range until(stop) {
		open, filled := b.state()
		sides := map[string]bool{}
		for client := range open {
			side, _, _ := strings.Cut(client, "_")
			sides[side] = true
		}
		if len(sides) < 2 {
			p, ok := b.price()
			if !ok {
				continue
			}
			middle = p
			_, _ = b.client.NewCancelOpenOrdersService().Symbol(botsSymbol).Do(b.t.Context())
			for level := int64(1); level <= 3; level++ {
				place(-level, gobinance.SideTypeBuy)
				place(level, gobinance.SideTypeSell)
			}
			continue
		}
		for _, client := range filled {
			var level, seq int64
			side, rest, _ := strings.Cut(client, "_")
			if _, err := fmt.Sscanf(rest, "%d_%d", &level, &seq); err != nil {
				b.t.Errorf("a filled order %q is not the grid's", client)
			} else if level -= 50; side == "BUY" {
				place(level+1, gobinance.SideTypeSell)
			} else {
				place(level-1, gobinance.SideTypeBuy)
			}
		}
	}
}

// oco buys, protects the purchase by a take profit and a stop loss, and buys again when one of them has sold it.
func (b *bot) oco(stop <-chan struct{}) {
	for range until(stop) {
		if open, _ := b.state(); len(open) > 0 {
			continue
		}
		b.seq++
		o, err := b.client.NewCreateOrderService().Symbol(botsSymbol).Side("BUY").Type("MARKET").
			QuoteOrderQty("100").NewClientOrderID(fmt.Sprintf("buy_%d", b.seq)).NewOrderRespType("FULL").
			Do(b.t.Context())
		if err != nil {
			b.refused(err)
			continue
		}
		got := rat(o.ExecutedQuantity)
		for _, f := range o.Fills {
			got.Sub(got, rat(f.Commission))
		}
		lots := new(big.Rat).Sub(got, big.NewRat(1, 200_000)).FloatString(5) // rounded down to a lot
		for placed := false; !placed; {
			select {
			case <-stop:
				return
			default:
			}
			if p, ok := b.price(); ok {
				_, err = b.client.NewCreateOCOService().Symbol(botsSymbol).Side("SELL").Quantity(lots).
					Price(near(p, 2)).StopPrice(near(p, -2)).ListClientOrderID(fmt.Sprintf("oco_%d", b.seq)).
					Do(b.t.Context())
				placed = err == nil || !b.refused(err) && len(b.openIDs()) > 0
			}
		}
	}
}

func (b *bot) openIDs() map[string]bool {
	open, _ := b.state()
	return open
}

// until yields until stop is closed.
func until(stop <-chan struct{}) func(yield func() bool) {
	return func(yield func() bool) {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				if !yield() {
					return
				}
			}
		}
	}
}

// money returns what the bot has by its own books, and what its open orders hold.
func (b *bot) money() (total, held map[string]*big.Rat) {
	total = map[string]*big.Rat{"BTC": big.NewRat(10, 1), "USDT": big.NewRat(1_000_000, 1)}
	held = map[string]*big.Rat{"BTC": new(big.Rat), "USDT": new(big.Rat)}
	for _, t := range b.trades {
		total["BTC"].Add(total["BTC"], t.base)
		total["USDT"].Add(total["USDT"], t.quote)
	}
	lists := map[int64]*big.Rat{} // of two sales of an OCO one alone happens
	for _, o := range b.open {
		switch {
		case o.side == "BUY":
			held["USDT"].Add(held["USDT"], new(big.Rat).Mul(o.left, o.price))
		case o.list < 0:
			held["BTC"].Add(held["BTC"], o.left)
		case lists[o.list] == nil || lists[o.list].Cmp(o.left) < 0:
			lists[o.list] = o.left
		}
	}
	for _, amount := range lists {
		held["BTC"].Add(held["BTC"], amount)
	}
	return total, held
}

// differs compares the bot's books with the exchange's: money, what is held, and the open orders; "": they are equal.
func (b *bot) differs() string {
	account, err := b.client.NewGetAccountService().Do(b.t.Context())
	if err != nil {
		return err.Error()
	}
	orders, err := b.client.NewListOpenOrdersService().Symbol(botsSymbol).Do(b.t.Context())
	if err != nil {
		return err.Error()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	total, held := b.money()
	for _, row := range account.Balances {
		want, known := total[row.Asset]
		if !known {
			continue
		}
		if got := new(big.Rat).Add(rat(row.Free), rat(row.Locked)); got.Cmp(want) != 0 {
			return fmt.Sprintf("%s: %s, the bot has %s", row.Asset, got.FloatString(8), want.FloatString(8))
		}
		if rat(row.Locked).Cmp(held[row.Asset]) != 0 {
			return fmt.Sprintf("%s held: %s, the bot's orders hold %s", row.Asset, row.Locked,
				held[row.Asset].FloatString(8))
		}
	}
	if len(orders) != len(b.open) {
		return fmt.Sprintf("%d open orders, the bot knows %d", len(orders), len(b.open))
	}
	for _, o := range orders {
		left := new(big.Rat).Sub(rat(o.OrigQuantity), rat(o.ExecutedQuantity))
		if own, known := b.open[o.OrderID]; !known || own.left.Cmp(left) != 0 || own.client != o.ClientOrderID {
			return fmt.Sprintf("order %+v, the bot knows %+v", o, own)
		}
	}
	return ""
}

// refuses checks that the Binance-compatible listener of a standby refuses every request and every handshake.
func refuses(t *testing.T, standby *harness.Instance, at string) {
	t.Helper()
	for _, path := range []string{"/api/v3/time", "/api/v3/account", "/ws/btcusdt@trade", "/ws-api/v3"} {
		a := standby.Do("GET", "http://"+at+path, "")
		if a.Status != 421 || !strings.HasPrefix(a.Body, `{"code":-1000,"msg":"This is a replica: `) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

// A grid bot and a bot of OCOs trade on a live market whose writer is killed and started again, and then replaced by
// another node. What they have learned from their reports, and from REST after each break, is what the exchange has, to
// the digit: money, fees, what is held, open orders. When all orders are canceled, no later event changes anything.
func TestBotsKnowWhatTheyHave(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	f, first, second := newFailover(t), harness.StreamAddress(t), harness.StreamAddress(t)
	front := harness.NewLine(t, first) // the one address that the bots know
	at := front.Addr()
	gobinance.BaseWsMainURL = "ws://" + at + "/ws"
	serve := func() { f.start(0, f.serve("--binance-listen", first, "--set", "sim.intensity=400")) }
	serve()
	bots := []*bot{newBot(t, f.nodes[0], at), newBot(t, f.nodes[0], at)}
	harness.WaitFor(t, func() bool {
		p, ok := bots[0].price()
		return ok && p.Sign() > 0
	})
	stop, ends := make(chan struct{}), make(chan struct{})
	var following, trading sync.WaitGroup
	for _, b := range bots {
		following.Go(func() { b.follow(ends) })
	}
	trading.Go(func() { bots[0].grid(stop) })
	trading.Go(func() { bots[1].oco(stop) })
	trade := func() { // for some time, and until each bot has traded
		had := []int{bots[0].traded(), bots[1].traded()}
		<-time.After(*botsTime / 3)
		harness.WaitFor(t, func() bool { return bots[0].traded() > had[0]+1 && bots[1].traded() > had[1]+1 })
	}
	trade()
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	serve()
	f.start(1, f.standby(1, "--binance-listen", second, "--set", "sim.intensity=400"))
	refuses(t, f.nodes[1], second)
	trade()
	front.Aim(second)
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.awaitRole(1, "writer")
	trade()
	close(stop)
	trading.Wait()
	for n, b := range bots {
		var why string
		harness.WaitFor(t, func() bool {
			why = b.differs()
			return why == "" || t.Failed()
		})
		_, err := b.client.NewCancelOpenOrdersService().Symbol(botsSymbol).Do(t.Context())
		var api *common.APIError
		if err != nil && (!errors.As(err, &api) || api.Code != -2011) {
			t.Error(err)
		}
		harness.WaitFor(t, func() bool { return b.differs() == "" && len(b.openIDs()) == 0 })
		b.mu.Lock()
		t.Logf("bot %d: %d orders, %d trades, %d reports, %d lost connections", n, b.seq, len(b.trades), b.reports,
			b.lost)
		if b.reports == 0 || b.lost < 2 {
			t.Errorf("bot %d has had no reports, or lost no connection", n)
		}
		b.mu.Unlock()
	}
	close(ends)
	following.Wait()
}
