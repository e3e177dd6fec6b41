package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress reports long work: a bar with rate and remaining time on a terminal, plain lines
// when piped, nothing when quiet. Only one goroutine may use it.
type progress struct {
	name    string
	total   int64
	out     io.Writer
	bar     *progressbar.ProgressBar
	started time.Time
	said    time.Time
}

// plainEvery is the time between two plain lines.
const plainEvery = 2 * time.Second

func newProgress(out io.Writer, name string, total int64, quiet bool) *progress {
	g := &progress{name: name, total: max(total, 1), started: time.Now(), said: time.Now()}
	if quiet {
		return g
	}
	g.out = out
	if isTerminal(out) {
		g.bar = progressbar.NewOptions64(1000,
			progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(name),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	return g
}

// set updates the display.
func (g *progress) set(done int64) {
	switch {
	case g.out == nil:
	case g.bar != nil:
		_ = g.bar.Set64(min(done, g.total) / max(g.total/1000, 1))
	case time.Since(g.said) >= plainEvery && done > 0:
		g.said = time.Now()
		spent := time.Since(g.started)
		left := time.Duration(float64(spent) * float64(g.total-done) / float64(done))
		fmt.Fprintf(g.out, "%s %d%%, %s left\n", g.name, done*100/g.total, left.Round(time.Second))
	}
}

// leave removes the bar, whether the work is complete or not.
func (g *progress) leave() {
	if g.bar != nil {
		_ = g.bar.Finish()
	}
}

// end removes the bar of completed work and prints the duration.
func (g *progress) end() {
	g.leave()
	if g.out != nil {
		fmt.Fprintf(g.out, "%s done in %s\n", g.name, time.Since(g.started).Round(time.Millisecond))
	}
}
