package main

import (
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/lmittmann/tint"

	"github.com/tickhive/tickhive/internal/config"
)

// logging is the program's log and its level. PATCH /internal/v1/log changes the level at run time.
type logging struct {
	level slog.LevelVar
	*slog.Logger
}

// logTime is the layout of the time in a line for a person.
const logTime = "15:04:05.000"

// newLogging returns a log that writes structured lines to w. format is one of those of config. A terminal gets colours
// unless environ has NO_COLOR.
func newLogging(w io.Writer, level, format string, environ []string) (*logging, error) {
	l := &logging{}
	if err := l.set(level); err != nil {
		return nil, err
	}
	o := &slog.HandlerOptions{Level: &l.level}
	var h slog.Handler = slog.NewTextHandler(w, o)
	switch {
	case format == config.LogJSON:
		h = slog.NewJSONHandler(w, o)
	case format == config.LogHuman || format == config.LogAuto && isTerminal(w):
		plain := !isTerminal(w) || noColor(environ)
		h = tint.NewTextHandler(w, &tint.Options{Level: &l.level, TimeFormat: logTime, NoColor: plain})
	}
	l.Logger = slog.New(h)
	return l, nil
}

func (l *logging) set(level string) error {
	v, err := config.ParseLevel(level)
	if err != nil {
		return err
	}
	l.level.Set(v)
	return nil
}

// noColor reports whether an environment asks for text without colours (no-color.org).
func noColor(environ []string) bool {
	return slices.ContainsFunc(environ, func(e string) bool {
		name, value, _ := strings.Cut(e, "=")
		return name == "NO_COLOR" && value != ""
	})
}
