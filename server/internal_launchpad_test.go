package server_test

import (
	"fmt"
	"testing"
)

func TestInternalLaunchpadRefuses(t *testing.T) {
	c := freed(t)
	c.token(1, "AAA")
	c.token(2, "BBB")
	c.fund(1, 0, 100)
	c.call("/launchpad/tokens/10002/liquidity", fmt.Sprintf(`{"userId":%q,"tokenAmount":1,"quoteAmount":1}`, c.rich(2)))
	one, nobody := userUUID(1), userUUID(maxUser+1)
	body := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	for _, row := range []struct {
		path, body  string
		status      int
		code, field string
	}{
		{"tokens", `{"name":"A","symbol":"CCC"}`, 400, "INVALID_PARAM", "userId"},
		{"tokens", `{"userId":"7","name":"A","symbol":"CCC"}`, 400, "INVALID_PARAM", "userId"},
		{"tokens", body(`{"userId":%q,"symbol":"CCC"}`, nobody), 400, "INVALID_PARAM", "name"},
		{"tokens", body(`{"userId":%q,"name":"A","symbol":"CCC"}`, nobody), 404, "NOT_FOUND", "userId"},
		{"tokens", body(`{"userId":"00000000-0000-0000-0000-000000000000","name":"A","symbol":"CCC"}`), 404, "NOT_FOUND", "userId"},
		{"tokens", body(`{"userId":%q,"name":"A","symbol":"AAA"}`, one), 400, "SYMBOL_TAKEN", "symbol"},
		{"tokens", body(`{"userId":%q,"name":"A","symbol":"CCC"}`, one), 400, "COOLDOWN_ACTIVE", ""},
		{"tokens", body(`{"userId":%q,"name":"A","symbol":"CCC"}`, userUUID(3)), 402, "INSUFFICIENT_FEE", ""},
		{"tokens/10001/liquidity", `{"tokenAmount":1,"quoteAmount":1}`, 400, "INVALID_PARAM", "userId"},
		{"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":0,"quoteAmount":1}`, one), 400, "INVALID_PARAM", "tokenAmount"},
		{"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1e3,"quoteAmount":1}`, one), 400, "INVALID_PARAM", "tokenAmount"},
		{"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":"1.0000000000000000001","quoteAmount":1}`, one), 400, "INVALID_PARAM", "tokenAmount"},
		{"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1,"quoteAmount":-1}`, one), 400, "INVALID_PARAM", "quoteAmount"},
		{"tokens/10009/liquidity", body(`{"userId":%q,"tokenAmount":1,"quoteAmount":1}`, one), 404, "NOT_FOUND", "id"},
		{"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1,"quoteAmount":1}`, nobody), 404, "NOT_FOUND", "userId"},
		{"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1,"quoteAmount":101}`, one), 400, "INSUFFICIENT_FUNDS", "quoteAmount"},
		{"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1000000001,"quoteAmount":1}`, one), 400, "INSUFFICIENT_FUNDS", "tokenAmount"},
		{"tokens/10001/swaps", body(`{"userId":%q,"side":"hold","amountIn":1}`, one), 400, "INVALID_PARAM", "side"},
		{"tokens/10001/swaps", body(`{"userId":%q,"side":"buy"}`, one), 400, "INVALID_PARAM", "amountIn"},
		{"tokens/10001/swaps", body(`{"userId":%q,"side":"buy","amountIn":1,"minOut":[]}`, one), 400, "INVALID_PARAM", "minOut"},
		{"tokens/10001/swaps", body(`{"userId":%q,"side":"buy","amountIn":1}`, one), 409, "CONFLICT", ""},
		{"tokens/10002/swaps", body(`{"userId":%q,"side":"buy","amountIn":1000}`, one), 400, "INSUFFICIENT_FUNDS", "amountIn"},
		{"tokens/10002/swaps", body(`{"userId":%q,"side":"sell","amountIn":1}`, one), 400, "INSUFFICIENT_FUNDS", "amountIn"},
		{"tokens/10002/swaps", body(`{"userId":%q,"side":"buy","amountIn":1,"minOut":"1"}`, one), 409, "CONFLICT", "minOut"},
		{"tokens/10001/transfers", body(`{"fromUserId":%q,"amount":1}`, one), 400, "INVALID_PARAM", "toUserId"},
		{"tokens/10001/transfers", body(`{"fromUserId":%q,"toUserId":%q}`, one, one), 400, "INVALID_PARAM", "amount"},
		{"tokens/10001/transfers", body(`{"fromUserId":%q,"toUserId":%q,"amount":1}`, one, nobody), 404, "NOT_FOUND", "toUserId"},
		{"tokens/10001/transfers", body(`{"fromUserId":%q,"toUserId":%q,"amount":"1000000000.1"}`, one, userUUID(2)), 400, "INSUFFICIENT_FUNDS", "amount"},
		{"tokens/10009/boosts", `{"tier":"long"}`, 400, "INVALID_PARAM", "tier"},
		{"tokens/10009/boosts", `{"tier":"short"}`, 404, "NOT_FOUND", "id"},
	} {
		t.Run(row.path+row.body, func(t *testing.T) {
			c.refused(c.inner("POST", "/launchpad/"+row.path, row.body), row.status, row.code, row.field)
		})
	}
}

// rich deposits USBI for a user and returns the user's id.
func (c *colony) rich(n int) string {
	c.fund(n, 0, 1_000)
	return userUUID(n)
}

// in' = 10 - ceil(10 x 1%), out = floor(1000 x 9.9 / (100 + 9.9)).
func TestASwapIsThePoolsFormula(t *testing.T) {
	c := freed(t)
	id := c.token(1, "AAA")
	user := c.rich(1)
	p := c.call("/launchpad/tokens/"+id+"/liquidity", fmt.Sprintf(`{"userId":%q,"tokenAmount":"1000","quoteAmount":100.0}`, user))
	if at(p, "price") != "0.1" || at(p, "tvl") != "200.00" {
		t.Errorf("pool %v", p)
	}
	a := c.inner("POST", "/launchpad/tokens/"+id+"/swaps", fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":10,"minOut":"90.08189262966333"}`, user))
	s := c.must(a)
	for path, want := range map[string]string{
		"amountIn": "10.0", "amountOut": "90.081892629663330300", "blockNumber": "1",
		"pool.reserveQuote": "110.0", "pool.reserveToken": "909.9181073703366697", "pool.volume24h": "10.00", "pool.tvl": "220.00",
	} {
		if got := at(s, path); got != want && got+"00" != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	d := c.must(c.get("/api/launchpad/tokens/" + id))
	if at(d, "pool.lastTradeAt") != fmt.Sprint(startNs/secondNs) || at(d, "worker.status") != "active" {
		t.Errorf("after a swap: %v", d)
	}
	// Later liquidity enters in the pool's ratio; the excess stays with the owner.
	before := c.desk.Balances(userAddress(1))
	c.call("/launchpad/tokens/"+id+"/liquidity", fmt.Sprintf(`{"userId":%q,"tokenAmount":"909.9181073703366697","quoteAmount":500}`, user))
	after := c.desk.Balances(userAddress(1))
	if paid := before[0].Free.Sub(after[0].Free); paid != money(t, "110").Wide() {
		t.Errorf("later liquidity took %v", paid)
	}
	for _, row := range c.desk.Totals() {
		if in, out := row.Free.Add(row.Held).Add(row.Fees), row.Deposited.Sub(row.Withdrawn); in != out {
			t.Errorf("%s does not add up: %v and %v", row.CurrencyCode, in, out)
		}
	}
}

func TestTheLedgerAsTheAccountRoutesSeeIt(t *testing.T) {
	c := freed(t)
	if !c.desk.Keeps("NATIVE") || !c.desk.Keeps("USBI") || c.desk.Keeps("BTC") {
		t.Error("what the ledger keeps")
	}
	b, err := c.desk.Deposit(userAddress(1), "USBI", money(t, "10.5"))
	if err != nil || b.Free != money(t, "10.5").Wide() || b.CurrencyCode != "USBI" {
		t.Errorf("deposit: %v %v", b, err)
	}
	if b, err = c.desk.Withdraw(userAddress(1), "USBI", money(t, "0.5")); err != nil || b.Total != money(t, "10").Wide() {
		t.Errorf("withdrawal: %v %v", b, err)
	}
	if _, err = c.desk.Withdraw(userAddress(1), "USBI", money(t, "11")); err == nil || err.Code != "INSUFFICIENT_FUNDS" {
		t.Errorf("too much: %v", err)
	}
	if _, err = c.desk.Deposit(userAddress(1), "NATIVE", money(t, "0")); err == nil || err.Field != "amount" {
		t.Errorf("nothing: %v", err)
	}
	c.restart(0)
	if rows := c.desk.Balances(userAddress(1)); len(rows) != 1 || rows[0].Free != money(t, "10").Wide() {
		t.Errorf("after a restart: %v", rows)
	}
}
