package cluster

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// The demo of a cluster shows its nodes, kills the writer by a key, shows the standby as the writer, and takes the
// killed node back. It leaves no directory.
func TestClusterDemo(t *testing.T) {
	t.Parallel()
	in, press := harness.ClusterDemo(t)
	dir := strings.Fields(in.WaitLine("a cluster in "))[3]
	shows := func(node, role, term string) {
		t.Helper()
		for deadline := time.Now().Add(harness.Patience); ; {
			f := strings.Fields(in.WaitLine(node + " "))
			if len(f) >= 4 && f[2] == role && f[3] == term || len(f) == 3 && f[2] == role {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is never %s in term %s, but %v", node, role, term, f)
			}
		}
	}
	shows("node-1", "writer", "1")
	shows("node-2", "replica", "1")
	shows("node-4", "replica", "1")
	press("1")
	shows("node-1", "down", "")
	shows("node-2", "writer", "2")
	press("1")
	shows("node-1", "replica", "2")
	press("x")
	in.WaitLine("there is no key")
	press("q")
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if _, err := os.Stat(strings.TrimSuffix(dir, ":")); err == nil {
		t.Errorf("%s is left", dir)
	}
}

// demoState is what the page of the demo polls.
type demoState struct {
	Nodes []struct {
		Name, URL, Role string
		Up              bool
	}
	Outage *struct {
		Former string
		Stuck  *string
	}
	Bot       struct{ Acknowledged, Lost int }
	Takeovers []struct {
		Node, Former, Text string
		AfterMs            int64
		Checked            bool
		Bot                struct{ Acknowledged, Checked, Lost int }
	}
}

// The page of the demo kills the writer; the bot's next order is acknowledged by the standby, and every order that was
// acknowledged before is there. The killed node comes back. When both nodes that can be the writer are killed, the page
// says so, and the first that starts again is the writer. What does not fit is refused, also a page of another origin.
func TestClusterDemoByItsPage(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	in, press := harness.ClusterDemo(t)
	page := strings.Fields(in.WaitLine("page "))[1]
	state := func() (s demoState) {
		t.Helper()
		r := in.Do("GET", page+"/internal/v1/cluster", "")
		if err := json.Unmarshal([]byte(r.Body), &s); err != nil || r.Status != 200 {
			t.Fatalf("%d %s %v", r.Status, r.Body, err)
		}
		return s
	}
	waitFor := func(what string, ok func(s demoState) bool) (s demoState) {
		t.Helper()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(harness.Patience); ; <-tick.C {
			if s = state(); ok(s) {
				return s
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: never; %+v", what, s)
			}
		}
	}
	turn := func(want int, what string) {
		t.Helper()
		if r := in.Do("POST", page+"/internal/v1/cluster/"+what, ""); r.Status != want {
			t.Fatalf("%s: %d %s", what, r.Status, r.Body)
		}
	}
	waitFor("the bot trades, and the standby follows", func(s demoState) bool {
		return s.Bot.Acknowledged > 0 && s.Nodes[0].Role == "writer" && s.Nodes[1].Role == "replica"
	})
	turn(404, "node-9/kill")
	turn(409, "node-1/start")
	before := state().Bot.Acknowledged
	turn(200, "node-1/kill")
	turn(409, "node-1/kill")
	s := waitFor("the takeover is checked", func(s demoState) bool {
		return len(s.Takeovers) == 1 && s.Takeovers[0].Checked
	})
	if x := s.Takeovers[0]; x.Node != "node-2" || x.Former != "node-1" || x.AfterMs <= 0 || x.Bot.Lost != 0 ||
		x.Bot.Acknowledged <= before || x.Bot.Checked != x.Bot.Acknowledged {
		t.Errorf("%d were acknowledged before: %+v", before, x)
	}
	in.WaitLine(s.Takeovers[0].Text)
	turn(200, "node-3/kill")
	turn(200, "node-2/kill")
	waitFor("no node may become the writer", func(s demoState) bool { return s.Outage != nil && s.Outage.Stuck != nil })
	turn(200, "node-1/start")
	s = waitFor("node-1 is the writer again", func(s demoState) bool {
		return len(s.Takeovers) == 2 && s.Takeovers[0].Checked
	})
	if x := s.Takeovers[0]; x.Node != "node-1" || x.Former != "node-2" || x.Bot.Lost != 0 ||
		x.Bot.Checked != x.Bot.Acknowledged {
		t.Errorf("%+v", x)
	}
	if r := in.Do("POST", page+"/internal/v1/cluster/node-1/kill", "", "Origin", "http://evil.example"); r.Status != 403 {
		t.Errorf("another origin: %d %s", r.Status, r.Body)
	}
	press("q")
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}
