package exchange_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

// parts returns the hashes that GET /state-hash has.
func parts(t *testing.T, x *exchangetest.Rig) (all string, byName map[string]string) {
	t.Helper()
	m := x.Call("GET", "/state-hash", "")
	byName = map[string]string{}
	for name, hash := range m["parts"].(map[string]any) {
		byName[name] = hash.(string)
	}
	if len(byName) != 5 {
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
	var nft json.Number
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
		nft = token["worker"].(map[string]any)["agentNftId"].(json.Number)
	})
	add("hive", func() {
		opened := x.Call("POST", "/hive/proposals", fmt.Sprintf(
			`{"tokenId":%v,"topic":"slippage_cap","payload":{"slippageCapBps":70},"proposer":"p"}`, nft))
		proposal = opened["proposalId"].(string)
	})
	add("hive", func() {
		token, err := strconv.ParseUint(nft.String(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		_, v := x.Agents().Views()
		p, _ := v.Proposal(proposal)
		if _, err := x.Agents().DoHive(vote(token, &p, 1)); err != nil {
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

// The state that decides, the follower that takes snapshots, a start from the records of a killed process, a start from
// a snapshot, a replica and a replay have one hash of each part.
func TestEveryWayToTheStateGivesOneHash(t *testing.T) {
	mem := jettest.NewMem()
	options := func(dir string) exchange.Options {
		o := exchangetest.Options(dir)
		o.Clock, o.Journal.Keep = exchange.ClockOptions{}, exchange.KeepAll
		return o
	}
	o := options(t.TempDir())
	o.Cluster.Key = clusterRing()
	o.Stream = exchange.StreamOptions{
		Sim:  exchange.SimOff,
		Open: func(context.Context, string) (jet.Log, func(), error) { return mem.Connect(), func() {}, nil },
	}
	x := exchangetest.Start(t, o)
	for _, c := range changes(t, x) {
		c.do()
	}
	want, err := x.OwnHash()
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got machine.StateHash) {
		t.Helper()
		if d := differ.Diff(want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	asked := func(x *exchangetest.Rig) machine.StateHash {
		t.Helper()
		h, err := x.StateHash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	same("the follower", asked(x))
	records := x.Kill()
	if n := len(exchangetest.Files(t, records, "engine/*.snap")); n > 0 {
		t.Fatalf("%d snapshots", n)
	}
	if err := x.Snapshot(); err != nil {
		t.Fatal(err)
	}
	x.Stop()
	same("a replay", replayed(t, records, true).Hash())
	for what, dir := range map[string]string{"the records of a killed process": records, "a snapshot": o.Dir} {
		again := exchangetest.Start(t, options(dir))
		own, err := again.OwnHash()
		if covered := again.Covered(); err != nil || (covered > 0) != (dir == o.Dir) {
			t.Fatalf("%s: %v, begun behind record %d", what, err, covered)
		}
		same("a start from "+what, own)
		same("the follower of a start from "+what, asked(again))
		again.Stop()
	}
	log := mem.Connect()
	genesis, err := node.ReadGenesis(t.Context(), log, clusterKeys())
	if err != nil {
		t.Fatal(err)
	}
	r := options("")
	r.Follow = &exchange.FollowOptions{Log: log, Keys: clusterKeys(), Genesis: genesis, MaxLag: time.Hour}
	follows(t, r, func(internal string) {
		resp, err := http.Get(internal + "/state-hash")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(body), fmt.Sprintf(`"hash":%q`, want.Hash)) {
			t.Errorf("a replica: %s, the writer had %v", body, want)
		}
		for _, part := range want.Parts() {
			if !strings.Contains(string(body), fmt.Sprintf("%q:%q", part.Name, part.Hash)) {
				t.Errorf("a replica has another %s: %s", part.Name, body)
			}
		}
	})
}
