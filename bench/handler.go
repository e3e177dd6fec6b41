package bench

import (
	"fmt"

	"tickhive/bench/peer"
	"tickhive/bench/proc"
	"tickhive/bench/report"
)

// handlers measures H2 and H4 (docs/internals/performance.md#http).
func handlers(r *Run) error {
	r.say("H2, H4: handlers in memory")
	for _, x := range []struct {
		pairs  int
		name   string
		target float64
	}{{1, "book 40x40", 2}, {100, "100 tickers", 6}, {1000, "1,000 tickers", 50}} {
		c, err := proc.Start(nil, r.Program, "handler", "--pairs", fmt.Sprint(x.pairs))
		if err != nil {
			return err
		}
		err = handlerRounds(r, c, x.pairs, x.name, x.target)
		c.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func handlerRounds(r *Run, c *proc.Child, pairs int, name string, target float64) error {
	doc := r.S.Cost("document after one change, "+name, "us",
		"in memory, allocation included; the change and the request for an unchanged document taken off",
	).Aim("H4", target)
	var over, alloc *report.Measure
	if pairs == 1000 {
		with := fmt.Sprintf("in memory, %d distinct requests in turn, one pair changing every 1,000 requests", pairs)
		over = r.S.Cost("handler over constant bytes", "us", with).Aim("H2", 1.05)
		alloc = r.S.Cost("allocations of a request", "mallocs",
			fmt.Sprintf("in memory, %d requests, %d distinct", peer.HandlerRequests, pairs)).Aim("H2", 0.001)
	}
	for range r.Rounds {
		line, err := c.Ask("document")
		if err != nil {
			return err
		}
		var a, b, d float64
		if _, err := fmt.Sscan(line, &a, &b, &d); err != nil {
			return fmt.Errorf("bench: answer %q: %w", line, err)
		}
		doc.Round(max(b-a-d, 1) / 1e3)
		if over == nil {
			continue
		}
		if line, err = c.Ask("handler"); err != nil {
			return err
		}
		if _, err := fmt.Sscan(line, &a, &b, &d); err != nil {
			return fmt.Errorf("bench: answer %q: %w", line, err)
		}
		over.Round((b - a) / 1e3)
		alloc.Round(d)
	}
	return nil
}
