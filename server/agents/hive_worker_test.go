package agents_test

import (
	"fmt"
	"testing"

	"tickhive/launchpad"
	"tickhive/server/servertest"
)

// A token whose fact the hive has not received yet has the worker that its spawn made.
func TestATokenThatIsNewToTheHiveHasANewWorker(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	owner, _ := launchpad.ParseAddress(servertest.UserAddress(1))
	for _, cmd := range []launchpad.Command{
		launchpad.Deposit{To: owner, Amount: launchpad.AmountOf(100)},
		launchpad.Spawn{Owner: owner, Name: "N", Symbol: "NEW"},
	} {
		// not through the service: the hive does not receive it
		if _, err := launchpad.Do(c.Ledger, cmd); err != nil {
			t.Fatal(err)
		}
	}
	born := fmt.Sprint(servertest.StartNs / servertest.SecondNs)
	for _, row := range []struct{ target, path, want string }{
		{"/api/launchpad/tokens", "items.0.workerStatus", "active"},
		{"/api/launchpad/tokens/10001", "worker.status", "active"},
		{"/api/launchpad/tokens/10001", "worker.lastActionAt", "0"},
		{"/api/launchpad/tokens/10001/worker", "worker.deployedAt", born},
		{"/api/launchpad/tokens/10001/worker", "stats.lastActiveAt", born},
		{"/api/launchpad/tokens/10001/worker", "stats.totalActions", "0"},
		{"/api/launchpad/tokens/10001/worker", "recentActions", "[]"},
	} {
		if got := c.MustGet(row.target, row.path); got != row.want {
			t.Errorf("%s %s is %s, want %s", row.target, row.path, got, row.want)
		}
	}
	c.CheckRefusal(c.Get("/api/agents/workers/10001"), 404, "NOT_FOUND", "tokenId")
}

func TestCommentsAreShownNewestFirst(t *testing.T) {
	c := servertest.NewUnlimitedAgents(t)
	id := c.Token(1, "AAA")
	prop := c.Propose(id, false)
	c.Transfer(id, 1, 2, "1")
	for user, comment := range []string{"", "first", "second"} {
		if comment != "" {
			c.Must(c.PostAs(user, "/api/agents/workers/"+id+"/vote",
				fmt.Sprintf(`{"proposalId":%q,"vote":"yes","comment":%q}`, prop, comment)))
		}
	}
	p := c.Must(c.Get("/api/agents/proposals/" + prop))
	if a, b := servertest.At(p, "comments.0.comment"), servertest.At(p, "comments.1.comment"); a != "second" ||
		b != "first" {
		t.Errorf("comments are %s, then %s", a, b)
	}
}
