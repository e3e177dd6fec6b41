package main

type statsCmd struct{}

// Run prints figures.
func (statsCmd) Run(p *program) error { return nil }
