package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/test/nets"
	"github.com/tickhive/tickhive/tickhivetest"
)

// streams are reports of the channels of sockets.
var streams = []report{
	{
		says: "the book of a stream is never crossed or locked, and chain and checksum hold",
		sources: "dydxprotocol/dydx-v3-python#221 bitfinexcom/api_docs#9 " +
			"nevuamarkets/poly-websockets#25",
		try: func(m *market) {
			m.other.place("buy 1 at 100")
			m.other.place("sell 1 at 199")
			f := m.follow()
			for i := range 60 {
				m.x.Sell(m.pair, "2", fmt.Sprint(120+i*7%60))
				m.x.Buy(m.pair, "3", fmt.Sprint(120+i*13%60))
			}
			b, err := m.me.OrderBook(m.T.Context(), m.pair, 0)
			m.must(err)
			for f.Books[m.pair].Seq < b.Seq {
				_, err := f.StepContext(m.T.Context())
				m.must(err)
				now := f.Books[m.pair]
				if now.Bids[0].Price >= now.Asks[0].Price { // both have three digits before the point
					m.T.Fatalf("at %d: bid %s, ask %s", now.Seq, now.Bids[0].Price, now.Asks[0].Price)
				}
			}
			m.is("resyncs", f.Resyncs, 0)
			m.is("the levels", fmt.Sprint(len(f.Books[m.pair].Bids), len(f.Books[m.pair].Asks)),
				fmt.Sprint(len(b.Bids), len(b.Asks)))
		},
	},
	{
		says:    "a stream has each trade of one instant, the oldest first, with ids without a gap",
		sources: "krakenfx/api-go#36 Bittrex/bittrex.github.io#32",
		try: func(m *market) {
			s := m.subscribe(client.Request{Channel: "trades"})
			m.is("the snapshot", len(s.next("snapshot").Trades), 0)
			for range 3 {
				for price := 100; price < 103; price++ {
					m.x.Sell(m.pair, "1", fmt.Sprint(price))
				}
				m.me.place("buy 3 at 102")
			}
			var got []string
			for len(got) < 9 {
				for _, trade := range s.next("update").Trades {
					got = append(got, fmt.Sprint(trade.TradeID, "@", nets.Trim(trade.Price)))
				}
			}
			m.is("the trades", strings.Join(got, " "), "1@100 2@101 3@102 4@100 5@101 6@102 7@100 8@101 9@102")
		},
	},
	{
		says:    "a client that comes back gets the trades that it missed, from the id that it names",
		sources: "ccxt/ccxt#26945",
		try: func(m *market) {
			s := m.subscribe(client.Request{Channel: "trades"})
			s.next("snapshot")
			m.trade("1", "100")
			last := s.next("update").Trades[0].TradeID
			m.must(s.Close())
			for range 150 { // more than a snapshot without an id has
				m.trade("1", "100")
			}
			last++
			back := m.subscribe(client.Request{Channel: "trades", FromTradeID: &last})
			for want := last; want <= 151; {
				for _, trade := range back.next("").Trades {
					m.is("the next trade", trade.TradeID, want)
					want++
				}
			}
		},
	},
	{
		says:    "a candle is closed once when its time is over, without a later trade",
		sources: "hitbtc-com/hitbtc-api#236 JKorf/Kraken.Net#96 bmoscon/cryptofeed#827",
		try: func(m *market) {
			s := m.subscribe(client.Request{Channel: "candles.minute"})
			m.is("the snapshot", s.next("snapshot").Candle == nil, true)
			first := m.x.Now().Truncate(time.Minute)
			closed := map[string]int{}
			for i, wait := range []time.Duration{time.Minute, 4 * time.Minute, time.Minute} {
				m.trade("1", fmt.Sprint(100+i))
				m.x.Advance(wait)
				for {
					u := s.next("update")
					if !u.Closed {
						continue
					}
					closed[u.Candle.Date]++
					m.is("the candle", nets.Trim(u.Candle.Close)+" "+nets.Trim(u.Candle.VolumeBase),
						fmt.Sprint(100+i, " ", 1))
					break
				}
			}
			want := map[string]int{}
			for _, minute := range []int{0, 1, 5} {
				want[first.Add(time.Duration(minute)*time.Minute).Format(dateForm)] = 1
			}
			m.is("closed", closed, want)
		},
	},
	{
		says:    "a client whose line lives while its data stops learns it by the next heartbeat",
		sources: "Bittrex/bittrex.github.io#105 Polymarket/real-time-data-client#26",
		try: func(m *market) {
			m.other.place("buy 1 at 100")
			f := m.follow()
			for kind := ""; kind != "heartbeat"; {
				message, err := f.StepContext(m.T.Context())
				m.must(err)
				kind = message.Type
			}
			m.is("resyncs of a quiet market", f.Resyncs, 0)
			lost := m.x.Fault("drop channel=book pair=" + m.pair + " count=1")
			m.other.place("buy 1 at 101")
			for len(f.Books[m.pair].Bids) != 2 || !f.Books[m.pair].Ready() {
				_, err := f.StepContext(m.T.Context())
				m.must(err)
			}
			m.is("resyncs", f.Resyncs, 1)
			m.is("lost messages", lost.Hits(), 1)
		},
	},
	{
		says:    "the simulated market trades in each pair all the time, and the streams say so",
		sources: "adshao/go-binance#219 chrisleekr/binance-trading-bot#48",
		try: func(m *market) {
			x := tickhivetest.Start(m.T, tickhivetest.Market(1))
			before, err := x.Client().Status(m.T.Context())
			m.must(err)
			s := m.dial(x.BinanceStream + "/ws/btcusdt@trade")
			x.Advance(5 * time.Minute)
			after, err := x.Client().Status(m.T.Context())
			m.must(err)
			for i, p := range after.Pairs {
				if p.LastTradeID <= before.Pairs[i].LastTradeID {
					m.T.Errorf("%s: the last trade is %d, then %d", p.Pair, before.Pairs[i].LastTradeID, p.LastTradeID)
				}
			}
			m.is("the stream", string(s.next("").Raw[:12]), `{"e":"trade"`)
		},
	},
}

// patience ends a test whose message does not come.
const patience = 30 * time.Second

// follow returns a client that has the whole book of the pair.
func (m *market) follow() *client.Follower {
	m.T.Helper()
	f, err := client.NewFollower(m.T.Context(), m.x.StreamURL, []string{m.pair}, 0, 0)
	m.must(err)
	m.T.Cleanup(func() { _ = f.Stream.Close() })
	m.must(f.Stream.SetReadDeadline(time.Now().Add(patience)))
	for !f.Books[m.pair].Ready() {
		_, err := f.StepContext(m.T.Context())
		m.must(err)
	}
	return f
}

// stream is a socket whose messages a test reads.
type stream struct {
	*client.Stream
	m *market
}

// dial opens a socket that ends with the test.
func (m *market) dial(url string) stream {
	m.T.Helper()
	s, err := client.Dial(m.T.Context(), url)
	m.must(err)
	m.T.Cleanup(func() { _ = s.Close() })
	m.must(s.SetReadDeadline(time.Now().Add(patience)))
	return stream{s, m}
}

// subscribe opens a socket and subscribes to a channel of the pair.
func (m *market) subscribe(r client.Request) stream {
	m.T.Helper()
	s := m.dial(m.x.StreamURL)
	r.Op, r.Pairs = "subscribe", []string{m.pair}
	m.must(s.Send(r))
	s.next("subscribed")
	return s
}

// next waits for the next message of a type; empty: of any.
func (s stream) next(kind string) *client.Message {
	s.m.T.Helper()
	for {
		message, err := s.NextContext(s.m.T.Context())
		s.m.must(err)
		if message.Type == "error" {
			s.m.T.Fatalf("%s", message.Raw)
		}
		if kind == "" || message.Type == kind {
			return message
		}
	}
}
