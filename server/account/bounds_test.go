package account_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/server/servertest"
)

// within checks that the totals add up, and with big integers that there is as much as was put in.
func within(h *servertest.Exchange) {
	h.T.Helper()
	h.CheckTotals()
	for _, v := range h.State.Shown().Totals() {
		in := bigMoney(v.Free)
		in.Add(in, bigMoney(v.Held)).Add(in, bigMoney(v.Fees))
		if out := bigMoney(v.Deposited); in.Cmp(out.Sub(out, bigMoney(v.Withdrawn))) != 0 {
			h.T.Fatalf("%s: %s there, %s put in", v.CurrencyCode, in, out)
		}
	}
}

func bigMoney(v fixed.I192) *big.Int {
	text := strings.Replace(string(fixed.AppendI192(nil, v, fixed.Scale)), ".", "", 1)
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic(text)
	}
	return n
}

type orderResults struct {
	Results []struct{ Status, RejectReason, FilledAmount any }
}

// Random legal batches near every bound: prices, amounts and totals of orders, fees of everything, units of 10^-18,
// accounts that may go below zero, uplines, replaces, stops, self-trade prevention. Nothing panics, and the totals add
// up after each request.
func TestRandomBatchesNearTheBounds(t *testing.T) {
	requests := 1_500
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 3))
	h := servertest.NewExchange(t)
	type market struct {
		code           string
		digits, amount int
	}
	pairs := []market{{"AA_USDT", 2, 2}, {"BB_USDT", 0, 0}, {"CC_USDT", 18, 0}, {"DD_USDT", 0, 18}, {"AA_BB", 4, 4}}
	h.MustInternal("POST", "/assets", `{"symbol":"USDT","digits":18}`)
	for i, p := range pairs {
		h.MustInternal("POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":%d,"digitsAmount":%d,"takerFee":%q,`+
			`"makerFee":%q,"maxPrice":%s,"maxAmount":%s}`,
			p.code, p.digits, p.amount, []string{"0.001", "1"}[i%2], []string{"0", "1", "0.001"}[i%3],
			fixed.AppendI64(nil, math.MaxInt64, p.digits), fixed.AppendI64(nil, math.MaxInt64, p.amount)))
	}
	var users []*servertest.Keys
	for i := range 6 {
		u := h.User(fmt.Sprintf(`"nickname":"user%d","unlimited":%t`, i, i >= 4))
		users = append(users, u)
		for _, c := range []string{"USDT", "AA", "BB", "CC", "DD"} {
			h.Deposit(u, c, []string{"1000", "1000000000000000000", "1000000000000"}[rng.IntN(3)])
		}
		if i > 0 && i%2 == 0 {
			join(u, inviteCode(users[i-1]))
		}
	}
	number := func(digits int) string {
		switch x := rng.IntN(10); {
		case x < 4:
			return fmt.Sprint(1 + rng.IntN(200))
		case x < 8 || digits == 0:
			return fmt.Sprintf("%d%s", 1+rng.IntN(9), strings.Repeat("0", rng.IntN(20)))
		}
		return fmt.Sprintf("0.%s%d", strings.Repeat("0", rng.IntN(digits)), 1+rng.IntN(9))
	}
	place := func() string {
		p := pairs[rng.IntN(len(pairs))]
		side := []string{"buy", "sell"}[rng.IntN(2)]
		typ := []string{"limit", "limit", "limit", "market", "stop_limit", "stop_market"}[rng.IntN(6)]
		o := fmt.Sprintf(`{"currencyPairCode":%q,"side":%q,"type":%q,"selfTradePrevention":%q`, p.code, side, typ,
			[]string{"none", "cancel_taker", "cancel_maker", "cancel_both", "decrement"}[rng.IntN(5)])
		if strings.HasSuffix(typ, "market") && side == "buy" && rng.IntN(2) == 0 {
			o += fmt.Sprintf(`,"quoteAmount":%q`, number(p.digits+p.amount))
		} else {
			o += fmt.Sprintf(`,"amount":%q`, number(p.amount))
		}
		if strings.HasSuffix(typ, "limit") {
			o += fmt.Sprintf(`,"price":%q`, number(p.digits))
		}
		if strings.HasPrefix(typ, "stop") {
			o += fmt.Sprintf(`,"stopPrice":%q`, number(p.digits))
		}
		if typ == "limit" && rng.IntN(4) == 0 {
			o += fmt.Sprintf(`,"timeInForce":%q`, []string{"ioc", "fok"}[rng.IntN(2)])
		}
		if rng.IntN(4) > 0 {
			o += fmt.Sprintf(`,"accountId":%q`, users[rng.IntN(len(users))].ID)
		}
		return `{"place":` + o + `}}`
	}
	seen := map[string]int{}
	for range requests {
		var cmds []string
		for range 1 + rng.IntN(12) {
			switch id := rng.IntN(400) + rng.IntN(len(pairs))<<36; rng.IntN(8) {
			case 0:
				cmds = append(cmds, fmt.Sprintf(`{"replace":{"orderId":%d,"price":%q,"amount":%q}}`,
					id, number(0), number(0)))
			case 1:
				cmds = append(cmds, fmt.Sprintf(`{"cancel":{"orderId":%d}}`, id))
			default:
				cmds = append(cmds, place())
			}
		}
		a := h.CallInternal("POST", "/orders/batch", `{"commands":[`+strings.Join(cmds, ",")+`]}`)
		if a.Status == 200 {
			var w orderResults
			servertest.Parse(t, a.Body, &w)
			for _, r := range w.Results {
				if r.RejectReason != nil {
					seen[fmt.Sprint(r.RejectReason)]++
				} else {
					seen[fmt.Sprint(r.Status)]++
				}
			}
		} else if a.Status != 400 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		u := users[rng.IntN(len(users))]
		way, currency := []string{"deposits", "withdrawals"}[rng.IntN(2)], []string{
			"USDT", "AA",
			"BB", "CC", "DD",
		}[rng.IntN(5)]
		if rng.IntN(3) == 0 {
			h.CallInternal("POST", "/users/"+u.ID+"/"+way,
				fmt.Sprintf(`{"currencyCode":%q,"amount":%q}`, currency, number(2)))
		}
		within(h)
	}
	t.Logf("seed %d: %v", seed, seen)
	for _, want := range []string{
		"Created", "Completed", "Canceled", "PartiallyExecutedAndCanceled",
		"total_out_of_range", "insufficient_funds",
	} {
		if seen[want] < 50 {
			t.Errorf("%d orders were %s", seen[want], want)
		}
	}
}
