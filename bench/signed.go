package bench

import (
	"encoding/json"
	"fmt"
	"net/http"

	"tickhive/bench/load"
	"tickhive/client"
)

// Parameters of O1 (docs/internals/performance.md#o1).
const (
	signedConns = 64
	signedUsers = 16 // a key may use 100,000 nonces in two minutes
)

// runSigned measures O1: the CPU of a signed order, which rests or trades, against the GET of a ticker.
func runSigned(r *Run) error {
	r.say("signed orders")
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
	ticker := []*load.Request{load.Get("GET /tickers", "/api/tickers?currencyPairCode="+pairName(0))}
	with := fmt.Sprintf("%d connections, sync=interval", signedConns)
	for _, x := range []struct {
		name, price string
		target      float64
	}{
		{"signed order that rests, CPU", "60000.00", 2},
		{"signed order that trades, CPU", "64999.99", 2.4},
	} {
		m := r.S.Cost(x.name, "us", with).Against("ticker").Aim("O1", x.target)
		orders, err := signedOrders(users, x.price)
		if err != nil {
			return err
		}
		for range r.cpuRounds() {
			own, err := side{"product", p.public, p.CPU}.measureAll(r, "POST /api/orders", orders, signedConns)
			if err != nil {
				return err
			}
			ref, err := side{"product", p.public, p.CPU}.measureAll(r, "GET /tickers", ticker, signedConns)
			if err != nil {
				return err
			}
			m.Round(own.ServerUs(), ref.ServerUs())
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
