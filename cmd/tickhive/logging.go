package main

import (
	"io"
	"log/slog"

	"github.com/tickhive/tickhive/internal/config"
)

// logging is the program's log and its level. PATCH /internal/v1/log changes the level at run time.
type logging struct {
	level slog.LevelVar
	*slog.Logger
}

// newLogging returns a log that writes structured lines to w. format is one of those of config.
func newLogging(w io.Writer, level, format string) (*logging, error) {
	l := &logging{}
	if err := l.set(level); err != nil {
		return nil, err
	}
	o := &slog.HandlerOptions{Level: &l.level}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if format == config.LogJSON {
		h = slog.NewJSONHandler(w, o)
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
