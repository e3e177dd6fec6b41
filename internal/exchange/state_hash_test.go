package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"tickhive/hive"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/node"
	"tickhive/internal/stream/jet"
	"tickhive/internal/stream/jet/jettest"
)

// parts returns the hashes that GET /state-hash has.
func parts(t *testing.T, x *exchangetest.Rig) (all string, byName map[string]string) {
	t.Helper()
	m := x.Call("GET", "/state-hash", "")
	byName = map[string]string{}
	for name, hash := range m["parts"].(map[string]any) {
		byName[name] = hash.(string)
	}
	if len(byName) != 4 {
		t.Fatalf("%v", m)
	}
	return m["hash"].(string), byName
}

// change changes a part of the state.
type change struct {
	part string
	do   func()
}

// changes are changes of each part.
func changes(t *testing.T, x *exchangetest.Rig) (each []change) {
	t.Helper()
	var user, proposal string
	var nft any
	add := func(part string, do func()) { each = append(each, change{part, do}) }
	add("market", func() { x.Pair("BTC_USDT") })
	add("accounts", func() { user = x.Call("POST", "/users", `{"nativeBalance":1000}`)["id"].(string) })
	add("accounts", func() { x.Call("POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":1000}`) })
	add("accounts", func() {
		x.Call("POST", "/users/"+user+"/apikeys", `{"name":"reads","canTrade":false,"canManageKeys":false}`)
	})
	add("accounts", func() { x.Call("POST", "/users/"+user+"/withdrawals", `{"currencyCode":"USDT","amount":1}`) })
	add("market", func() {
		x.Call("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":2,"amount":1,`+
			`"accountId":"`+user+`"}`)
	})
	add("market", func() { x.Limit("BTC_USDT", "sell", "2", "0.5") })
	add("launchpad", func() {
		token := x.Call("POST", "/launchpad/tokens", `{"userId":"`+user+`","name":"T","symbol":"TTT"}`)
		nft = token["worker"].(map[string]any)["agentNftId"]
	})
	add("hive", func() {
		opened := x.Call("POST", "/hive/proposals", fmt.Sprintf(
			`{"tokenId":%v,"topic":"slippage_cap","payload":{"slippageCapBps":70},"proposer":"p"}`, nft))
		proposal = opened["proposalId"].(string)
	})
	add("hive", func() {
		var token uint64
		if _, err := fmt.Sscan(fmt.Sprint(nft), &token); err != nil {
			t.Fatal(err)
		}
		_, v := x.Agents().Views()
		p, _ := v.Proposal(proposal)
		vote := hive.CastVote{
			TokenID: token, ProposalID: proposal, Checkpoint: p.Checkpoint, Vote: hive.Yes,
			User: [16]byte{1}, Level: 20, Owned: 1,
			Holdings: new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil),
		}
		if _, err := x.Agents().DoHive(vote); err != nil {
			t.Fatal(err)
		}
	})
	return each
}

// Each change of a part changes the hash of that part, and the one over all.
func TestTheStateHashSeesEveryPart(t *testing.T) {
	x := exchangetest.Start(t, exchangetest.Options(t.TempDir()))
	before, hashes := parts(t, x)
	for i, c := range changes(t, x) {
		c.do()
		all, now := parts(t, x)
		if all == before || now[c.part] == hashes[c.part] {
			t.Errorf("change %d of %s: %v, before %v", i, c.part, now, hashes)
		}
		before, hashes = all, now
	}
}

// A writer, a start from its records, a start from its snapshots and a replica have one hash.
func TestEveryWayToTheStateGivesOneHash(t *testing.T) {
	mem := jettest.NewMem()
	options := func(dir string) exchange.Options {
		o := exchangetest.Options(dir)
		o.Clock = exchange.ClockOptions{}
		return o
	}
	o := options(t.TempDir())
	o.Stream = exchange.StreamOptions{
		Settings: "[engine]\n", Sim: exchange.SimOff,
		Open: func(context.Context, string) (jet.Log, func(), error) { return mem.Connect(), func() {}, nil },
	}
	x := exchangetest.Start(t, o)
	for _, c := range changes(t, x) {
		c.do()
	}
	want, byPart := parts(t, x)
	killed := x.Kill()
	x.Stop()
	for what, dir := range map[string]string{"the records of a killed process": killed, "snapshots": o.Dir} {
		again := exchangetest.Start(t, options(dir))
		if got, now := parts(t, again); got != want {
			t.Errorf("a start from %s: %v, the writer had %v", what, now, byPart)
		}
		again.Stop()
	}
	log := mem.Connect()
	genesis, err := node.ReadGenesis(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	r := options("")
	r.Follow = &exchange.FollowOptions{Log: log, Genesis: genesis, MaxLag: time.Hour}
	follows(t, r, func(internal string) {
		resp, err := http.Get(internal + "/state-hash")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(body), fmt.Sprintf(`"hash":%q`, want)) {
			t.Errorf("a replica: %s, the writer had %v", body, byPart)
		}
	})
}
