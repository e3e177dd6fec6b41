package edge_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/server/forward"
	"tickhive/server/servertest"
)

// seqPaths are reads of one pair: by a parameter, by one of the aggregator, and by the path.
var seqPaths = []string{
	"/api/orderbook?currencyPairCode=BTC_USDT&", "/api/deals?currencyPairCode=BTC_USDT&",
	servertest.Agg + "/orderbook?ticker_id=BTC_USDT&", "/listing/coinmarketcap/orderbook/BTC_USDT?",
}

// A read is answered at the seq that it asks for, and refused before it, or when it asks for no seq.
func TestMinSeq(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	at := int64(m.Feed().Board().Load().Lookup("BTC_USDT").Seq)
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, path := range seqPaths {
		for _, ask := range []struct {
			param, header string
			status        int
			code, field   string
		}{
			{"", "", 200, "", ""},
			{"minSeq=" + text(at), "", 200, "", ""},
			{"", text(at), 200, "", ""},
			{"minSeq=" + text(at), text(at), 200, "", ""},
			{"minSeq=" + text(at+1), "", 503, "STALE", ""},
			{"", text(at + 1), 503, "STALE", ""},
			{"minSeq=" + text(at), text(at - 1), 400, "INVALID_PARAM", "X-Min-Seq"},
			{"", "-1", 400, "INVALID_PARAM", "X-Min-Seq"},
			{"", "x", 400, "INVALID_PARAM", "X-Min-Seq"},
			{"minSeq=-1", "", 400, "INVALID_PARAM", "minSeq"},
			{"minSeq=x", "", 400, "INVALID_PARAM", "minSeq"},
			{"minSeq=1&minSeq=1", "", 400, "INVALID_PARAM", "minSeq"},
		} {
			var header []string
			if ask.header != "" {
				header = []string{"X-Min-Seq", ask.header}
			}
			a := m.Do(fasthttp.MethodGet, path+ask.param, "", header...)
			if ask.status != 200 {
				m.CheckRefusal(a, ask.status, ask.code, ask.field)
			} else if a.Status != 200 {
				t.Errorf("%s%s %s: %d %s", path, ask.param, ask.header, a.Status, a.Body)
			}
		}
	}
	m.Limit("BTC_USDT", engine.Buy, 1, 10_000)
	if a := m.Get(seqPaths[0] + "minSeq=" + text(at+1)); a.Status != 200 {
		t.Errorf("after another event: %d %s", a.Status, a.Body)
	}
	m.CheckRefusal(m.Get("/api/orderbook?currencyPairCode=NO_PAIR&minSeq=1"), 404, "NOT_FOUND", "currencyPairCode")
	m.CheckRefusal(m.Get("/api/orderbook?currencyPairCode=x&minSeq=1"), 400, "INVALID_PARAM", "currencyPairCode")
	if a := m.Get("/api/summary?minSeq=999999"); a.Status != 200 {
		t.Errorf("a document over several pairs: %d %s", a.Status, a.Body)
	}
}

// A replica waits for the seq, and forwards the read when it does not come.
func TestMinSeqOnAReplica(t *testing.T) {
	look := make(chan struct{}, 1)
	var published atomic.Pointer[chan struct{}]
	first := make(chan struct{})
	published.Store(&first)
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Replica = &forward.Replica{
			LagNs: func() int64 { return 0 }, MaxLagNs: 1,
			Published: func() <-chan struct{} {
				select {
				case look <- struct{}{}:
				default:
				}
				return *published.Load()
			},
			Forward: forward.New(forward.Options{NowNs: func() int64 { return 0 }}),
		}
	})
	seq := func() string {
		return strconv.FormatUint(uint64(m.Feed().Board().Load().Lookup("BTC_USDT").Seq)+1, 10)
	}
	m.CheckRefusal(m.Get(seqPaths[0]+"minSeq="+seq()), 503, "STALE", "") // forwarding is off
	<-look
	waited := false
	for range 20 { // a busy machine may take longer than a replica waits
		done, next := make(chan int, 1), seqPaths[0]+"minSeq="+seq()
		go func() { done <- m.Get(next).Status }()
		<-look
		m.Limit("BTC_USDT", engine.Buy, 1, 10_000)
		fresh := make(chan struct{})
		close(*published.Swap(&fresh))
		if waited = <-done == 200; waited {
			break
		}
	}
	if !waited {
		t.Error("no read has waited for its seq")
	}
}
