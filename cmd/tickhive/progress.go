package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows the progress of long work: on a terminal a bar with rate and remaining time, otherwise plain
// lines, and nothing when quiet. Owner: one goroutine.
type progress struct {
	name    string
	out     io.Writer
	bar     *progressbar.ProgressBar
	started time.Time
	printed time.Time
}

// plainEvery is the time between two plain lines of progress.
const plainEvery = 2 * time.Second

func newProgress(out io.Writer, name string, quiet bool) *progress {
	g := &progress{name: name, started: time.Now(), printed: time.Now()}
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

// Set shows that done of total are complete.
func (g *progress) Set(done, total int64) {
	total = max(total, 1)
	switch {
	case g.out == nil:
	case g.bar != nil:
		_ = g.bar.Set64(min(done, total) / max(total/1000, 1))
	case time.Since(g.printed) >= plainEvery && done > 0:
		g.printed = time.Now()
		spent := time.Since(g.started)
		left := time.Duration(float64(spent) * float64(total-done) / float64(done))
		fmt.Fprintf(g.out, "%s %d%%, %s left\n", g.name, done*100/total, left.Round(time.Second))
	}
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
		fmt.Fprintf(g.out, "%s done in %s\n", g.name, time.Since(g.started).Round(time.Millisecond))
	}
}

// isTerminal reports whether w, a writer or a reader, is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
