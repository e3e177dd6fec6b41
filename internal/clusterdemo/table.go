package clusterdemo

import (
	"context"
	"fmt"
	"io"

	"github.com/tickhive/tickhive/internal/clock"
)

// view holds the figures of one table.
type view struct {
	atNs    int64
	servers [3]bool // that run
	nodes   [4]row
}

type row struct {
	name, public string
	up           bool
	state
}

// look asks every node.
func (c *cluster) look(ctx context.Context) view {
	v := view{atNs: clock.MachineNs()}
	for i, s := range c.servers {
		v.servers[i] = s.running != nil
	}
	for i, n := range c.nodes {
		v.nodes[i] = row{name: n.name, public: n.public, up: n.up()}
		if v.nodes[i].up {
			v.nodes[i].state = c.status(ctx, n)
		}
	}
	return v
}

// table prints views, with the rates between two of them.
type table struct {
	out    io.Writer
	clear  bool
	before view
}

func (t *table) print(v view) {
	if t.clear {
		fmt.Fprint(t.out, "\x1b[H\x1b[2J")
	}
	fmt.Fprintf(t.out, "%-8s %-24s %-9s %5s %10s %8s %8s\n", "node", "address", "role", "term", "position", "lag ms",
		"cmd/s")
	for i, n := range v.nodes {
		if n.Role == "" {
			word := "down"
			if n.up {
				word = "starting"
			}
			fmt.Fprintf(t.out, "%-8s http://%-17s %-9s\n", n.name, n.public, word)
			continue
		}
		rate := "-"
		if was := t.before.nodes[i]; was.Role != "" && n.Position >= was.Position {
			rate = fmt.Sprintf("%.0f", float64(n.Position-was.Position)*1e9/float64(max(v.atNs-t.before.atNs, 1)))
		}
		fmt.Fprintf(t.out, "%-8s http://%-17s %-9s %5d %10d %8d %8s\n", n.name, n.public, n.Role, n.Term, n.Position,
			n.LagMs, rate)
	}
	fmt.Fprint(t.out, "stream  ")
	for i, up := range v.servers {
		fmt.Fprintf(t.out, " server-%c %s", 'a'+i, map[bool]string{true: "runs", false: "down"}[up])
	}
	fmt.Fprint(t.out, "\n", help)
	t.before = v
}
