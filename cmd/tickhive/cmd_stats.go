package main

import (
	"context"
	"time"

	"tickhive/sim/stats"
)

// statsCmd prints statistics of a running exchange: TickHive, or another exchange with the same API.
type statsCmd struct {
	Target  string        `default:"http://127.0.0.1:8080" placeholder:"URL" help:"URL of the public listener (${default})."`
	Pairs   []string      `placeholder:"CODE" help:"Show only these pairs (default: all)."`
	Hours   int           `default:"24" help:"Hours to look back, 1 to 168 (${default})."`
	Samples int           `default:"20" help:"Number of spread samples (${default})."`
	Every   time.Duration `default:"250ms" help:"Time between samples (${default})."`
}

// Run queries the public API and prints one line per pair.
func (s *statsCmd) Run(p *program) error {
	all, err := stats.Fetch(context.Background(), stats.Options{
		BaseURL: s.Target, Pairs: s.Pairs, Hours: s.Hours, Samples: s.Samples, Every: s.Every,
	})
	if err != nil {
		return err
	}
	return stats.Print(p.out, all)
}
