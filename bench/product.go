package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/bench/report"
)

// Paths of the contract.
const (
	aggregator = "/api/marketdata/getaggregator"
	internalV1 = "/internal/v1"
)

// product is a running `tickhive serve` with its own data directory. All settings are defaults except the
// limits per address, because all load comes from one address.
type product struct {
	*proc.Child
	public, internal string // addresses
	dir              string
	admin            *load.Conn // connection to the internal listener; nil: none yet
}

// startProduct starts serve without a simulated market. set contains further settings as KEY=VALUE.
func (r *Run) startProduct(set ...string) (*product, error) {
	dir, err := r.temp("serve")
	if err != nil {
		return nil, err
	}
	p, err := r.serve(dir, set...)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// contents says what an exchange is filled with: pairs, with levels on each side and trades.
type contents struct{ pairs, levels, trades int }

// startFilled calls startProduct and fills the exchange.
func (r *Run) startFilled(c contents, set ...string) (*product, error) {
	p, err := r.startProduct(set...)
	if err != nil {
		return nil, err
	}
	if err := p.fillPairs(c); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// fillPairs adds pairs and fills them.
func (p *product) fillPairs(c contents) error {
	return errors.Join(p.addPairs(0, c.pairs), p.fill(0, c.pairs, c.levels, c.trades))
}

// serve runs serve without a simulated market on a data directory below dir, and waits until it is
// ready.
func (r *Run) serve(dir string, set ...string) (*product, error) {
	return r.start(dir, []string{
		"serve", "--sim", "off", "--pairs", "none", "--data-dir", filepath.Join(dir, "data"),
	}, set...)
}

// start runs a command of the exchange that serves, and waits until it is ready. dir is removed by end.
func (r *Run) start(dir string, command []string, set ...string) (*product, error) {
	args := append(command, "--quiet", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0",
		"--set", "log.level=warn", "--set", "rate.allow=127.0.0.0/8", "--set", "server.connections_per_ip=-1",
		"--set", "server.connections=65536")
	for _, s := range set {
		args = append(args, "--set", s)
	}
	c, err := proc.Start(nil, r.Product, args...)
	if err != nil {
		return nil, err
	}
	return &product{Child: c, public: c.Fields["public"], internal: c.Fields["internal"], dir: dir}, nil
}

// hangUp closes the connection to the internal listener. The next request opens another one.
func (p *product) hangUp() {
	if p.admin != nil {
		p.admin.Close()
		p.admin = nil
	}
}

// end stops the product and removes its files.
func (p *product) end() {
	p.hangUp()
	p.Stop()
	_ = os.RemoveAll(p.dir)
}

// ask sends a request to the internal API; a status other than 200 is an error.
func (p *product) ask(req *load.Request) (err error) {
	if p.admin == nil {
		if p.admin, err = load.Dial(p.internal); err != nil {
			return err
		}
	}
	if err := p.admin.Send(req.Bytes(nil, nil)); err != nil {
		return err
	}
	var a load.Answer
	if err := p.admin.Read(&a); err != nil {
		return err
	}
	if a.Status != 200 {
		return fmt.Errorf("the internal API answers %d: %.200s", a.Status, a.Body)
	}
	return nil
}

// pairName returns the code of the i-th generated pair.
func pairName(i int) string { return fmt.Sprintf("P%04d_USDT", i) }

// addPairs adds n pairs with two decimals of price and eight of amount.
func (p *product) addPairs(from, n int) error {
	for i := from; i < from+n; i++ {
		body := fmt.Appendf(nil, `{"code":%q,"digitsPrice":2,"digitsAmount":8}`, pairName(i))
		if err := p.ask(load.Post("", internalV1+"/pairs", body)); err != nil {
			return err
		}
	}
	return nil
}

// orderBatch collects commands and sends them to the internal API, a thousand in a request.
type orderBatch struct {
	p   *product
	buf bytes.Buffer
	n   int
}

// batchSize is the largest number of commands in one request.
const batchSize = 1000

func (b *orderBatch) place(pair, side string, price, amount int64) error {
	if b.n > 0 {
		b.buf.WriteByte(',')
	}
	b.buf.Write(placeJSON(nil, pair, side, price, amount))
	if b.n++; b.n == batchSize {
		return b.flush()
	}
	return nil
}

// placeJSON appends one place command of a batch. price is in hundredths, amount in 10^-8.
func placeJSON(dst []byte, pair, side string, price, amount int64) []byte {
	return fmt.Appendf(dst, `{"place":{"currencyPairCode":%q,"side":%q,"type":"limit","price":"%d.%02d",`+
		`"amount":"%d.%08d"}}`,
		pair, side, price/100, price%100, amount/1e8, amount%1e8)
}

func (b *orderBatch) flush() error {
	if b.n == 0 {
		return nil
	}
	body := fmt.Appendf(nil, `{"commands":[%s]}`, b.buf.Bytes())
	b.buf.Reset()
	b.n = 0
	return b.p.ask(load.Post("", internalV1+"/orders/batch", body))
}

// mid is the mid price of every generated pair, in hundredths.
const mid = 6_500_000

// fill places orders on both sides of the pairs and makes trades.
func (p *product) fill(from, n, levels, trades int) error {
	b := &orderBatch{p: p}
	for i := from; i < from+n; i++ {
		for k := range int64(levels) {
			if err := errors.Join(
				b.place(pairName(i), "buy", mid-k, (k+1)*12_345_678),
				b.place(pairName(i), "sell", mid+1+k, (k+1)*54_321_012)); err != nil {
				return err
			}
		}
		for k := range int64(trades) {
			side, price := "buy", int64(mid+1)
			if k%2 == 1 {
				side, price = "sell", mid
			}
			if err := b.place(pairName(i), side, price, 100_000+k); err != nil {
				return err
			}
		}
	}
	return b.flush()
}

// body requests a public document until the status is 200 and checks that the document is JSON.
func (p *product) body(target string) ([]byte, error) {
	a, err := load.Once(p.public, load.Get("", target))
	if err != nil {
		return nil, err
	}
	if a.Status != 200 || !json.Valid(a.Body) {
		return nil, fmt.Errorf("GET %s: %d %.200s", target, a.Status, a.Body)
	}
	return a.Body, nil
}

// child starts the process at the other end of a measurement (Child).
func (r *Run) child(name string, args ...string) (*proc.Child, error) {
	return proc.Start(nil, r.Program, append([]string{"child", name}, args...)...)
}

// constant starts the reference of the HTTP goals: the product's server, which answers these bytes to every request. It
// checks that it does.
func (r *Run) constant(body []byte) (s side, stop func(), err error) {
	file := filepath.Join(r.Dir, "constant-"+strconv.FormatInt(time.Now().UnixNano(), 36)+".body")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return s, nil, fmt.Errorf("bench: %w", err)
	}
	defer func() { _ = os.Remove(file) }()
	c, err := r.child("constant", file)
	if err != nil {
		return s, nil, err
	}
	a, err := load.Once(c.Fields["public"], load.Get("", "/"))
	if err == nil && !bytes.Equal(a.Body, body) {
		err = errors.New("bench: the reference does not answer the bytes of the product")
	}
	if err != nil {
		c.Stop()
		return s, nil, err
	}
	return side{"constant", c.Fields["public"], c.CPU}, c.Stop, nil
}

// side is one of the servers that are compared.
type side struct {
	name string
	addr string
	cpu  func() time.Duration
}

// Lengths of one round over HTTP.
const (
	httpRound = 400 * time.Millisecond
	httpWarm  = 40 * time.Millisecond
	httpConns = 16
)

// measure sends requests in a closed loop for one round and adds the result to the table of routes.
func (s side) measure(r *Run, route string, conns int, requests ...*load.Request) (*load.Result, error) {
	res, err := load.Loop{
		Addr: s.addr, Requests: requests, Workers: conns, Warm: httpWarm, For: r.length(httpRound), CPU: s.cpu,
	}.Run()
	if err != nil {
		return nil, err
	}
	if res.Errors > 0 {
		return nil, fmt.Errorf("%s, %s: %d errors: %s %w", s.name, route, res.Errors, res.Statuses(), res.Err)
	}
	r.route(route, s.name, res)
	return res, nil
}

// us measures the server's CPU an answer, in us.
func (s side) us(r *Run, figure, route string, conns int, requests ...*load.Request) turn {
	return func(f figures) error {
		res, err := s.measure(r, route, conns, requests...)
		if err == nil {
			f[figure] = res.ServerUs()
		}
		return err
	}
}

// route keeps the best round of a server at a route for the table.
func (r *Run) route(name, server string, res *load.Result) {
	row := report.Route{
		Name: name, Server: server, Bytes: res.Bytes / max(res.Answers, 1), Rate: res.Rate(),
		CPU: res.ServerUs(), Client: res.ClientUs(), Statuses: res.Statuses(),
	}
	for i := range r.S.Routes {
		x := &r.S.Routes[i]
		if x.Name == name && x.Server == server {
			x.Rate, x.CPU, x.Client = max(x.Rate, row.Rate), min(x.CPU, row.CPU), min(x.Client, row.Client)
			return
		}
	}
	r.S.Routes = append(r.S.Routes, row)
}
