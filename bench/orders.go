package bench

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/client"
)

// Parameters of H10 and O1 (docs/internals/performance.md#h10).
const (
	ordersConns = 16
	batchConns  = 4
	signedConns = 64
	signedUsers = 16 // a key may use 100,000 nonces in two minutes
)

// runOrders measures H10: orders of the internal API under sync=interval, one in a request and a thousand.
func runOrders(r *Run) error {
	p, err := r.startFilled(contents{1, 60, 10}, "journal.sync=interval")
	if err != nil {
		return err
	}
	defer p.end()
	a, err := load.Once(p.internal, load.Post("", internalV1+"/orders", orderBody(0, pairName(0))))
	if err != nil || a.Status != 200 {
		return fmt.Errorf("orders: %d %.200s: %w", a.Status, a.Body, err)
	}
	constant, stop, err := r.constant(a.Body)
	if err != nil {
		return err
	}
	defer stop()
	product := side{"product", p.internal, p.CPU}
	single, thousands := singleOrders(pairName(0)), batchRequests(batchSize)
	one := func(s side, rate, perCPU string) turn {
		return func(f figures) error {
			res, err := s.measure(r, "POST /orders", ordersConns, single...)
			if err == nil {
				f[rate], f[perCPU] = res.Rate(), 1e6/res.ServerUs()
			}
			return err
		}
	}
	return r.rounds("orders", r.Rounds,
		one(product, "single order, sync=interval", "single order, orders for a second of server CPU, sync=interval"),
		one(constant, "constant", "constant, CPU"),
		func(f figures) error {
			res, err := product.measure(r, "POST /orders/batch", batchConns, thousands...)
			if err == nil {
				f["batches of 1,000, sync=interval"] = batchSize * res.Rate()
				f["batches of 1,000, CPU, sync=interval"] = res.ServerUs() / batchSize
			}
			return err
		})
}

// orderBody returns the i-th order for the route of single orders. The sides alternate at one price, so every second
// order trades and the books stay small.
func orderBody(i int, pairs ...string) []byte {
	return fmt.Appendf(nil, `{"currencyPairCode":%q,"side":%q,"type":"limit","price":"65000.00","amount":"0.%08d"}`,
		pairs[i/2%len(pairs)], [...]string{"buy", "sell"}[i%2], 10_000+i/2)
}

// singleOrders returns requests of one order each.
func singleOrders(pairs ...string) (out []*load.Request) {
	for i := range 200 {
		out = append(out, load.Post("POST /orders", internalV1+"/orders", orderBody(i, pairs...)))
	}
	return out
}

// batches returns n requests of size orders each, which alternate as in orderBody.
func batches(n, size int, pairs ...string) (out []*load.Request) {
	for b := range n {
		body := []byte(`{"commands":[`)
		for k := range size {
			if k > 0 {
				body = append(body, ',')
			}
			i := b*size + k
			body = placeJSON(body, pairs[(i/2*7)%len(pairs)], [...]string{"buy", "sell"}[i%2], mid, 10_000+int64(i/2))
		}
		out = append(out, load.Post("", internalV1+"/orders/batch", append(body, "]}"...)))
	}
	return out
}

// batchRequests returns requests of size orders of the first pair each.
func batchRequests(size int) []*load.Request { return batches(4, size, pairName(0)) }

// runSigned measures O1: the CPU of a signed order, which rests or trades, against the GET of a ticker.
func runSigned(r *Run) error {
	p, err := r.startFilled(contents{1, 60, 10}, "journal.sync=interval")
	if err != nil {
		return err
	}
	defer p.end()
	b := &orderBatch{p: p} // an ask below the others from which every order that trades takes
	if err := b.place(pairName(0), "sell", mid-1, 9e17); err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	users := make([]*client.Client, signedUsers)
	for i := range users {
		if users[i], err = p.user(); err != nil {
			return err
		}
	}
	ticker := load.Get("GET /tickers", "/api/tickers?currencyPairCode="+pairName(0))
	s := side{"product", p.public, p.CPU}
	for _, x := range []struct{ name, price string }{
		{"signed order that rests, CPU", "60000.00"}, {"signed order that trades, CPU", "64999.99"},
	} {
		orders, err := signedOrders(users, x.price)
		if err != nil {
			return err
		}
		err = r.rounds(x.name, r.cpuRounds(), s.us(r, x.name, "POST /api/orders", signedConns, orders...),
			s.us(r, "ticker", "GET /tickers", signedConns, ticker))
		if err != nil {
			return err
		}
	}
	return nil
}

// user adds a user with money and returns a client with a key of it.
func (p *product) user() (*client.Client, error) {
	var user struct {
		ID string `json:"id"`
	}
	if err := p.post("/users", struct{}{}, &user); err != nil {
		return nil, err
	}
	deposit := map[string]string{"currencyCode": "USDT", "amount": "1000000000"}
	if err := p.post("/users/"+user.ID+"/deposits", deposit, nil); err != nil {
		return nil, err
	}
	var key struct {
		Public  string `json:"publicKey"`
		Private string `json:"privateKey"`
	}
	if err := p.post("/users/"+user.ID+"/apikeys", map[string]string{"name": "bench"}, &key); err != nil {
		return nil, err
	}
	return &client.Client{PublicKey: key.Public, PrivateKey: key.Private}, nil
}

// post sends a body to the internal API and decodes the answer into out, unless that is nil.
func (p *product) post(path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	a, err := load.Once(p.internal, load.Post("", internalV1+path, text))
	switch {
	case err != nil:
		return err
	case a.Status != http.StatusOK:
		return fmt.Errorf("%s answers %d: %.200s", path, a.Status, a.Body)
	case out == nil:
		return nil
	}
	return json.Unmarshal(a.Body, out)
}

// signedOrders returns a request of each user that buys a little at a price, signed when it is sent.
func signedOrders(users []*client.Client, price string) (out []*load.Request, err error) {
	const target = "/api/orders"
	body, err := json.Marshal(client.OrderRequest{
		Pair: pairName(0), Side: "buy", Amount: "0.00010000", Price: client.Decimal(price),
	})
	for _, u := range users {
		out = append(out, &load.Request{Name: "POST /api/orders", Make: func(dst []byte) []byte {
			c, err := u.Credentials(http.MethodPost, target, body)
			if err != nil {
				panic("BUG: " + err.Error()) // only a key in PEM can be wrong
			}
			return fmt.Appendf(dst, "POST %s HTTP/1.1\r\nHost: localhost\r\nAPI-PublicKey: %s\r\nAPI-Timestamp: %s\r\n"+
				"API-Nonce: %s\r\nAPI-Signature: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				target, c.PublicKey, c.Timestamp, c.Nonce, c.Signature, len(body), body)
		}})
	}
	return out, err
}
