package agents_test

import (
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

func TestInternalLaunchpadRefuses(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	c.Token(1, "AAA")
	c.Token(2, "BBB")
	c.Fund(1, 0, 100)
	c.MustInternal("/launchpad/tokens/10002/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":1,"quoteAmount":1}`, rich(c, 2)))
	one, unknown := servertest.UserUUID(1), servertest.UserUUID(servertest.MaxUser+1)
	body := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	for _, row := range []struct {
		path, body  string
		status      int
		code, field string
	}{
		{"tokens", `{"name":"A","symbol":"CCC"}`, 400, "INVALID_PARAM", "userId"},
		{"tokens", `{"userId":"7","name":"A","symbol":"CCC"}`, 400, "INVALID_PARAM", "userId"},
		{"tokens", body(`{"userId":%q,"symbol":"CCC"}`, unknown), 400, "INVALID_PARAM", "name"},
		{"tokens", body(`{"userId":%q,"name":"A","symbol":"CCC"}`, unknown), 404, "NOT_FOUND", "userId"},
		{
			"tokens", body(`{"userId":"00000000-0000-0000-0000-000000000000","name":"A","symbol":"CCC"}`),
			404, "NOT_FOUND", "userId",
		},
		{"tokens", body(`{"userId":%q,"name":"A","symbol":"AAA"}`, one), 400, "SYMBOL_TAKEN", "symbol"},
		{"tokens", body(`{"userId":%q,"name":"A","symbol":"CCC"}`, one), 400, "COOLDOWN_ACTIVE", ""},
		{
			"tokens", body(`{"userId":%q,"name":"A","symbol":"CCC"}`, servertest.UserUUID(3)),
			402, "INSUFFICIENT_FEE", "",
		},
		{"tokens/10001/liquidity", `{"tokenAmount":1,"quoteAmount":1}`, 400, "INVALID_PARAM", "userId"},
		{
			"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":0,"quoteAmount":1}`, one), 400,
			"INVALID_PARAM", "tokenAmount",
		},
		{
			"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1e3,"quoteAmount":1}`, one), 400,
			"INVALID_PARAM", "tokenAmount",
		},
		{
			"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":"1.0000000000000000001","quoteAmount":1}`, one),
			400, "INVALID_PARAM", "tokenAmount",
		},
		{
			"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1,"quoteAmount":-1}`, one), 400,
			"INVALID_PARAM", "quoteAmount",
		},
		{"tokens/10009/liquidity", body(`{"userId":%q,"tokenAmount":1,"quoteAmount":1}`, one), 404, "NOT_FOUND", "id"},
		{
			"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1,"quoteAmount":1}`, unknown),
			404, "NOT_FOUND", "userId",
		},
		{
			"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1,"quoteAmount":101}`, one), 400,
			"INSUFFICIENT_FUNDS", "quoteAmount",
		},
		{
			"tokens/10001/liquidity", body(`{"userId":%q,"tokenAmount":1000000001,"quoteAmount":1}`, one), 400,
			"INSUFFICIENT_FUNDS", "tokenAmount",
		},
		{"tokens/10001/swaps", body(`{"userId":%q,"side":"hold","amountIn":1}`, one), 400, "INVALID_PARAM", "side"},
		{"tokens/10001/swaps", body(`{"userId":%q,"side":"buy"}`, one), 400, "INVALID_PARAM", "amountIn"},
		{
			"tokens/10001/swaps", body(`{"userId":%q,"side":"buy","amountIn":1,"minOut":[]}`, one), 400,
			"INVALID_PARAM", "minOut",
		},
		{"tokens/10001/swaps", body(`{"userId":%q,"side":"buy","amountIn":1}`, one), 409, "CONFLICT", ""},
		{
			"tokens/10002/swaps", body(`{"userId":%q,"side":"buy","amountIn":1000}`, one), 400,
			"INSUFFICIENT_FUNDS", "amountIn",
		},
		{
			"tokens/10002/swaps", body(`{"userId":%q,"side":"sell","amountIn":1}`, one), 400,
			"INSUFFICIENT_FUNDS", "amountIn",
		},
		{
			"tokens/10002/swaps", body(`{"userId":%q,"side":"buy","amountIn":1,"minOut":"1"}`, one),
			409, "CONFLICT", "minOut",
		},
		{"tokens/10001/transfers", body(`{"fromUserId":%q,"amount":1}`, one), 400, "INVALID_PARAM", "toUserId"},
		{"tokens/10001/transfers", body(`{"fromUserId":%q,"toUserId":%q}`, one, one), 400, "INVALID_PARAM", "amount"},
		{
			"tokens/10001/transfers", body(`{"fromUserId":%q,"toUserId":%q,"amount":1}`, one, unknown),
			404, "NOT_FOUND", "toUserId",
		},
		{"tokens/10001/transfers", body(`{"fromUserId":%q,"toUserId":%q,"amount":"1000000000.1"}`, one,
			servertest.UserUUID(2)), 400, "INSUFFICIENT_FUNDS", "amount"},
		{"tokens/10009/boosts", `{"tier":"long"}`, 400, "INVALID_PARAM", "tier"},
		{"tokens/10009/boosts", `{"tier":"short"}`, 404, "NOT_FOUND", "id"},
	} {
		t.Run(row.path+row.body, func(t *testing.T) {
			c.CheckRefusal(c.CallInternal("POST", "/launchpad/"+row.path, row.body), row.status, row.code, row.field)
		})
	}
}

// rich deposits USBI for a user and returns the user's id.
func rich(c *servertest.Agents, n int) string {
	c.Fund(n, 0, 1_000)
	return servertest.UserUUID(n)
}

// in' = 10 - ceil(10 x 1%), out = floor(1000 x 9.9 / (100 + 9.9)).
func TestASwapIsThePoolsFormula(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id := c.Token(1, "AAA")
	user := rich(c, 1)
	p := c.MustInternal("/launchpad/tokens/"+id+"/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":"1000","quoteAmount":100.0}`, user))
	if servertest.At(p, "price") != "0.1" || servertest.At(p, "tvl") != "200.00" {
		t.Errorf("pool %v", p)
	}
	a := c.CallInternal("POST", "/launchpad/tokens/"+id+"/swaps",
		fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":10,"minOut":"90.08189262966333"}`, user))
	s := c.Must(a)
	for path, want := range map[string]string{
		"amountIn": "10.0", "amountOut": "90.081892629663330300", "blockNumber": "1",
		"pool.reserveQuote": "110.0", "pool.reserveToken": "909.9181073703366697",
		"pool.volume24h": "10.00", "pool.tvl": "220.00",
	} {
		if got := servertest.At(s, path); got != want && got+"00" != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	d := c.Must(c.Get("/api/launchpad/tokens/" + id))
	if servertest.At(d, "pool.lastTradeAt") != fmt.Sprint(servertest.StartNs/servertest.SecondNs) ||
		servertest.At(d, "worker.status") != "active" {
		t.Errorf("after a swap: %v", d)
	}
	// Later liquidity enters in the pool's ratio; the excess stays with the owner.
	before := c.Service.Balances(servertest.UserAddress(1))
	c.MustInternal("/launchpad/tokens/"+id+"/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":"909.9181073703366697","quoteAmount":500}`, user))
	after := c.Service.Balances(servertest.UserAddress(1))
	if paid := before[0].Free.Sub(after[0].Free); paid != servertest.Money(t, "110").Wide() {
		t.Errorf("later liquidity took %v", paid)
	}
	for _, row := range c.Service.Totals() {
		if in, out := row.Free.Add(row.Held).Add(row.Fees), row.Deposited.Sub(row.Withdrawn); in != out {
			t.Errorf("%s does not add up: %v and %v", row.CurrencyCode, in, out)
		}
	}
}

func TestTheLedgerAsTheAccountRoutesSeeIt(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	if !c.Service.HasCurrency("NATIVE") || !c.Service.HasCurrency("USBI") || c.Service.HasCurrency("BTC") {
		t.Error("what the ledger keeps")
	}
	b, err := c.Service.Deposit(servertest.UserAddress(1), "USBI", servertest.Money(t, "10.5"))
	if err != nil || b.Free != servertest.Money(t, "10.5").Wide() || b.CurrencyCode != "USBI" {
		t.Errorf("deposit: %v %v", b, err)
	}
	if b, err = c.Service.Withdraw(servertest.UserAddress(1), "USBI", servertest.Money(t, "0.5")); err != nil ||
		b.Total != servertest.Money(t, "10").Wide() {
		t.Errorf("withdrawal: %v %v", b, err)
	}
	if _, err = c.Service.Withdraw(servertest.UserAddress(1), "USBI", servertest.Money(t, "11")); err == nil ||
		err.Code != "INSUFFICIENT_FUNDS" {
		t.Errorf("too much: %v", err)
	}
	if _, err = c.Service.Deposit(servertest.UserAddress(1), "NATIVE", servertest.Money(t, "0")); err == nil ||
		err.Field != "amount" {
		t.Errorf("nothing: %v", err)
	}
	c.Restart(0)
	if rows := c.Service.Balances(servertest.UserAddress(1)); len(rows) != 1 ||
		rows[0].Free != servertest.Money(t, "10").Wide() {
		t.Errorf("after a restart: %v", rows)
	}
}
