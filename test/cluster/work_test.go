package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// The clients of a cluster that try each change once: its outcome says what must be found at the end.
const (
	onceTraders = 3  // signed orders through any node
	onceVoters  = 2  // signed votes through any node
	proposals   = 40 // each voter votes once on each
	digits      = 12 // deposits to one user, which are 1, 4, 16, ... units: the balance shows how often each counts
)

// agents holds the users, the token and the proposals of the clients of launchpad and hive.
type agents struct {
	spawner *harness.Voter
	voters  []*harness.Voter
	token   string
	props   []string
	weights map[string]float64 // voter -> weight of each vote, once one was answered
}

// beginWork makes the users of the clients that try once, a token and proposals.
func (c *failing) beginWork() {
	in := c.nodes[theWriter].Load()
	for range onceTraders {
		c.once = append(c.once, in.Trader())
		c.acked.Deposited["USDT"] += 10_000
	}
	c.batcher = in.Call(200, "POST", "/users", `{"nativeBalance":1}`)["id"].(string)
	in.Call(200, "POST", "/users/"+c.batcher+"/deposits", `{"currencyCode":"USDT","amount":100000}`)
	c.acked.Deposited["USDT"] += 100_000
	h := &c.agents
	h.weights = map[string]float64{}
	h.spawner = in.Voter(25, "1000", "1000")
	a := in.As(h.spawner, "/api/launchpad/spawn", `{"name":"Voted","symbol":"VOTED"}`)
	if a.Status != 200 {
		c.t.Fatal(a.Status, a.Body)
	}
	h.token = harness.Within(harness.Object(c.t, a.Body), "worker.agentNftId")
	for range onceVoters {
		u := in.Voter(25, "10", "10")
		in.Call(200, "POST", "/launchpad/tokens/"+h.token+"/transfers",
			fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":100}`, h.spawner.ID, u.ID))
		h.voters = append(h.voters, u)
	}
	for range proposals {
		p := in.Call(200, "POST", "/hive/proposals", `{"tokenId":`+h.token+
			`,"topic":"slippage_cap","payload":{"slippageCapBps":50},"proposer":"me"}`)
		h.props = append(h.props, fmt.Sprint(p["proposalId"]))
	}
}

// startWork starts the clients that try once.
func (c *failing) startWork() {
	for i, u := range c.once {
		c.work.Go(func() { c.tradeOnce(200+i, u) })
	}
	for i, u := range c.agents.voters {
		c.work.Go(func() { c.vote(300+i, u) })
	}
	c.work.Go(func() { c.spawn(400) })
	c.work.Go(func() { c.batches(500) })
	c.work.Go(func() { c.deposit(600) })
}

// tradeOnce places orders without a clientOrderId, each with its own amount, and reads each back at any node.
func (c *failing) tradeOnce(id int, u *harness.Voter) {
	q := c.requester(id)
	defer q.CloseIdleConnections()
	for i := 1; i <= 400 && !c.stopped(20*time.Millisecond); i++ {
		amount := fmt.Sprintf("%d.%d", i/10, i%10)
		begun := time.Now()
		node, a := c.signed(q, u, "POST", "/api/orders",
			`{"side":"buy","currencyPairCode":"AA_USDT","price":1,"amount":`+amount+`}`)
		o := op{kind: "order", key: u.ID + " " + amount, client: id, node: node}
		if c.history.add(o, begun, a.status, a.body) != wasAcked {
			continue
		}
		at := q.r.IntN(clusterNodes)
		read := q.send("http://"+c.fronts[at].Addr()+"/api/orderbook?currencyPairCode=AA_USDT", "GET", "", "X-Min-Seq",
			fmt.Sprint(a.seq))
		if read.status == http.StatusOK && read.seq < a.seq {
			c.t.Errorf("an order was answered with seq %d, and node %d reads seq %d behind it", a.seq, at, read.seq)
		}
	}
}

// vote votes once on each proposal, with a comment that names the vote.
func (c *failing) vote(id int, u *harness.Voter) {
	q := c.requester(id)
	defer q.CloseIdleConnections()
	target := "/api/agents/workers/" + c.agents.token + "/vote"
	for _, p := range c.agents.props {
		if c.stopped(300 * time.Millisecond) {
			return
		}
		begun := time.Now()
		node, a := c.signed(q, u, "POST", target,
			fmt.Sprintf(`{"proposalId":%q,"vote":"yes","comment":%q}`, p, p+" "+u.ID))
		o := op{kind: "vote", key: p + " " + u.ID, client: id, node: node}
		if c.history.add(o, begun, a.status, a.body) != wasAcked {
			continue
		}
		var got struct{ Weight float64 }
		if err := json.Unmarshal([]byte(a.body), &got); err != nil {
			c.t.Errorf("vote: %v: %s", err, a.body)
		}
		c.history.mu.Lock()
		c.agents.weights[u.ID] = got.Weight
		c.history.mu.Unlock()
	}
}

// spawn makes tokens with names of their own.
func (c *failing) spawn(id int) {
	q := c.requester(id)
	defer q.CloseIdleConnections()
	for i := 0; i < 300 && !c.stopped(100*time.Millisecond); i++ {
		symbol := fmt.Sprintf("Q%c%c%c", 'A'+i/676%26, 'A'+i/26%26, 'A'+i%26)
		begun := time.Now()
		node, a := c.signed(q, c.agents.spawner, "POST", "/api/launchpad/spawn",
			fmt.Sprintf(`{"name":"Once %d","symbol":%q}`, i, symbol))
		o := op{kind: "spawn", key: fmt.Sprintf("Once %d", i), client: id, node: node}
		c.history.add(o, begun, a.status, a.body)
	}
}

// batches places batches of three orders through the internal listener of the writer.
func (c *failing) batches(id int) {
	q := c.requester(id)
	defer q.CloseIdleConnections()
	for i := 0; i < 300 && !c.stopped(20*time.Millisecond); i++ {
		in := c.writer()
		if in == nil {
			continue
		}
		var parts, keys []string
		for k := range 3 {
			n := 3*i + k + 1
			amount := fmt.Sprintf("%d.%d", n/10, n%10)
			keys = append(keys, c.batcher+" "+amount)
			parts = append(parts, fmt.Sprintf(`{"place":{"accountId":%q,"currencyPairCode":"AA_USDT","side":"buy",`+
				`"type":"limit","price":1,"amount":%s}}`, c.batcher, amount))
		}
		begun := time.Now()
		a := q.send(in.Internal+"/orders/batch", "POST", `{"commands":[`+strings.Join(parts, ",")+`]}`)
		if a.status == http.StatusOK && strings.Count(a.body, `"status":"Created"`) != 3 {
			c.t.Errorf("a batch: %s", a.body)
		}
		for _, key := range keys {
			c.history.add(op{kind: "order", key: key, client: id, node: -1}, begun, a.status, a.body)
		}
	}
}

// deposit brings money to users that nothing else changes, twelve times to each.
func (c *failing) deposit(id int) {
	q := c.requester(id)
	defer q.CloseIdleConnections()
	user, amount, nth := "", int64(1), 0
	for !c.stopped(30 * time.Millisecond) {
		in := c.writer()
		if in == nil {
			continue
		}
		if user == "" {
			var got struct{ ID string }
			a := q.send(in.Internal+"/users", "POST", `{}`)
			if a.status == http.StatusOK && json.Unmarshal([]byte(a.body), &got) == nil {
				user, amount, nth = got.ID, 1, 0
				c.savers = append(c.savers, user)
			}
			continue
		}
		begun := time.Now()
		a := q.send(in.Internal+"/users/"+user+"/deposits", "POST",
			fmt.Sprintf(`{"currencyCode":"BB","amount":%d}`, amount))
		o := op{kind: "deposit", key: fmt.Sprintf("%s %d", user, nth), client: id, node: -1}
		c.acked.Mu.Lock()
		switch c.history.add(o, begun, a.status, a.body) {
		case wasAcked:
			c.acked.Deposited["BB"] += amount
		case isUnknown:
			c.acked.Unknown["BB"] += amount
		case wasRefused:
		}
		c.acked.Mu.Unlock()
		if amount, nth = 4*amount, nth+1; nth == digits {
			user = ""
		}
	}
}
