package loadtool

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/client"
)

const (
	// prepareTimeout limits the requests before a run, cleanTimeout those after it.
	prepareTimeout = 30 * time.Second
	cleanTimeout   = 60 * time.Second
	// restAway is the distance of a resting order from the last price: far enough to be canceled before it
	// trades, and inside the price band of the built-in pairs.
	restAway = 0.03
	// One order in marketEvery takes liquidity, and one waits or is a list.
	marketEvery = 10
	// cancelsInBatch is the largest number of commands in a batch.
	cancelsInBatch = 100
	// cleanTries is how often in a row the cancels of a pair may fail. The first repetition waits for cleanWait, each
	// further one twice as long. An answer that does not come within cleanAnswer has failed.
	cleanTries  = 5
	cleanWait   = 50 * time.Millisecond
	cleanAnswer = 10 * time.Second
)

// orderMix makes the signed requests of MixOrders. Each connection places an order, cancels it, and goes on; one order
// in ten is a market order, and one in ten waits or is an order list. So a connection
// has at most one order or list open.
type orderMix struct {
	*signer
	host   string
	prefix string // of the client order ids of this run
	pairs  []orderPair
	lanes  []lane
}

// signer signs requests by the exchange's clock.
type signer struct {
	client client.Client
	public client.Client // signs nothing
	clock  exchangeClock
}

// orderPair is a pair with the orders that it gets, as text.
type orderPair struct {
	code             string
	bid, ask, amount client.Decimal
}

// lane is the state of one connection. Owner: its worker, then Run.
type lane struct {
	orders  int    // placed so far
	kind    string // of the last request
	open    string // route of the open order or list; "": none
	placing string // the request under way places an order or a list that stays open, on this route; "": it does not
}

func (o *Options) runOrders(ctx context.Context, u *url.URL, secure *tls.Config, live *load.Live) (*Report, error) {
	m, err := o.newOrderMix(ctx, u, secure)
	if err != nil {
		return nil, err
	}
	defer m.client.HTTP.CloseIdleConnections()
	defer m.clock.follow(ctx)()
	run := o.loop(ctx, u, secure, live)
	run.Next, run.Judge = m.next, m.answered
	run.Name = func(worker int) string { return m.lanes[worker].kind }
	run.Plan = m.planned
	r, err := o.measureLoop(ctx, run)
	// The orders are canceled after Ctrl-C too.
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	return r, errors.Join(err, m.clean(clean))
}

// newOrderMix checks the key and reads the pairs and their prices.
func (o *Options) newOrderMix(ctx context.Context, u *url.URL, secure *tls.Config) (*orderMix, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	var run [4]byte
	_, _ = rand.Read(run[:]) // crypto/rand never fails since Go 1.24
	signer, err := o.newSigner(ctx, u, secure)
	if err != nil {
		return nil, err
	}
	m := &orderMix{
		signer: signer, host: u.Host, prefix: "load-" + hex.EncodeToString(run[:]) + "-",
		lanes: make([]lane, o.Connections),
	}
	settings, err := m.public.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range settings {
		if len(m.pairs) == o.Pairs {
			break
		}
		t, err := m.public.Ticker(ctx, s.Code)
		if err != nil {
			return nil, err
		}
		if p, ok := priced(&s, t.Price); ok {
			m.pairs = append(m.pairs, p)
		}
	}
	if len(m.pairs) == 0 {
		return nil, errors.New("no pair has a last price, from which orders could keep their distance")
	}
	return m, nil
}

// newSigner checks the key of the options at the exchange.
func (o *Options) newSigner(ctx context.Context, u *url.URL, secure *tls.Config) (*signer, error) {
	s := &signer{client: client.Client{
		Base: u.Scheme + "://" + u.Host, PublicKey: o.Key.Public, PrivateKey: o.Key.Private,
		HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: secure}, CheckRedirect: noRedirect},
	}}
	s.public = client.Client{Base: s.client.Base, HTTP: s.client.HTTP}
	s.clock.client = &s.public
	if err := s.clock.read(ctx); err != nil {
		return nil, err
	}
	s.client.Now = s.clock.now
	if _, err := s.client.Balances(ctx); err != nil {
		return nil, fmt.Errorf("the key of --signed: %w", err)
	}
	return s, nil
}

// timely calls send, and once more with the exchange's clock read again if its timestamp is refused: such a request was
// not carried out.
func (s *signer) timely(ctx context.Context, send func() error) error {
	err := send()
	var api *client.APIError
	if !errors.As(err, &api) || api.Status != http.StatusUnauthorized || api.Field != "API-Timestamp" {
		return err
	}
	if e := s.clock.read(ctx); e != nil {
		return errors.Join(err, e)
	}
	return send()
}

// priced returns the orders of a pair, and false when it never traded.
func priced(s *client.PairSettings, last client.Decimal) (orderPair, bool) {
	price, err := last.Float64()
	if err != nil || price <= 0 {
		return orderPair{}, false
	}
	least := 1.0
	if s.MinQuoteAmount != nil {
		if f, err := s.MinQuoteAmount.Float64(); err == nil && f > 0 {
			least = 2 * f
		}
	}
	step := math.Pow10(-s.DigitsAmount)
	bid, ask := price*(1-restAway), price*(1+restAway)
	amount := math.Ceil(least/bid/step) * step
	text := func(f float64, digits int) client.Decimal {
		return client.Decimal(strconv.FormatFloat(f, 'f', digits, 64))
	}
	p := orderPair{s.Code, text(bid, s.DigitsPrice), text(ask, s.DigitsPrice), text(amount, s.DigitsAmount)}
	low, err := p.bid.Float64()
	return p, err == nil && low > 0
}

// Kinds of orders that wait, of which those from waitLists on are lists.
const (
	waitKinds = 5
	waitLists = 3
)

// The routes of orders and of order lists.
const (
	orderRoute = "/api/orders"
	listRoute  = "/api/orders/lists"
)

// next appends the next request of a connection.
func (m *orderMix) next(worker int, dst []byte) ([]byte, error) {
	l := &m.lanes[worker]
	l.placing = ""
	if route := l.open; route != "" {
		l.open, l.kind = "", cancelKind(path.Dir(route))
		return m.append(dst, http.MethodDelete, route, nil)
	}
	n := l.orders
	l.orders++
	p := &m.pairs[(worker+n)%len(m.pairs)]
	o := client.OrderRequest{
		Pair: p.code, Side: "buy", Amount: p.amount, Price: p.bid,
		ClientOrderID: m.prefix + strconv.Itoa(worker) + "-" + strconv.Itoa(n),
	}
	var request any = &o
	route, round := orderRoute, n/marketEvery
	takes, waits := n%marketEvery == marketEvery-1, n%marketEvery == marketEvery/2
	buys := n%2 == 0
	if takes || waits {
		buys = round%2 == 0
	}
	if !buys {
		o.Side, o.Price = "sell", p.ask
	}
	switch {
	case takes:
		o.IsMarket, o.Price = true, ""
	case waits:
		if list := p.wait(&o, round); list != nil {
			route, request = listRoute, list
		}
	}
	if !takes {
		l.placing = route
	}
	l.kind = "POST " + route
	body, err := json.Marshal(request)
	if err != nil {
		return dst, err
	}
	return m.append(dst, http.MethodPost, route, body)
}

// cancelKind returns the kind of the cancels of a route.
func cancelKind(route string) string { return "DELETE " + route + "/{id}" }

// planned returns the kind of request i when every order is accepted: connections send in turn, and each cancels what
// it has placed, unless it was a market order.
func (m *orderMix) planned(i int) string {
	const steps = 2*marketEvery - 1 // of a round
	round, step := i/len(m.lanes)/steps, i/len(m.lanes)%steps
	route := orderRoute
	if step/2 == marketEvery/2 && listed(round) {
		route = listRoute
	}
	if step%2 == 1 {
		return cancelKind(route)
	}
	return "POST " + route
}

// listed reports whether the order that waits in a round is a list.
func listed(round int) bool { return round%waitKinds >= waitLists }

// other returns the price on the other side of the market.
func (p *orderPair) other(price client.Decimal) client.Decimal {
	if price == p.bid {
		return p.ask
	}
	return p.bid
}

// wait makes a limit order one that waits, of another kind in each round, or returns the order list that it begins.
func (p *orderPair) wait(o *client.OrderRequest, round int) *client.ListRequest {
	stop := *o
	stop.Type, stop.Price = "stop_limit", p.other(o.Price)
	stop.StopPrice = stop.Price
	switch round % waitKinds {
	case 0:
		*o = stop
	case 1:
		o.Type, o.StopPrice = "take_profit_limit", o.Price
	case 2:
		o.Type, o.Price, o.TrailingDelta = "stop_market", "", int(restAway*10_000)
	case waitLists:
		o.PostOnly = true
		return p.list("oco", o, stop)
	default:
		exit, loss := stop, *o
		exit.Side, loss.Side = opposite(o.Side), opposite(o.Side)
		exit.Type, exit.StopPrice, exit.PostOnly = "limit", "", true
		loss.Type, loss.StopPrice = "stop_limit", o.Price
		return p.list("otoco", o, exit, loss)
	}
	return nil
}

func opposite(side string) string {
	if side == "buy" {
		return "sell"
	}
	return "buy"
}

// list returns the list of some orders, each with a client id of its own.
func (p *orderPair) list(kind string, first *client.OrderRequest, others ...client.OrderRequest) *client.ListRequest {
	orders := append([]client.OrderRequest{*first}, others...)
	for i := range orders {
		orders[i].ClientOrderID += "-" + strconv.Itoa(i)
	}
	return &client.ListRequest{Kind: kind, Pair: p.code, Orders: orders}
}

// headers returns the header lines that sign a request.
func (s *signer) headers(method, target string, body []byte) ([]string, error) {
	c, err := s.client.Credentials(method, target, body)
	return []string{
		"API-PublicKey: " + c.PublicKey, "API-Timestamp: " + c.Timestamp, "API-Nonce: " + c.Nonce,
		"API-Signature: " + c.Signature,
	}, err
}

// append appends a signed request.
func (m *orderMix) append(dst []byte, method, target string, body []byte) ([]byte, error) {
	headers, err := m.headers(method, target, body)
	if err != nil {
		return dst, err
	}
	if body != nil {
		headers = append(headers, "Content-Type: application/json")
	} else {
		body = []byte{}
	}
	headers = append(headers, "User-Agent: tickhive-load")
	return load.Of(method, m.host, "", target, body, headers).Bytes(dst, nil), nil
}

// answered keeps the route of what stays open and judges the answer.
func (m *orderMix) answered(worker int, a *load.Answer) (reason, message string) {
	l := &m.lanes[worker]
	if a.Status >= http.StatusBadRequest {
		return judge(worker, a)
	}
	id, list := "", client.List{}
	var err error
	switch l.placing {
	case "":
		return "", ""
	case listRoute:
		err = json.Unmarshal(a.Body, &list)
		id = list.ID
	default:
		err = json.Unmarshal(a.Body, &id)
	}
	if err != nil || id == "" {
		return "an answer without an id", fmt.Sprintf("%.100q", a.Body)
	}
	l.open = l.placing + "/" + id
	return "", ""
}

// clean cancels every order of this run that is still open, also those whose answer was lost. Its error names the pairs
// whose orders may be left, and how to cancel them.
func (m *orderMix) clean(ctx context.Context) error {
	for i, p := range m.pairs {
		err := m.cleanPair(ctx, p.code)
		if err == nil {
			continue
		}
		var left []string
		for _, p := range m.pairs[i:] {
			left = append(left, p.code)
		}
		return fmt.Errorf("orders with client ids that begin with %s may still be open on %s; a signed "+
			"DELETE /api/orders?currencyPairCode=%s cancels all orders of the key on a pair: %w", m.prefix,
			strings.Join(left, ", "), p.code, err)
	}
	return nil
}

// cleanPair cancels the orders of this run on a pair until a list of them is empty. What fails is tried again, from the
// list on: a cancel whose answer was lost may have been carried out.
func (m *orderMix) cleanPair(ctx context.Context, pair string) error {
	wait := cleanWait
	for failed := 0; ; {
		left, canceled, err := m.cancelOpen(ctx, pair)
		switch {
		case err == nil && left == 0:
			return nil
		case canceled > 0:
			failed, wait = 0, cleanWait
			continue
		case err == nil:
			err = fmt.Errorf("the exchange cancels none of %d orders on %s", left, pair)
		}
		if failed++; failed == cleanTries || !passes(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// passes reports whether what failed may succeed when it is tried again.
func passes(err error) bool {
	var api *client.APIError
	return !errors.As(err, &api) || api.Status == http.StatusTooManyRequests || api.Status >= 500
}

// cancelOpen lists the open orders of this run on a pair and cancels them. The list may be cut off, and then has more
// the next time. left counts those that were listed.
func (m *orderMix) cancelOpen(ctx context.Context, pair string) (left, canceled int, err error) {
	ctx, cancel := context.WithTimeout(ctx, cleanAnswer)
	defer cancel()
	var open []client.Order
	err = m.timely(ctx, func() (err error) {
		open, err = m.client.OpenOrders(ctx, pair)
		return err
	})
	open = slices.DeleteFunc(open, func(o client.Order) bool {
		return o.ClientOrderID == nil || !strings.HasPrefix(*o.ClientOrderID, m.prefix)
	})
	if err != nil || len(open) == 0 {
		return 0, 0, err
	}
	for some := range slices.Chunk(open, cancelsInBatch) {
		var b client.Batch
		for _, o := range some {
			b.Cancel(o.ID)
		}
		var results []client.BatchResult
		err := m.timely(ctx, func() (err error) {
			results, err = m.client.SendBatch(ctx, &b)
			return err
		})
		if err != nil {
			return len(open), canceled, err
		}
		for i := range results {
			if results[i].RejectReason == nil {
				canceled++
			}
		}
	}
	return len(open), canceled, nil
}

// maxKeyFile limits the bytes of a key file.
const maxKeyFile = 64 << 10

// Key is the key pair that signs requests. Its zero value is no key.
type Key struct {
	Public  string `json:"publicKey"`
	Private string `json:"privateKey"`
}

// ReadKeyFile returns the text of a key file.
func ReadKeyFile(file string) (raw []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err = io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(raw) > maxKeyFile {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxKeyFile)
	}
	return raw, err
}

// ReadKey reads a key file (docs/contract/configuration.md#funded-keys): one JSON object with publicKey and privateKey.
func ReadKey(file string) (k Key, err error) {
	raw, err := ReadKeyFile(file)
	if err != nil {
		return k, err
	}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&k); err != nil {
		return Key{}, fmt.Errorf("%s is no key file: %w", file, err)
	}
	if k.Public == "" || k.Private == "" {
		return Key{}, fmt.Errorf("%s is no key file: it needs publicKey and privateKey", file)
	}
	return k, nil
}
