package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/tickhive/tickhive/test/harness"
)

// legacySignature signs a request without a body by the legacy scheme.
func legacySignature(u *harness.Voter, url string) string {
	mac := hmac.New(sha256.New, []byte(u.Private))
	mac.Write([]byte(u.Public + url))
	return hex.EncodeToString(mac.Sum(nil))
}

// launchpad takes one token through spawn, pool, boost and faults. It returns the token's NFT
// id.
func (g *golden) launchpad(w people) string {
	g.area = "launchpad"
	const spawn = "/api/launchpad/spawn"
	body := `{"name":"Alpha","symbol":"ALPHA","totalSupply":"1000000","metadata":{"description":"first",` +
		`"website":"https://a.example","x":[1,2]}}`
	spawned := harness.Object(g.t, g.as(w.alice, "POST", spawn, body))
	token, address := harness.Within(spawned, "worker.agentNftId"), harness.Within(spawned, "token.address")
	for _, wrong := range []string{
		`{"symbol":"ALPHA"}`, `{"name":"B","symbol":"alpha"}`, `{"name":"B","symbol":""}`, `{"name":"B"}`,
		`{"name":"B","symbol":"ALPHA"}`,
		`{"name":"B","symbol":"BETA"}`, `{"name":"B","symbol":"BETA","decimals":6}`, `{"name":"B","symbol":"BETA",` +
			`"metadata":{"website":"ftp://x"}}`,
	} {
		g.as(w.alice, "POST", spawn, wrong)
	}
	g.as(w.bob, "POST", spawn, `{"name":"Gamma","symbol":"GAM","poolSide":"wNATIVE"}`)
	g.in("POST", "/launchpad/faults", `{"kind":"spawner","count":1}`)
	g.in("POST", "/launchpad/faults", `{"kind":"disk","count":1}`)
	g.as(w.carol, "POST", spawn, `{"name":"Delta","symbol":"DEL"}`)
	g.in("POST", "/users/"+w.carol.ID+"/withdrawals", `{"currencyCode":"NATIVE","amount":"200"}`)
	g.as(w.carol, "POST", spawn, `{"name":"Delta","symbol":"DEL"}`)
	poor := fmt.Sprintf(`{"userId":%q,"name":"Echo","symbol":"ECHO"}`, w.carol.ID)
	g.in("POST", "/launchpad/tokens", poor)
	g.in("POST", "/users/"+w.carol.ID+"/deposits", `{"currencyCode":"NATIVE","amount":"500"}`)
	g.in("POST", "/launchpad/tokens", poor)
	at := "/launchpad/tokens/" + token
	swap := fmt.Sprintf(`{"userId":%q,"side":%%q,"amountIn":%%q,"minOut":%%q}`, w.alice.ID)
	g.in("POST", at+"/swaps", fmt.Sprintf(swap, "buy", "1", "0"))
	g.in("POST", at+"/liquidity", fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":"100"}`, w.alice.ID))
	g.in("POST", at+"/swaps", fmt.Sprintf(swap, "buy", "10", "0"))
	g.in("POST", at+"/swaps", fmt.Sprintf(swap, "sell", "5.5", "0.1"))
	g.in("POST", at+"/swaps", fmt.Sprintf(swap, "sell", "5.5", "1000"))
	own := "/api/launchpad/tokens/" + token + "/swaps"
	g.as(w.alice, "POST", own, `{"side":"buy","amountIn":"1"}`)
	g.as(w.alice, "POST", own, `{"side":"sell","amountIn":1,"minOut":1000}`)
	g.as(w.alice, "GET", "/api/launchpad/holdings", "")
	g.in("POST", at+"/transfers", fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":"12.5"}`, w.alice.ID, w.bob.ID))
	g.in("POST", at+"/transfers", fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":"1e9"}`, w.alice.ID, w.bob.ID))
	g.in("POST", at+"/boosts", `{"tier":"short"}`)
	g.in("POST", at+"/boosts", `{"tier":"long"}`)
	g.in("POST", "/launchpad/tokens/99/boosts", `{"tier":"short"}`)
	for _, target := range []string{
		"/tokens", "/tokens?sort=tvl&page=1&pageSize=1", "/tokens?boosted=true&poolSide=USBI", "/tokens?page=9",
		"/tokens?pageSize=101", "/tokens?sort=price",
		"/tokens?asOf=1", "/tokens/" + token, "/tokens/" + address, "/tokens/0x00", "/tokens/" + token +
			"/pool", "/tokens/" + token + "/worker",
		"/tokens/10002/pool", "/tokens/" + token + "/ohlc?interval=minute", "/tokens/10002/ohlc?interval=day",
		"/tokens/" + token + "/ohlc?interval=week", "/tokens/" + token +
			"/ohlc?interval=day&start=2026-01-03&end=2026-01-02",
	} {
		g.get("/api/launchpad" + target)
	}
	return token
}

// hive votes, adds actions and lets proposals close.
func (g *golden) hive(w people, token string) {
	g.area = "hive"
	propose := func(topic, payload string, more string) string {
		m := g.in("POST", "/hive/proposals",
			fmt.Sprintf(`{"tokenId":%s,"topic":%q,"payload":%s,"proposer":"queen-1"%s}`, token, topic, payload, more))
		return fmt.Sprint(m["proposalId"])
	}
	first := propose("slippage_cap", `{"slippageCapBps":150}`, `,"urgent":true`)
	propose("mev_protection", `{"mevProtection":"strict"}`, "")
	propose("slippage_cap", `{"slippageCapBps":10}`, "")
	act := func(source, kind, payload, reason string) {
		g.in("POST", "/hive/actions",
			fmt.Sprintf(`{"sourceAgentId":%q,"targetTokenId":%s,"actionType":%q,"actionPayload":%s,"reasonCode":%q}`,
				source, token, kind, payload, reason))
	}
	act("scout-1", "signal", `{"score":1.5}`, "golden")
	act("queen-1", "suspension", `{"suspended":true}`, "golden")
	act("queen-2", "override", `{"slippageCapBps":120}`, "golden")
	act("worker-1", "observation", `{}`, "golden")
	act("worker-1", "override", `{}`, "golden")
	act("queen-9", "flag", `{}`, "golden")
	act("queen-1", "dance", `{}`, "golden")
	vote := "/api/agents/workers/" + token + "/vote"
	g.as(w.alice, "POST", vote, fmt.Sprintf(`{"proposalId":%q,"vote":"yes","comment":"good"}`, first))
	g.as(w.alice, "POST", vote, fmt.Sprintf(`{"proposalId":%q,"vote":"no"}`, first))
	g.as(w.alice, "POST", vote, `{"proposalId":"prop-99","vote":"no"}`)
	g.as(w.alice, "POST", vote, fmt.Sprintf(`{"proposalId":%q,"vote":"maybe"}`, first))
	g.as(w.carol, "POST", vote, fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, first))
	g.in("PATCH", "/users/"+w.carol.ID, `{"level":20}`)
	g.as(w.carol, "POST", vote, fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, first))
	g.note("a day and an hour later the urgent proposal is closed and the boost is over")
	g.advance(90_000_000)
	g.as(w.bob, "POST", vote, fmt.Sprintf(`{"proposalId":%q,"vote":"no"}`, first))
	g.in("PATCH", "/users/"+w.bob.ID, `{"level":30}`)
	g.as(w.bob, "POST", vote, fmt.Sprintf(`{"proposalId":%q,"vote":"no"}`, first))
	for _, target := range []string{
		"/overview", "/workers", "/workers?status=suspended", "/workers?tokenAddress=0x12", "/workers?status=dead",
		"/workers/" + token, "/workers/1",
		"/action-logs", "/action-logs?sourceTier=queen&pageSize=1", "/action-logs?actionType=vote",
		"/action-logs?since=2&until=1", "/action-logs?actionType=x",
		"/proposals", "/proposals?status=passed", "/proposals/" + first, "/proposals/prop-99",
	} {
		g.get("/api/agents" + target)
	}
	g.get("/api/launchpad/tokens/" + token)
}
