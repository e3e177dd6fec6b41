package main

import (
	"io"
	"log/slog"
)

// logging is the program's log and its level. PATCH /internal/v1/log changes the level at run time.
type logging struct {
	level slog.LevelVar
	*slog.Logger
}

// newLogging returns a log that writes structured lines to w.
func newLogging(w io.Writer, level string) (*logging, error) {
	l := &logging{}
	if err := l.set(level); err != nil {
		return nil, err
	}
	l.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: &l.level}))
	return l, nil
}

func (l *logging) set(level string) error {
	v, err := parseLevel(level)
	if err != nil {
		return err
	}
	l.level.Set(v)
	return nil
}
