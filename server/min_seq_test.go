package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/forward"
	"github.com/tickhive/tickhive/server/servertest"
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
			{"minSeq=9223372036854775807", "", 503, "STALE", ""},
			{"minSeq=9223372036854775808", "", 400, "INVALID_PARAM", "minSeq"},
			{"minSeq=9999999999999999999", "", 400, "INVALID_PARAM", "minSeq"},
			{"", "9223372036854775807", 503, "STALE", ""},
			{"", "9223372036854775808", 400, "INVALID_PARAM", "X-Min-Seq"},
			{"minSeq=9223372036854775807", "9223372036854775808", 400, "INVALID_PARAM", "X-Min-Seq"},
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

// A seq that the writer cannot have reached is refused at once. A smaller one is forwarded, which counts against the
// client's limit, and a refusal that the client's seq causes is no server error.
func TestMinSeqFarAheadOnAReplica(t *testing.T) {
	writer, forwarded := http.NewServeMux(), atomic.Int64{}
	writer.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		forwarded.Add(1)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"code":"STALE","message":"m","field":null,"requestId":"r"}`)
	})
	there := httptest.NewServer(writer)
	defer there.Close()
	key, err := clusterkey.Parse(strings.Repeat("a", clusterkey.MinKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	to := forward.New(forward.Options{Key: key, NowNs: func() int64 { return 0 }})
	defer to.Close()
	to.Lead(forward.Writer{Address: strings.TrimPrefix(there.URL, "http://"), KeyID: key.ID()})
	var waits atomic.Int64
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Rate.PerMinute = 3
		o.Replica = &forward.Replica{
			LagNs: func() int64 { return 0 }, MaxLagNs: 1, Forward: to,
			Published: func() <-chan struct{} { waits.Add(1); return nil },
		}
	})
	at := int64(m.Feed().Board().Load().Lookup("BTC_USDT").Seq)
	read := func(seq int64) servertest.Answer {
		return m.Get(seqPaths[0] + "minSeq=" + strconv.FormatInt(seq, 10))
	}
	for _, seq := range []int64{at + 10_000_001, 1<<63 - 1} {
		m.CheckRefusal(read(seq), 503, "STALE", "")
	}
	m.CheckRefusal(m.Get(seqPaths[0]+"minSeq=9223372036854775808"), 400, "INVALID_PARAM", "minSeq")
	if waits.Load() != 0 || forwarded.Load() != 0 {
		t.Errorf("a seq far ahead: waited %d times, forwarded %d times", waits.Load(), forwarded.Load())
	}
	for _, seq := range []int64{at + 10_000_000, at + 1, at + 1} {
		if a := read(seq); a.Status != 503 || !strings.Contains(a.Body, `"code":"STALE"`) ||
			a.Header.Get("X-Served-By") == "" {
			t.Errorf("%d ahead: %d %v %s", seq-at, a.Status, a.Header, a.Body)
		}
	}
	a := read(at + 1)
	if m.CheckRefusal(a, 429, "RATE_LIMIT", ""); a.Header.Get("Retry-After") == "" || forwarded.Load() != 3 {
		t.Errorf("beyond the limit: forwarded %d times, %v", forwarded.Load(), a.Header)
	}
	if a := read(at); a.Status != 200 {
		t.Errorf("a read that the replica can answer: %d %s", a.Status, a.Body)
	}
	for _, r := range m.Server.RouteStats() {
		if r.Path == "/api/orderbook" && r.Status != [6]uint64{edge.StatusStale: 5, 2: 1, 4: 2} {
			t.Errorf("counted by status: %v", r.Status)
		}
	}
}
