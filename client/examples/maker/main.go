package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/big"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/tickhive/tickhive/client"
)

func main() {
	base := flag.String("base", "http://127.0.0.1:8080", "address of the exchange")
	pair := flag.String("pair", "BTC_USDT", "pair code")
	amount := flag.String("amount", "0.01", "amount of each order")
	fills := flag.Int("fills", 10, "how many fills to make")
	flag.Parse()
	if os.Getenv("PUBLIC") == "" || os.Getenv("PRIVATE") == "" {
		log.Fatal("set PUBLIC and PRIVATE to the two parts of a key, which `tickhive demo-key key.json` makes")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	m := maker{
		c:    &client.Client{Base: *base, PublicKey: os.Getenv("PUBLIC"), PrivateKey: os.Getenv("PRIVATE")},
		pair: *pair, amount: client.Decimal(*amount), open: map[string]client.Order{},
	}
	if err := m.run(ctx, *fills); err != nil {
		log.Fatal(err)
	}
}

// maker quotes one pair. Owner: the goroutine of run.
type maker struct {
	c           *client.Client
	pair        string
	amount      client.Decimal
	open        map[string]client.Order // our open orders of the pair, by id
	base, quote big.Rat                 // the position: what the fills have brought and taken
	fills       int
	newest      uint64 // trade id of the newest fill
	live        bool   // there is a line: open is what the exchange has
}

// run quotes until the fills are made or ctx ends. Then it cancels, and waits for the last fills.
func (m *maker) run(ctx context.Context, fills int) error {
	background := context.WithoutCancel(ctx)
	if _, err := m.c.CancelAll(ctx, m.pair); err != nil { // of an earlier run
		return err
	}
	var err error
	if m.newest, err = m.newestFill(ctx); err != nil {
		return err
	}
	events, ends := m.follow(background)
	for tick := time.NewTicker(time.Second); m.fills < fills && ctx.Err() == nil; {
		select {
		case e := <-events:
			m.note(e)
		case err := <-ends:
			return err
		case <-tick.C:
			if !m.live {
				break
			}
			if err := m.quoteBoth(ctx); err != nil {
				log.Print(err) // the next second tries again
			}
		case <-ctx.Done():
		}
	}
	if _, err := m.c.CancelAll(background, m.pair); err != nil {
		return err
	}
	if _, err := m.c.CancelAllAfter(background, 0); err != nil {
		return err
	}
	last, err := m.newestFill(background)
	if err != nil {
		return err
	}
	for len(m.open) > 0 || m.newest < last {
		select {
		case e := <-events:
			m.note(e)
		case err := <-ends:
			return err
		}
	}
	base, quote, _ := strings.Cut(m.pair, "_")
	fmt.Printf("%d fills: %s %s, %s %s\n", m.fills, m.base.FloatString(8), base, m.quote.FloatString(8), quote)
	return nil
}

// newestFill returns the trade id of our newest fill on the pair, 0 without any.
func (m *maker) newestFill(ctx context.Context) (uint64, error) {
	rows, _, err := m.c.Fills(ctx, client.ListQuery{Pair: m.pair, PageSize: 1})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].TradeID, nil
}

// follow starts the private stream. Its first snapshot comes before any order of ours, so no fill is missed.
func (m *maker) follow(ctx context.Context) (<-chan *client.Event, <-chan error) {
	events, ends := make(chan *client.Event), make(chan error, 1)
	stream := m.c.PrivateStream(nil)
	go func() {
		for {
			e, err := stream.Next(ctx)
			if err != nil {
				ends <- err
				return
			}
			events <- e
		}
	}()
	for e := range events {
		if m.note(e); e.Type == "snapshot" && e.Channel == "orders" {
			break
		}
	}
	return events, ends
}

// note keeps the open orders and the position.
func (m *maker) note(e *client.Event) {
	switch {
	case e.Type == "lost":
		m.live = false
		log.Print("the line is lost: ", e.Reason)
	case e.Type == "snapshot" && e.Channel == "orders":
		m.live = true
		clear(m.open)
		for _, o := range e.Orders {
			m.noteOrder(o)
		}
	case e.Order != nil:
		m.noteOrder(*e.Order)
	case e.Fill != nil && e.Fill.Pair == m.pair:
		m.noteFill(e.Fill)
	}
}

func (m *maker) noteOrder(o client.Order) {
	switch {
	case o.Pair != m.pair:
	case o.Status == "Created" || o.Status == "PartiallyCompleted":
		m.open[o.ID] = o
	default:
		delete(m.open, o.ID)
	}
}

// noteFill adds a fill to the position. The fee is of what the order receives.
func (m *maker) noteFill(f *client.Fill) {
	volume, money, fee := rat(f.Volume), rat(f.Price), rat(f.Fee)
	money.Mul(money, volume)
	if strings.HasPrefix(m.pair, f.FeeCurrency+"_") { // a buy
		m.base.Add(&m.base, volume.Sub(volume, fee))
		m.quote.Sub(&m.quote, money)
	} else {
		m.base.Sub(&m.base, volume)
		m.quote.Add(&m.quote, money.Sub(money, fee))
	}
	m.fills++
	m.newest = f.TradeID
}

// rat returns a decimal of the exchange, exactly.
func rat(d client.Decimal) *big.Rat {
	r, _ := new(big.Rat).SetString(d.String())
	return r
}

// quoteBoth keeps one order a side at the best price. The dead man's switch cancels them when this program hangs.
func (m *maker) quoteBoth(ctx context.Context) error {
	if _, err := m.c.CancelAllAfter(ctx, 30*time.Second); err != nil {
		return err
	}
	t, err := m.c.Ticker(ctx, m.pair)
	if err != nil {
		return err
	}
	for side, price := range map[string]client.Decimal{"buy": t.Bid, "sell": t.Ask} {
		err := m.quoteSide(ctx, side, price)
		for _, usual := range []string{ // the market has moved meanwhile
			client.CodeWouldCross, client.CodeOrderClosed, client.CodeInsufficientFunds,
		} {
			if client.IsCode(err, usual) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) quoteSide(ctx context.Context, side string, price client.Decimal) error {
	for _, o := range m.open {
		if o.IsBid != (side == "buy") {
			continue
		}
		if o.Price != nil && *o.Price == price {
			return nil
		}
		_, err := m.c.ChangeOrder(ctx, o.ID, client.Change{Price: price})
		return err
	}
	id, err := m.c.PlaceOrder(ctx, client.OrderRequest{
		Side: side, Pair: m.pair, Price: price, Amount: m.amount, PostOnly: true,
	})
	if err == nil { // the stream tells the rest
		m.open[id] = client.Order{ID: id, Pair: m.pair, IsBid: side == "buy", Price: &price}
	}
	return err
}
