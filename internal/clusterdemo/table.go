package clusterdemo

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
)

// view holds the figures of one table.
type view struct {
	atNs    int64
	servers [3]bool // that run
	nodes   [4]row
	bot     botView
}

type row struct {
	name, public string
	up           bool
	state
}

// look asks every node.
func (c *cluster) look(ctx context.Context) view {
	v := view{atNs: clock.MachineNs(), bot: c.bot.view()}
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

// stuck says why no node takes over, if that is so: none that may become the writer runs.
func (v *view) stuck() string {
	if v.bot.outage == nil || v.nodes[0].up || v.nodes[1].up {
		return ""
	}
	return "There is no writer, and no node runs that may become it: start node-1 or node-2 again."
}

// word is the role of a node, or what it does instead.
func (r *row) word() string {
	switch {
	case r.Role != "":
		return r.Role
	case r.up:
		return "starting"
	}
	return "down"
}

// table prints views, with the rates between two of them.
type table struct {
	out    io.Writer
	clear  bool
	page   string
	before view
	said   time.Time // of the last takeover whose sentence is printed
}

// shownTakeovers is the number of sentences below a table that replaces the one before.
const shownTakeovers = 5

func (t *table) print(v view) {
	if t.clear {
		fmt.Fprint(t.out, "\x1b[H\x1b[2J")
	}
	fmt.Fprintf(t.out, "%-8s %-24s %-9s %5s %10s %8s %8s\n", "node", "address", "role", "term", "position", "lag ms",
		"cmd/s")
	for i, n := range v.nodes {
		if n.Role == "" {
			fmt.Fprintf(t.out, "%-8s http://%-17s %-9s\n", n.name, n.public, n.word())
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
		fmt.Fprintf(t.out, " %s %s", serverName(i), map[bool]string{true: "runs", false: "down"}[up])
	}
	fmt.Fprintf(t.out, "\nbot      %s orders acknowledged, %s refused, %s without an answer\npage     http://%s\n%s",
		group(v.bot.Acknowledged), group(v.bot.Refused), group(v.bot.Unanswered), t.page, help)
	t.tell(&v)
	t.before = v
}

// tell prints the sentences of takeovers: the last ones below a table that replaces the one before, else each once.
func (t *table) tell(v *view) {
	if text := v.stuck(); text != "" {
		fmt.Fprintln(t.out, text)
	}
	taken := v.bot.taken
	if t.clear {
		taken = taken[max(0, len(taken)-shownTakeovers):]
	}
	for i := range taken {
		if taken[i].Done && (t.clear || taken[i].At.After(t.said)) {
			fmt.Fprintln(t.out, &taken[i])
			t.said = taken[i].At
		}
	}
}
