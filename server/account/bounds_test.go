package account_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"tickhive/accounts"
	"tickhive/internal/fixed"
	"tickhive/server/servertest"
)

// bounded is a test exchange with a pair of two price and two amount digits, and its users.
func bounded(t *testing.T) *servertest.Exchange {
	h := servertest.NewExchange(t)
	h.MustInternal("POST", "/pairs", `{"code":"AA_USDT","digitsPrice":2,"digitsAmount":2}`)
	return h
}

// within checks with big integers that no user's balance is beyond 10^20 and that the totals add
// up.
func within(h *servertest.Exchange, users ...*servertest.Keys) {
	h.T.Helper()
	h.CheckTotals()
	for _, k := range users {
		for _, b := range h.State.Shown().Balances(uint32(accountOf(h, k))) {
			if b.Total.CmpTerm(accounts.MaxMoney) > 0 {
				h.T.Fatalf("user %s has %s %s", k.ID, bigMoney(b.Total), b.CurrencyCode)
			}
		}
	}
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

func limitOrder(side, price, amount, account string) string {
	if account != "" {
		account = fmt.Sprintf(`,"accountId":%q`, account)
	}
	return fmt.Sprintf(`{"currencyPairCode":"AA_USDT","side":%q,"type":"limit","price":%q,"amount":%q%s}`,
		side, price, amount, account)
}

type orderResults struct {
	Results []struct{ Status, RejectReason, FilledAmount any }
}

// A sell trades with a bid of its own batch, which was unknown when the room for the sell was
// reserved. The sell brings no more than the reserved room, and its remainder is canceled.
func TestASellBringsNoMoreThanItWasLetInFor(t *testing.T) {
	h := bounded(t)
	u := h.User("")
	h.Deposit(u, "USDT", "99000000000000000000")
	h.Deposit(u, "AA", "1000")
	a := h.CallInternal("POST", "/orders/batch", `{"commands":[{"place":`+limitOrder("buy", "90000000000000000",
		"1000", "")+`},{"place":`+
		limitOrder("sell", "500000000000000", "1000", u.ID)+`}]}`)
	var w orderResults
	servertest.Parse(t, a.Body, &w)
	// The reserved room is 5e17, which is 5.55 at 9e16; the remainder would exceed it.
	if a.Status != 200 || len(w.Results) != 2 || w.Results[1].Status != "PartiallyExecutedAndCanceled" ||
		fmt.Sprint(w.Results[1].FilledAmount) != "5.55" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	within(h, u)
	// The balance holds the exact money of the fill. No hold and no reserved room of the order
	// is left: the rest of the room is free again.
	usdt := h.State.Shown().Balance(uint32(accountOf(h, u)), "USDT")
	room := new(big.Int).Sub(bigMoney(accounts.MaxMoney.Wide()), bigMoney(usdt.Total))
	if room.Sign() <= 0 || usdt.Held.Sign() != 0 {
		t.Fatalf("room for %s, %s held", room, bigMoney(usdt.Held))
	}
	deposit := func(n *big.Int) int {
		text := fmt.Sprintf("%s.%018d", new(big.Int).Quo(n, big.NewInt(1e18)), new(big.Int).Rem(n, big.NewInt(1e18)))
		return h.CallInternal("POST", "/users/"+u.ID+"/deposits",
			fmt.Sprintf(`{"currencyCode":"USDT","amount":%q}`, text)).Status
	}
	if more := new(big.Int).Add(room, big.NewInt(1)); deposit(more) != 400 {
		t.Error("a deposit beyond the room is taken")
	}
}

// A waiting stop keeps its room until it ends: neither a deposit nor another order uses it, and
// when the stop triggers it brings no more than the room.
func TestAWaitingStopKeepsItsRoom(t *testing.T) {
	h := bounded(t)
	u := h.User("")
	h.Deposit(u, "USDT", "40000000000000000000")
	h.Deposit(u, "AA", "2000")
	stop := func(price, amount string) servertest.Answer {
		return h.CallInternal("POST", "/orders",
			fmt.Sprintf(`{"currencyPairCode":"AA_USDT","side":"sell","type":"stop_market","amount":%q,"stopPrice":%q,`+
				`"accountId":%q}`,
				amount, price, u.ID))
	}
	if a := stop("91000000000000000", "1000"); a.Status != 200 || !strings.Contains(a.Body, "total_out_of_range") {
		t.Fatalf("a stop of 9.1e19 beside 4e19: %d %s", a.Status, a.Body)
	}
	if a := stop("50000000000000000", "1000"); !strings.Contains(a.Body, `"status":"Created"`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := h.CallInternal("POST", "/users/"+u.ID+"/deposits",
		`{"currencyCode":"USDT","amount":"20000000000000000000"}`); a.Status != 400 {
		t.Errorf("a deposit into the stop's room: %d %s", a.Status, a.Body)
	}
	if a := h.CallInternal("POST", "/orders", limitOrder("sell", "20000000000000000", "1000",
		u.ID)); !strings.Contains(a.Body, "total_out_of_range") {
		t.Errorf("an order into the stop's room: %d %s", a.Status, a.Body)
	}
	h.MustInternal("POST", "/orders", limitOrder("buy", "50000000000000000", "1000.01", ""))
	h.MustInternal("POST", "/orders", limitOrder("sell", "50000000000000000", "0.01", ""))
	within(h, u)
	// 0.1 % is the fee
	if b := h.State.Shown().Balance(uint32(accountOf(h, u)), "USDT"); b.Total != servertest.Money(t,
		"89950000000000000000").Wide() {
		t.Errorf("the stop brought it to %s", bigMoney(b.Total))
	}
	if a := h.CallInternal("POST", "/users/"+u.ID+"/deposits",
		`{"currencyCode":"USDT","amount":"5000000000000000000"}`); a.Status != 200 {
		t.Errorf("a deposit when the stop has ended: %d %s", a.Status, a.Body)
	}
}

// Random legal batches near every bound: balances, amounts and fees near 10^20, accounts that
// may go below zero, uplines, replaces, stops, self-trade prevention. Nothing panics, no balance
// exceeds 10^20, and the totals add up after each request.
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
	for i, p := range pairs {
		h.MustInternal("POST", "/pairs",
			fmt.Sprintf(`{"code":%q,"digitsPrice":%d,"digitsAmount":%d,"takerFee":%q,"makerFee":%q}`,
				p.code, p.digits, p.amount, []string{"0.001", "1"}[i%2], []string{"0", "1", "0.001"}[i%3]))
	}
	var users []*servertest.Keys
	for i := range 6 {
		u := h.User(fmt.Sprintf(`"nickname":"user%d","unlimited":%t`, i, i >= 4))
		users = append(users, u)
		for _, c := range []string{"USDT", "AA", "BB", "CC", "DD"} {
			h.Deposit(u, c, []string{"1000", "16000000000000000000", "1000000000000"}[rng.IntN(3)])
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
		if strings.HasSuffix(typ, "market") && side == "buy" {
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
		within(h, users...)
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

// Concurrent orders, batches and deposits of one user near the bound: each request reserves its
// room, so in no interleaving does a balance exceed 10^20.
func TestRequestsAtOnceStayWithinTheBound(t *testing.T) {
	h := bounded(t)
	u := h.User("")
	h.Deposit(u, "USDT", "90000000000000000000")
	h.Deposit(u, "AA", "9000000")
	var wg sync.WaitGroup
	for n := range uint64(6) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(n, 9))
			for range 60 {
				price := fmt.Sprint(1+rng.IntN(9), "0000000000000")
				own, other := limitOrder("sell", price, fmt.Sprint(1+rng.IntN(9000)), u.ID), limitOrder("buy", price,
					fmt.Sprint(1+rng.IntN(9000)), "")
				switch rng.IntN(5) {
				case 0:
					h.CallInternal("POST", "/users/"+u.ID+"/deposits",
						`{"currencyCode":"USDT","amount":"300000000000000000"}`)
				case 1:
					h.CallInternal("POST", "/users/"+u.ID+"/withdrawals",
						`{"currencyCode":"USDT","amount":"20000000000000000"}`)
				case 2:
					own = strings.Replace(own, `"limit"`, `"stop_limit","stopPrice":`+price, 1)
					h.CallInternal("POST", "/orders", own)
				default:
					h.CallInternal("POST", "/orders/batch", `{"commands":[{"place":`+other+`},{"place":`+own+`}]}`)
				}
				b := h.State.Shown().Balance(uint32(accountOf(h, u)), "USDT")
				if b.Total.CmpTerm(accounts.MaxMoney) > 0 {
					t.Errorf("%s", bigMoney(b.Total))
					return
				}
			}
		})
	}
	wg.Wait()
	within(h, u)
	if b := h.State.Shown().Balance(uint32(accountOf(h, u)),
		"USDT"); bigMoney(b.Total).Cmp(bigMoney(servertest.Money(t, "98000000000000000000").Wide())) < 0 {
		t.Errorf("%s is not near the bound", bigMoney(b.Total))
	}
}
