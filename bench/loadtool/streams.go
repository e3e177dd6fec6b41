package loadtool

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/client"
)

// Limits of a socket of MixStreams.
const (
	maxStreamMessage = 64 << 20
	streamBuffer     = 32 << 10
	redialAfter      = time.Second
	// openTimeout limits the time in which all sockets open, after which the run begins without the rest.
	openTimeout = 30 * time.Second
)

// streamMix receives what the exchange sends to sockets.
type streamMix struct {
	url    string
	dialer websocket.Dialer
	pairs  []string
	clock  exchangeClock
	began  atomic.Pointer[time.Time] // of the run; nil: the sockets are being opened, and updates do not count
	live   *load.Live
	routes load.Routes // by channel
}

// Reasons of errors that the tool names.
const (
	reasonGap  = "gap"  // a book or the trades went on behind a message that is missing
	reasonSlow = "slow" // the exchange dropped the backlog of a socket and sent a snapshot
)

// socket is one connection of MixStreams and what it has received. Owner: its goroutine, then Run.
type socket struct {
	*streamMix
	conn    *websocket.Conn
	pair    string
	res     load.Result
	seq     uint64        // of the book
	trade   uint64        // newest id of the trades
	awaited []string      // channels that have sent nothing yet
	opened  chan struct{} // closed when none is awaited, or when the socket could not be opened
	error   ClockError
}

// streamMessage has the members of messages that the tool reads.
type streamMessage struct {
	Type    string `json:"type"`
	Channel string `json:"channel"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Seq     uint64 `json:"seq"`
	PrevSeq uint64 `json:"prevSeq"`
	Time    int64  `json:"time"`
	Trades  []struct {
		TradeID uint64 `json:"tradeId"`
	} `json:"trades"`
}

func (o *Options) runStreams(ctx context.Context, u *url.URL, secure *tls.Config, live *load.Live) (*Report, error) {
	direct := &http.Transport{TLSClientConfig: secure}
	defer direct.CloseIdleConnections()
	m, err := o.newStreamMix(ctx, u, direct)
	if err != nil {
		return nil, err
	}
	m.live = live
	defer m.clock.follow(ctx)()
	run, end := context.WithCancel(ctx)
	defer end()
	var wg sync.WaitGroup
	all := &load.Result{Hist: load.NewHistogram()}
	sockets := m.open(run, &wg, o.Connections)
	r, err := o.measure(ctx, live, func(begin func()) (*load.Result, error) {
		begin()
		began := time.Now()
		m.began.Store(&began)
		select {
		case <-ctx.Done():
		case <-time.After(o.For):
		}
		end()
		wg.Wait()
		all.Elapsed = time.Since(began)
		for _, s := range sockets {
			all.Merge(&s.res)
		}
		all.Routes = m.routes.Rows()
		return all, nil
	})
	if err == nil {
		r.ClockError = &ClockError{}
		for _, s := range sockets {
			r.ClockError.Us = max(r.ClockError.Us, s.error.Us)
			r.ClockError.Below += s.error.Below
		}
	}
	return r, err
}

// latency returns the time from the time of a message to its arrival. One that is less than the error of the exchange's
// clock is counted and returned as 0.
func (s *socket) latency(arrived time.Time, ms int64) time.Duration {
	ahead, within := s.clock.ahead(arrived)
	s.error.Us = max(s.error.Us, within.Microseconds()+1)
	d := arrived.Add(ahead).Sub(time.UnixMilli(ms))
	if d < within {
		s.error.Below++
		return 0
	}
	return d
}

// open opens n sockets, one after the other so that the opening is no burst, and returns when all have what their
// channels begin with. Their goroutines read until ctx ends.
func (m *streamMix) open(ctx context.Context, wg *sync.WaitGroup, n int) (sockets []*socket) {
	patience, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for i := range n {
		s := &socket{
			streamMix: m, pair: m.pairs[i%len(m.pairs)], res: load.Result{Hist: load.NewHistogram()},
			opened: make(chan struct{}),
		}
		wg.Go(func() { s.run(ctx) })
		sockets = append(sockets, s)
		select {
		case <-s.opened:
		case <-patience.Done():
		}
	}
	return sockets
}

// newStreamMix reads the clock and the pairs.
func (o *Options) newStreamMix(ctx context.Context, u *url.URL, direct *http.Transport) (*streamMix, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	m := &streamMix{
		url: client.StreamURL(u.Scheme + "://" + u.Host),
		dialer: websocket.Dialer{
			HandshakeTimeout: discoverTimeout, TLSClientConfig: direct.TLSClientConfig, ReadBufferSize: streamBuffer,
		},
	}
	c := client.Client{
		Base: u.Scheme + "://" + u.Host, HTTP: &http.Client{Transport: direct, CheckRedirect: noRedirect},
	}
	m.clock.client = &c
	if err := m.clock.readOften(ctx); err != nil {
		return nil, err
	}
	pairs, err := c.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs[:min(o.Pairs, len(pairs))] {
		m.pairs = append(m.pairs, p.Code)
	}
	if len(m.pairs) == 0 {
		return nil, errors.New("the exchange has no pairs")
	}
	return m, nil
}

// dial opens the socket and subscribes to book, trades and ticker of its pair, each change at once. A refusal is
// counted by its code.
func (s *socket) dial(ctx context.Context) bool {
	conn, resp, err := s.dialer.DialContext(ctx, s.url, http.Header{"User-Agent": {"tickhive-load"}})
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = conn.Close() // after the run no one is left to report to
		}
		return false
	case err != nil && resp != nil:
		body, _ := io.ReadAll(resp.Body) // the library has read it, in part
		s.fail(refusal(resp.StatusCode, body, resp.Header.Get("X-Fault")))
		return false
	case err != nil:
		s.fail("not connected", err.Error())
		return false
	}
	conn.SetReadLimit(maxStreamMessage)
	s.conn, s.seq, s.trade = conn, 0, 0
	interval, whole := 0, []string{s.pair}
	for _, r := range []client.Request{
		{Op: "subscribe", Channel: "book", Pairs: whole, Interval: &interval},
		{Op: "subscribe", Channel: "trades", Pairs: whole},
		{Op: "subscribe", Channel: "ticker", Pairs: whole},
	} {
		if err := conn.WriteJSON(r); err != nil {
			s.lost(err)
			return false
		}
	}
	return true
}

// run reads until ctx ends. It opens a lost connection again, and one that was refused after a while.
func (s *socket) run(ctx context.Context) {
	s.awaited = []string{"book", "trades", "ticker"}
	for ctx.Err() == nil {
		if !s.dial(ctx) {
			s.await("")
			select {
			case <-ctx.Done():
			case <-time.After(redialAfter):
			}
			continue
		}
		conn := s.conn
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		err := s.read()
		if stop() {
			s.lost(err)
		}
	}
}

// await takes a channel that has sent something, empty for all, from those that are awaited.
func (s *socket) await(channel string) {
	if len(s.awaited) == 0 {
		return
	}
	s.awaited = slices.DeleteFunc(s.awaited, func(a string) bool { return channel == "" || a == channel })
	if len(s.awaited) == 0 {
		close(s.opened)
	}
}

// lost counts a connection that ended.
func (s *socket) lost(err error) {
	_ = s.conn.Close() // it has failed already
	reason := "connection lost"
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		reason = fmt.Sprintf("closed with %d", closed.Code)
	}
	s.fail(reason, err.Error())
}

// fail counts an error.
func (s *socket) fail(reason, message string) {
	s.res.Errors++
	s.live.Errors.Add(1)
	s.res.Blame(reason, message)
}

// read reads messages until the connection fails.
func (s *socket) read() error {
	for {
		_, raw, err := s.conn.ReadMessage()
		if err != nil {
			return err
		}
		now := time.Now()
		var m streamMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("message %.100q: %w", raw, err)
		}
		if m.Type != "subscribed" {
			s.await(m.Channel)
		}
		if began := s.began.Load(); began != nil && m.Type == "update" {
			delay := s.latency(now, m.Time)
			s.res.CountMessage(len(raw), now.Sub(*began), delay)
			s.routes.Count(m.Channel, delay, load.Outcome{Answered: true})
			s.live.Count(delay, load.Outcome{Answered: true})
		}
		s.check(&m)
	}
}

// check counts refusals and messages that are missing, also in the row of their channel.
func (s *socket) check(m *streamMessage) {
	fail := func(reason, message string) {
		s.fail(reason, message)
		if m.Channel != "" {
			s.routes.Fail(m.Channel)
		}
	}
	switch {
	case m.Type == "error":
		fail(m.Code, m.Message)
	case m.Type == "snapshot" && m.Reason == reasonSlow:
		fail(reasonSlow, "")
	}
	switch m.Channel {
	case "book":
		if m.Type == "update" && m.PrevSeq != s.seq {
			fail(reasonGap, "")
		}
		if m.Type == "update" || m.Type == "snapshot" {
			s.seq = m.Seq
		}
	case "trades":
		for i, t := range m.Trades {
			if (m.Type == "update" || i > 0) && s.trade != 0 && t.TradeID != s.trade+1 {
				fail(reasonGap, "")
			}
			s.trade = t.TradeID
		}
	}
}
