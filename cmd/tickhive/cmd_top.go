package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// topCmd shows what an operator watches of a running exchange: the figures of GET /internal/v1/figures.
type topCmd struct {
	internalFlags
	Interval time.Duration `default:"1s" help:"Time between two readings, 100ms to 1m (${default})."`
	Span     int           `default:"5" placeholder:"SECONDS" help:"Seconds to which rates and percentiles belong, 1 to 60 (${default})."`
	Once     bool          `help:"Print one view, over one interval, and end."`
	JSON     bool          `help:"Print each reading as a line of JSON."`
}

const (
	topLeast   = 100 * time.Millisecond // of --interval
	topMost    = time.Minute
	topTimeout = 10 * time.Second // of one reading
	topColumns = 120              // of a view that no terminal shows
	topRoutes  = 20               // rows of routes in it

	ctrlC = 3 // the key, which a terminal in raw mode sends as a byte
)

// Run shows one view after the other until an interrupt, or the key q.
func (c *topCmd) Run(p *program) error {
	if c.Interval < topLeast || c.Interval > topMost {
		return usage("top: --interval: %s must be from %s to %s", c.Interval, topLeast, topMost)
	}
	if c.Span < 1 || c.Span > 60 {
		return usage("top: --span: %d must be from 1 to 60 seconds", c.Span)
	}
	api, err := c.api(p)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	v := &topView{api: api, path: fmt.Sprintf("/figures?span=%d", c.Span), at: c.Internal, json: c.JSON, out: p.out}
	if err := v.read(ctx); err != nil { // before a terminal is changed
		return err
	}
	switch {
	case c.Once:
		if pause(ctx, c.Interval) {
			err = v.read(ctx)
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
		return v.print()
	case isTerminal(p.out) && !c.JSON:
		return v.live(ctx, p, c.Interval)
	}
	for err == nil {
		if err = v.print(); err == nil && pause(ctx, c.Interval) {
			err = v.read(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return err
}

// pause waits, and returns false when ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// topView shows the newest reading. Owner: one goroutine.
type topView struct {
	api      *internalAPI
	path, at string // the route, and the listener that the command line names
	json     bool
	out      io.Writer
	raw      json.RawMessage
	now      figures
	failed   error // of the last reading of a live view
}

func (v *topView) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, topTimeout)
	defer cancel()
	var raw json.RawMessage
	if err := v.api.call(ctx, http.MethodGet, v.path, "", &raw); err != nil {
		return err
	}
	var now figures
	if err := json.Unmarshal(raw, &now); err != nil {
		return fmt.Errorf("internal API: GET %s: %w", v.path, err)
	}
	v.raw, v.now = raw, now
	return nil
}

// print writes one view without control characters.
func (v *topView) print() error {
	if v.json {
		_, err := fmt.Fprintf(v.out, "%s\n", v.raw)
		return err
	}
	lines := v.now.view(v.at, topRoutes)
	for i := range lines {
		lines[i] = cut(lines[i], topColumns)
	}
	_, err := fmt.Fprintf(v.out, "%s\n\n", strings.Join(lines, "\n"))
	return err
}

// live shows the views on a terminal, each in the place of the one before, and gives the terminal back as it was.
func (v *topView) live(ctx context.Context, p *program, every time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if isTerminal(os.Stdin) {
		before, err := term.MakeRaw(int(os.Stdin.Fd()))
		if err != nil {
			return fmt.Errorf("top: the terminal: %w", err)
		}
		defer func() { _ = term.Restore(int(os.Stdin.Fd()), before) }() // the process ends
		go quitByKey(os.Stdin, cancel)
	}
	// The other screen, without a cursor.
	if _, err := io.WriteString(v.out, "\x1b[?1049h\x1b[?25l"); err != nil {
		return fmt.Errorf("top: the terminal: %w", err)
	}
	defer func() { _, _ = io.WriteString(v.out, "\x1b[?25h\x1b[?1049l") }() // a terminal that has gone needs nothing
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	plain := noColor(p.environ)
	for {
		if err := v.draw(plain); err != nil {
			return fmt.Errorf("top: the terminal: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
		case <-ticks.C:
			v.failed = v.read(ctx)
		}
	}
}

// quitByKey ends the view at q, Q and Ctrl-C.
func quitByKey(in io.Reader, quit func()) {
	keys := make([]byte, 16)
	for {
		n, err := in.Read(keys)
		if err != nil || bytes.ContainsAny(keys[:n], "qQ") || bytes.IndexByte(keys[:n], ctrlC) >= 0 {
			quit()
			return
		}
	}
}

// draw writes the view in the size of the terminal: one write, so that no half of it is seen.
func (v *topView) draw(plain bool) error {
	columns, rows := topColumns, topRoutes
	if f, ok := v.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			columns, rows = w, h
		}
	}
	lines := v.now.view(v.at, rows)
	if v.failed != nil {
		lines[0] = fmt.Sprintf("no answer, shown is the last one: %v", v.failed)
	}
	bold := func(text string) string {
		if plain {
			return text
		}
		return "\x1b[1m" + text + "\x1b[0m"
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range lines[:min(len(lines), rows)] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		line = cut(line, columns)
		switch name, rest := split(line); {
		case i == 0 || strings.HasPrefix(line, topHeads):
			line = bold(line)
		case name != "":
			line = bold(name) + rest
		}
		b.WriteString(line + "\x1b[K")
	}
	b.WriteString("\x1b[J")
	_, err := io.WriteString(v.out, b.String())
	return err
}

// cut returns the beginning of a line that fits into so many columns. Control characters, which a text of the exchange
// may have, are shown as spaces.
func cut(line string, columns int) string {
	runes := []rune(line)
	for i, r := range runes {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			runes[i] = ' '
		}
	}
	return string(runes[:min(len(runes), columns)])
}
