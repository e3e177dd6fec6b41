package bench

import (
	"bytes"
	"fmt"
	"time"

	"tickhive/bench/load"
)

// Parameters of H10 (docs/internals/performance.md#h10).
const (
	ordersRound = 400 * time.Millisecond
	ordersConns = 16
	batchConns  = 4
)

// runOrders measures H10 under each sync policy (docs/internals/performance.md#h10).
func runOrders(r *Run) error {
	for _, policy := range []string{"interval", "always", "off"} {
		if err := ordersUnder(r, policy); err != nil {
			return err
		}
	}
	return nil
}

// orderBody returns the i-th order for the route of single orders. The sides alternate at one price, so every
// second order trades and the book stays small.
func orderBody(i int) []byte {
	side := "buy"
	if i%2 == 1 {
		side = "sell"
	}
	return fmt.Appendf(nil, `{"currencyPairCode":%q,"side":%q,"type":"limit","price":"65000.00","amount":"0.%08d"}`,
		pairName(0), side, 10_000+i/2)
}

func ordersUnder(r *Run, policy string) error {
	r.say("sync=%s", policy)
	p, err := r.startFilled(contents{1, 60, 10}, "journal.sync="+policy)
	if err != nil {
		return err
	}
	defer p.end()
	a, err := load.Once(p.internal, load.Post("", internalV1+"/orders", orderBody(0)))
	if err != nil || a.Status != 200 {
		return fmt.Errorf("orders: %d %.200s: %w", a.Status, a.Body, err)
	}
	constant, err := r.reference("constant", a.Body)
	if err != nil {
		return err
	}
	defer constant.Stop()
	var single []*load.Request
	for i := range 200 {
		single = append(single, load.Post("POST /orders", internalV1+"/orders", orderBody(i)))
	}
	with := fmt.Sprintf("%d connections, sync=%s, half of the orders trade", ordersConns, policy)
	rate := r.S.Rate("single order, sync="+policy, "orders/s", with).Against("constant")
	cpu := r.S.Rate("single order, orders for a second of server CPU, sync="+policy, "orders",
		with).Against("constant")
	many := r.S.Rate("batches of 1,000, sync="+policy, "orders/s",
		fmt.Sprintf("%d connections, sync=%s", batchConns, policy))
	manyCPU := r.S.Cost("batches of 1,000, CPU, sync="+policy, "us/order", many.With)
	if policy == "interval" {
		rate.Aim("H10", 0.5)
		many.Aim("H10", 300_000)
	}
	batches := batchRequests(batchSize)
	for range r.Rounds {
		own, err := side{"product " + policy, p.internal, p.CPU}.measureAll(r, "POST /orders", single, ordersConns)
		if err != nil {
			return err
		}
		ref, err := side{"constant", constant.Fields["public"], constant.CPU}.measureAll(r, "POST /orders", single,
			ordersConns)
		if err != nil {
			return err
		}
		big, err := side{"product " + policy, p.internal, p.CPU}.measureAll(r, "POST /orders/batch", batches,
			batchConns)
		if err != nil {
			return err
		}
		rate.Round(own.Rate(), ref.Rate())
		cpu.Round(1e6/own.ServerUs(), 1e6/ref.ServerUs())
		many.Round(batchSize * big.Rate())
		manyCPU.Round(big.ServerUs() / batchSize)
	}
	return nil
}

// batchRequests returns requests of so many orders each; every second order trades.
func batchRequests(size int) (out []*load.Request) {
	for b := range 4 {
		var body bytes.Buffer
		body.WriteString(`{"commands":[`)
		for i := range size {
			if i > 0 {
				body.WriteByte(',')
			}
			side := "buy"
			if i%2 == 1 {
				side = "sell"
			}
			body.Write(placeJSON(nil, pairName(0), side, mid, int64(10_000+b*size+i/2)))
		}
		body.WriteString("]}")
		out = append(out, load.Post("", internalV1+"/orders/batch", body.Bytes()))
	}
	return out
}

// measureAll runs one round with several requests.
func (s side) measureAll(r *Run, route string, requests []*load.Request, conns int) (*load.Result, error) {
	res, err := load.Closed{
		Addr: s.addr, Requests: requests, Conns: conns, Warm: httpWarm, For: r.length(ordersRound), CPU: s.cpu,
	}.Run()
	if err != nil {
		return nil, err
	}
	if res.Errors > 0 {
		return nil, fmt.Errorf("%s, %s: %s: %w", s.name, route, res.Statuses(), res.Err)
	}
	r.route(route, s.name, res)
	return res, nil
}
