package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/node"
)

const nodesBegin = int64(1_700_000_000_000_000_000)

func ringOf(t *testing.T, letters ...string) *clusterkey.Ring {
	t.Helper()
	var text strings.Builder
	for _, letter := range letters {
		text.WriteString(strings.Repeat(letter, clusterkey.MinKeyBytes) + "\n")
	}
	r, err := clusterkey.Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// says returns what the node with an ID announces.
func says(t *testing.T, id uint64, address string, ns int64) []byte {
	t.Helper()
	return node.NewNodes(id, "e", ringOf(t, "a")).Announce(node.Announcement{
		Address: address, Role: node.RoleReplica, Term: 3, Position: id, LagMs: 7, Version: "v",
	}, ns)
}

// addresses returns the addresses of the nodes that a node hears.
func addresses(n *node.Nodes, ns int64) string {
	var all []string
	for _, h := range n.List(ns) {
		all = append(all, fmt.Sprintf("%s/%d", h.Address, h.Position))
	}
	return strings.Join(all, " ")
}

// A node knows what the others of its stream have said last, whatever key of the ring has signed it.
func TestNodesHearEachOther(t *testing.T) {
	n := node.NewNodes(1, "e", ringOf(t, "b", "a"))
	n.Take(says(t, 3, "h3:1", nodesBegin), nodesBegin)
	n.Take(says(t, 2, "h2:1", nodesBegin), nodesBegin)
	n.Take(says(t, 1, "h1:1", nodesBegin), nodesBegin) // its own words come back
	later := node.NewNodes(2, "e", ringOf(t, "b")).Announce(node.Announcement{
		Address: "h2:1", Role: node.RoleWriter, Term: 4, Position: 9, Stale: true, Failed: true,
	}, nodesBegin+5e9)
	n.Take(later, nodesBegin+6e9)
	list := n.List(nodesBegin + 8e9)
	if addresses(n, nodesBegin+8e9) != "h2:1/9 h3:1/3" {
		t.Fatalf("%+v", list)
	}
	if got := list[0]; got.Role != node.RoleWriter || got.Term != 4 || !got.Stale || !got.Failed ||
		got.AtNs != nodesBegin+6e9 || got.FirstNs != nodesBegin {
		t.Errorf("%+v", got)
	}
}

// What nobody with the key has said of this stream does not count, nor what is of another time.
func TestNodesBelieveNoForgedAnnouncement(t *testing.T) {
	good := string(says(t, 2, "h2:1", nodesBegin))
	long := string(says(t, 2, strings.Repeat("h", 1<<10), nodesBegin))
	proof, text, _ := strings.Cut(good, " ")
	role := string(node.NewNodes(2, "e", ringOf(t, "a")).Announce(node.Announcement{Role: "king"}, nodesBegin))
	for name, c := range map[string]struct {
		ring    *clusterkey.Ring
		epoch   string
		message string
		ns      int64
	}{
		"no key":         {nil, "e", good, nodesBegin},
		"another key":    {ringOf(t, "b"), "e", good, nodesBegin},
		"another stream": {ringOf(t, "a"), "f", good, nodesBegin},
		"another text":   {ringOf(t, "a"), "e", strings.Replace(good, "h2:1", "h3:1", 1), nodesBegin},
		"no proof":       {ringOf(t, "a"), "e", text, nodesBegin},
		"no text":        {ringOf(t, "a"), "e", proof, nodesBegin},
		"nothing":        {ringOf(t, "a"), "e", "", nodesBegin},
		"long":           {ringOf(t, "a"), "e", long, nodesBegin},
		"another role":   {ringOf(t, "a"), "e", role, nodesBegin},
		"old":            {ringOf(t, "a"), "e", good, nodesBegin + 30_001e6},
		"early":          {ringOf(t, "a"), "e", good, nodesBegin - 30_001e6},
	} {
		n := node.NewNodes(1, c.epoch, c.ring)
		if n.Take([]byte(c.message), c.ns); addresses(n, c.ns) != "" {
			t.Errorf("%s: %+v", name, n.List(c.ns))
		}
	}
	for _, ns := range []int64{nodesBegin - 30e9, nodesBegin + 30e9} {
		n := node.NewNodes(1, "e", ringOf(t, "a"))
		if n.Take([]byte(good), ns); addresses(n, ns) != "h2:1/2" {
			t.Errorf("at %d: %+v", ns-nodesBegin, n.List(ns))
		}
	}
}

// A silent node is forgotten, and what somebody repeats of it does not bring it back.
func TestNodesForgetASilentOne(t *testing.T) {
	n := node.NewNodes(1, "e", ringOf(t, "a"))
	first := says(t, 2, "h2:1", nodesBegin)
	n.Take(first, nodesBegin)
	n.Take(says(t, 2, "h2:1", nodesBegin+1e9), nodesBegin+1e9)
	n.Take(first, nodesBegin+2e9)
	if got := addresses(n, nodesBegin+11e9); got != "h2:1/2" {
		t.Errorf("10 s after its last words: %q", got)
	}
	if got := addresses(n, nodesBegin+11e9+1); got != "" {
		t.Errorf("later: %q", got)
	}
	for ns := nodesBegin; ns < nodesBegin+60e9; ns += 1e9 {
		n.Take(says(t, 3, "h3:1", ns), ns)
		n.Take(first, ns)
		n.Take(says(t, 2, "h2:1", nodesBegin+1e9), ns)
		if got := addresses(n, ns); ns > nodesBegin+11e9 && got != "h3:1/3" {
			t.Fatalf("after %s: %q", time.Duration(ns-nodesBegin), got)
		}
	}
}

// A node that starts again at its address is one node at once. Two that say the same address are two.
func TestNodesKnowWhoBeginsAgain(t *testing.T) {
	n := node.NewNodes(1, "e", ringOf(t, "a"))
	n.Take(says(t, 2, "h:1", nodesBegin), nodesBegin)
	n.Take(says(t, 3, "h:1", nodesBegin+1e9), nodesBegin+1e9)
	if got := addresses(n, nodesBegin+1e9); got != "h:1/3" {
		t.Errorf("begun again: %q", got)
	}
	n.Take(says(t, 2, "h:1", nodesBegin+2e9), nodesBegin+2e9)
	if got := addresses(n, nodesBegin+2e9); got != "h:1/2 h:1/3" {
		t.Errorf("two: %q", got)
	}
	n = node.NewNodes(1, "e", ringOf(t, "a"))
	n.Take(says(t, 2, "", nodesBegin), nodesBegin)
	n.Take(says(t, 3, "", nodesBegin+1e9), nodesBegin+1e9)
	if got := addresses(n, nodesBegin+1e9); got != "/2 /3" {
		t.Errorf("without addresses: %q", got)
	}
}

// The list has a bound, and has room again when nodes were forgotten.
func TestNodesHaveABound(t *testing.T) {
	n := node.NewNodes(1, "e", ringOf(t, "a"))
	for id := range uint64(70) {
		n.Take(says(t, id+2, fmt.Sprintf("h%d:1", id), nodesBegin), nodesBegin)
	}
	if got := len(n.List(nodesBegin)); got != 64 {
		t.Errorf("%d nodes", got)
	}
	n.Take(says(t, 2, "h0:1", nodesBegin+1e9), nodesBegin+1e9)
	if got := len(n.List(nodesBegin)); got != 64 {
		t.Errorf("%d nodes after one has spoken again", got)
	}
	n.Take(says(t, 99, "late:1", nodesBegin+40e9), nodesBegin+40e9)
	if got := addresses(n, nodesBegin+40e9); got != "late:1/99" {
		t.Errorf("%q", got)
	}
}
