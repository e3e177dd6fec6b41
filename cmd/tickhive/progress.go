package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows the progress of long work with its rate and the remaining time: on a terminal a bar, otherwise plain
// lines, and nothing when quiet. Owner: one goroutine.
type progress struct {
	name, unit string
	out        io.Writer
	bar        *progressbar.ProgressBar
	began      time.Time // the work
	from       time.Time // the present pass, which began with the count base
	base, last int64
	shown      time.Time
}

const (
	plainEvery = 2 * time.Second        // between two plain lines of progress
	barEvery   = 100 * time.Millisecond // between two states of the bar
	mostLeft   = 1e9                    // seconds that are shown as the remaining time
)

// newProgress begins to show work. unit is the word for what Set counts: "bytes" are shown as MB/s, "" as a share.
func newProgress(out io.Writer, name, unit string, quiet bool) *progress {
	g := &progress{name: name, unit: unit, began: time.Now()}
	if quiet {
		return g
	}
	g.out = out
	if isTerminal(out) {
		g.bar = progressbar.NewOptions64(1000,
			progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(name),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(barEvery))
	}
	return g
}

// Set shows that done of total are complete. The rate and the remaining time are of the pass, which begins again when
// done becomes smaller.
func (g *progress) Set(done, total int64) {
	if g.out == nil {
		return
	}
	now, every := time.Now(), plainEvery
	if g.from.IsZero() || done < g.last {
		g.from, g.base, g.shown = now, done, now
	}
	g.last, total = done, max(total, 1)
	if g.bar != nil {
		every = barEvery
		_ = g.bar.Set64(min(done, total) / max(total/1000, 1))
	}
	if now.Sub(g.shown) < every || done <= g.base {
		return
	}
	g.shown = now
	perSecond := float64(done-g.base) / now.Sub(g.from).Seconds()
	rate := g.rate(perSecond, float64(total))
	if g.bar != nil {
		g.bar.Describe(g.name + " " + rate)
		return
	}
	left := time.Duration(min(float64(total-done)/perSecond, mostLeft) * float64(time.Second))
	fmt.Fprintf(g.out, "%s %d%%, %s, %s left\n", g.name, done*100/total, rate, left.Round(time.Second))
}

// rate returns the text of a rate.
func (g *progress) rate(perSecond, total float64) string {
	switch g.unit {
	case "":
		return fmt.Sprintf("%.1f%%/s", 100*perSecond/total)
	case "bytes":
		return fmt.Sprintf("%.1f MB/s", perSecond/1e6)
	}
	return fmt.Sprintf("%.0f %s/s", perSecond, g.unit)
}

// Leave removes the bar, whether or not the work is complete.
func (g *progress) Leave() {
	if g.bar != nil {
		_ = g.bar.Finish()
	}
}

// Done removes the bar and prints how long the work took.
func (g *progress) Done() {
	g.Leave()
	if g.out != nil {
		fmt.Fprintf(g.out, "%s done in %s\n", g.name, time.Since(g.began).Round(time.Millisecond))
	}
}

// isTerminal reports whether w, a writer or a reader, is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
