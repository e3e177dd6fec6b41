package cluster

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// check compares the nodes with each other and with what their clients know, after the load.
func (c *failing) check() {
	t := c.t
	t.Helper()
	var writer *harness.Instance
	var replicas []*harness.Instance
	var hashes []string
	harness.WaitFor(t, func() bool { // on a busy machine a standby may take over meanwhile
		writer, replicas = c.settled()
		hashes = hashes[:0]
		for _, in := range append([]*harness.Instance{writer}, replicas...) {
			a := in.Do("GET", in.Internal+"/state-hash", "")
			if a.Status != 200 {
				return false
			}
			hashes = append(hashes, a.Body)
		}
		return roleOf(writer) == "writer"
	})
	status, _ := harness.Object(t, writer.Do("GET", writer.Public+"/api/status",
		"").Body)["replication"].(map[string]any)
	c.term = status["term"]
	for n, got := range hashes[1:] {
		if got != hashes[0] || !strings.Contains(got, `"hash"`) {
			t.Errorf("the state hash of replica %d is %s, the writer's %s", n, got, hashes[0])
		}
	}
	for _, replica := range replicas {
		c.sameStores(writer, replica)
	}
	for _, replica := range replicas {
		c.kill(replica) // none takes over any more
	}
	for id, o := range c.acked.Orders {
		a := writer.Do("GET", fmt.Sprintf("%s/orders/%d", writer.Internal, id), "")
		if a.Status != 200 || c.acked.Canceled[id] && !strings.Contains(a.Body, "Canceled") {
			t.Fatalf("order %d was acknowledged with %+v and is %d %s", id, o, a.Status, a.Body)
		}
	}
	c.acked.VerifyStores(t, writer)
	for _, u := range c.clients {
		u.check(t, writer)
	}
	found := map[string]int{}
	c.findOrders(writer, found)
	c.findTokens(writer, found)
	c.findVotes(writer, found)
	c.findDeposits(writer, found)
	for _, line := range c.history.wrong(found) {
		t.Error(line)
	}
}

// sameStores waits until a replica has the writer's money, tokens and votes.
func (c *failing) sameStores(writer, replica *harness.Instance) {
	c.t.Helper()
	for _, at := range []func(in *harness.Instance) string{
		func(in *harness.Instance) string { return in.Internal + "/totals" },
		func(in *harness.Instance) string { return in.Public + "/api/launchpad/tokens?pageSize=100" },
		func(in *harness.Instance) string { return in.Public + "/api/agents/proposals?pageSize=100" },
		func(in *harness.Instance) string { return in.Public + "/api/agents/action-logs?pageSize=100" },
	} {
		var w, r harness.Answer
		same := func() bool {
			w, r = writer.Do("GET", at(writer), ""), replica.Do("GET", at(replica), "")
			return w.Status == 200 && w.Body == r.Body
		}
		for begun := time.Now(); !same() && time.Since(begun) < harness.Patience/3; {
			c.wait(20 * time.Millisecond)
		}
		if !same() {
			c.t.Errorf("%s: writer %d %.400s\nreplica %d %.400s", at(replica), w.Status, w.Body, r.Status, r.Body)
		}
	}
}

// check checks that each answered order of a user is there, and that none was executed twice.
func (u *clusterClient) check(t *testing.T, writer *harness.Instance) {
	t.Helper()
	found := 0
	for id, order := range u.orders {
		target := "/api/orders/by-client-id/AA_USDT/" + id
		a := writer.Send(u.Voter, "GET", target, "")
		if order != "" && (a.Status != 200 || !strings.Contains(a.Body, order)) {
			t.Errorf("order %s of %s was answered, and is %d %s", order, id, a.Status, a.Body)
		}
		if a.Status == 200 {
			found++
		}
	}
	if n := writer.Opened(u.Voter); n != found {
		t.Errorf("%d orders are in the book, %d clientOrderIds have one: something was executed twice", n, found)
	}
}

// findOrders counts the orders of the users who have tried each once.
func (c *failing) findOrders(writer *harness.Instance, found map[string]int) {
	c.t.Helper()
	var book struct {
		Bids []struct {
			Orders []struct {
				AccountID string      `json:"accountId"`
				Amount    json.Number `json:"amount"`
			}
		}
	}
	c.decode(writer.Do("GET", writer.Internal+"/book/AA_USDT?depth=0", "").Body, &book)
	mine := map[string]bool{c.batcher: true}
	for _, u := range c.once {
		mine[u.ID] = true
	}
	for _, level := range book.Bids {
		for _, o := range level.Orders {
			if mine[o.AccountID] {
				found["order "+o.AccountID+" "+string(o.Amount)]++
			}
		}
	}
}

// findTokens counts the tokens, and checks that each has cost its fee, once.
func (c *failing) findTokens(writer *harness.Instance, found map[string]int) {
	c.t.Helper()
	spawned := int64(1) // the one that is voted about
	for page := 1; ; page++ {
		var list struct {
			Items      []struct{ Name string }
			TotalItems int
		}
		c.decode(writer.Do("GET", fmt.Sprintf("%s/api/launchpad/tokens?pageSize=100&page=%d", writer.Public, page),
			"").Body, &list)
		for _, token := range list.Items {
			if strings.HasPrefix(token.Name, "Once ") {
				found["spawn "+token.Name]++
				spawned++
			}
		}
		if page*100 >= list.TotalItems {
			break
		}
	}
	if left := c.balance(writer, c.agents.spawner.ID, "NATIVE"); left.Cmp(big.NewRat(1000-spawned, 1)) != 0 {
		c.t.Errorf("after %d tokens of 1 NATIVE each, %s of 1000 are left", spawned, left.FloatString(3))
	}
}

// findVotes counts the votes by their comments, and checks that each tally is their sum.
func (c *failing) findVotes(writer *harness.Instance, found map[string]int) {
	c.t.Helper()
	for _, p := range c.agents.props {
		var got struct {
			Comments []struct{ Comment string }
			Tally    struct{ YesWeight, NoWeight, AbstainWeight float64 }
		}
		c.decode(writer.Do("GET", writer.Public+"/api/agents/proposals/"+p, "").Body, &got)
		sum, known := 0.0, true
		for _, comment := range got.Comments {
			found["vote "+comment.Comment]++
			_, user, _ := strings.Cut(comment.Comment, " ")
			weight, ok := c.agents.weights[user]
			sum, known = sum+weight, known && ok
		}
		tally := got.Tally.YesWeight + got.Tally.NoWeight + got.Tally.AbstainWeight
		if d := tally - sum; known && (d > 0.001 || d < -0.001) {
			c.t.Errorf("%s: the tally is %v, the votes have %v", p, tally, sum)
		}
	}
}

// findDeposits reads from each balance how often every deposit counts.
func (c *failing) findDeposits(writer *harness.Instance, found map[string]int) {
	c.t.Helper()
	for _, user := range c.savers {
		total := c.balance(writer, user, "BB")
		if !total.IsInt() {
			c.t.Errorf("user %s has %v", user, total)
			continue
		}
		left := total.Num().Int64()
		for n := range digits {
			times := int(left % 4)
			if n == digits-1 {
				times = int(left)
			}
			if left /= 4; times > 0 {
				found[fmt.Sprintf("deposit %s %d", user, n)] = times
			}
		}
	}
}

// balance returns what a user has in a currency.
func (c *failing) balance(in *harness.Instance, user, currency string) *big.Rat {
	c.t.Helper()
	var got struct {
		Balances []struct {
			CurrencyCode string
			Total        json.Number
		}
	}
	c.decode(in.Do("GET", in.Internal+"/users/"+user, "").Body, &got)
	for _, b := range got.Balances {
		if b.CurrencyCode == currency {
			v, _ := new(big.Rat).SetString(string(b.Total))
			return v
		}
	}
	return new(big.Rat)
}

func (c *failing) decode(text string, v any) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		c.t.Fatalf("%v: %.300s", err, text)
	}
}

// settled waits until there is a writer and every other node has its records. It returns the writer and the others.
func (c *failing) settled() (writer *harness.Instance, replicas []*harness.Instance) {
	c.t.Helper()
	harness.WaitFor(c.t, func() bool {
		c.supervise()
		writer, replicas = nil, nil
		for n := range c.nodes {
			in := c.nodes[n].Load()
			switch role := roleOf(in); {
			case role == "writer" && writer == nil:
				writer = in
			case role == "replica":
				replicas = append(replicas, in)
			}
		}
		if writer == nil || len(replicas) != clusterNodes-1 {
			return false
		}
		_, w := position(c.t, writer)
		if !strings.Contains(writer.Do("GET", writer.Root+"/metrics", "").Body,
			"\ntickhive_log_last_record{log=\"engine\"} "+w+"\n") {
			return false // the stream does not have everything yet
		}
		for _, in := range replicas {
			if _, r := position(c.t, in); r != w {
				return false
			}
		}
		return true
	})
	return writer, replicas
}
