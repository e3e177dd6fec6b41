package loadtool

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
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
)

// streamMix receives what the exchange sends to sockets.
type streamMix struct {
	url    string
	dialer websocket.Dialer
	pairs  []string
	behind time.Duration // the exchange's clock less that of this machine
	began  time.Time
	live   *load.Live
}

// The reasons of errors that have no code of the exchange.
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
	reasons map[string]int64
	seq     uint64 // of the book
	trade   uint64 // newest id of the trades
}

// streamMessage has the members of messages that the tool reads.
type streamMessage struct {
	Type    string `json:"type"`
	Channel string `json:"channel"`
	Code    string `json:"code"`
	Reason  string `json:"reason"`
	Seq     uint64 `json:"seq"`
	PrevSeq uint64 `json:"prevSeq"`
	Time    int64  `json:"time"`
	Trades  []struct {
		TradeID uint64 `json:"tradeId"`
	} `json:"trades"`
}

func (o *Options) runStreams(ctx context.Context, u *url.URL, secure *tls.Config, live *load.Live) (*Report, error) {
	m, err := o.newStreamMix(ctx, u, secure)
	if err != nil {
		return nil, err
	}
	m.live = live
	var sockets []*socket
	defer func() {
		for _, s := range sockets {
			_ = s.conn.Close() // after the run no one is left to report to
		}
	}()
	for i := range o.Connections {
		s := &socket{streamMix: m, pair: m.pairs[i%len(m.pairs)], res: load.Result{Hist: load.NewHistogram()}}
		if err = s.open(ctx); err != nil {
			return nil, err
		}
		sockets = append(sockets, s)
	}
	var all map[string]int64
	r, err := o.measure(ctx, live, func() map[string]int64 { return all }, func() (*load.Result, error) {
		var res *load.Result
		res, all = m.receive(ctx, o.For, sockets)
		return res, nil
	})
	return r, err
}

// newStreamMix reads the clock and the pairs.
func (o *Options) newStreamMix(ctx context.Context, u *url.URL, secure *tls.Config) (*streamMix, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	m := &streamMix{
		url: client.StreamURL(u.Scheme + "://" + u.Host),
		dialer: websocket.Dialer{
			HandshakeTimeout: discoverTimeout, TLSClientConfig: secure, ReadBufferSize: streamBuffer,
		},
	}
	direct := &http.Transport{TLSClientConfig: secure}
	defer direct.CloseIdleConnections()
	c := client.Client{
		Base: u.Scheme + "://" + u.Host, HTTP: &http.Client{Transport: direct, CheckRedirect: noRedirect},
	}
	var err error
	if m.behind, err = clockDifference(ctx, &c); err != nil {
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

// receive lets all sockets read for the time d and adds up their results.
func (m *streamMix) receive(ctx context.Context, d time.Duration, sockets []*socket) (*load.Result, map[string]int64) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	m.began = time.Now()
	var wg sync.WaitGroup
	for _, s := range sockets {
		wg.Go(func() { s.run(ctx) })
	}
	wg.Wait()
	all := &load.Result{Hist: load.NewHistogram(), Elapsed: time.Since(m.began)}
	var reasons map[string]int64
	for _, s := range sockets {
		all.Merge(&s.res)
		for reason, n := range s.reasons {
			reasons = counted(reasons, reason, n)
		}
	}
	return all, reasons
}

// open opens the socket and subscribes to book, trades and ticker of its pair, each change at once.
func (s *socket) open(ctx context.Context) error {
	conn, resp, err := s.dialer.DialContext(ctx, s.url, http.Header{"User-Agent": {"tickhive-load"}})
	if err != nil {
		if resp != nil {
			err = fmt.Errorf("%s: %w", resp.Status, err)
		}
		return fmt.Errorf("socket: %w", err)
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
			return errors.Join(fmt.Errorf("socket: %w", err), conn.Close())
		}
	}
	return nil
}

// run reads until ctx ends. It opens a lost connection again.
func (s *socket) run(ctx context.Context) {
	for ctx.Err() == nil {
		conn := s.conn
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		err := s.read()
		stop()
		if ctx.Err() != nil {
			return
		}
		s.lost(err)
		for s.open(ctx) != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(redialAfter):
			}
			s.fail("not connected")
		}
	}
}

// lost counts a connection that ended.
func (s *socket) lost(err error) {
	_ = s.conn.Close() // it has failed already
	if s.res.Err == nil {
		s.res.Err = err
	}
	reason := "connection lost"
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		reason = fmt.Sprintf("closed with %d", closed.Code)
	}
	s.fail(reason)
}

// fail counts an error.
func (s *socket) fail(reason string) {
	s.res.Errors++
	s.live.Errors.Add(1)
	s.reasons = counted(s.reasons, reason, 1)
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
		s.res.CountMessage(len(raw), now.Sub(s.began))
		delay := time.Duration(0)
		if m.Type == "update" {
			delay = max(now.Add(s.behind).Sub(time.UnixMilli(m.Time)), 0)
			s.res.RecordMessage(m.Channel, delay)
		}
		s.live.Count(delay, false)
		s.check(&m)
	}
}

// check counts refusals and messages that are missing.
func (s *socket) check(m *streamMessage) {
	switch {
	case m.Type == "error":
		s.fail(m.Code)
	case m.Type == "snapshot" && m.Reason == reasonSlow:
		s.fail(reasonSlow)
	}
	switch m.Channel {
	case "book":
		if m.Type == "update" && m.PrevSeq != s.seq {
			s.fail(reasonGap)
		}
		if m.Type == "update" || m.Type == "snapshot" {
			s.seq = m.Seq
		}
	case "trades":
		for i, t := range m.Trades {
			if (m.Type == "update" || i > 0) && s.trade != 0 && t.TradeID != s.trade+1 {
				s.fail(reasonGap)
			}
			s.trade = t.TradeID
		}
	}
}
