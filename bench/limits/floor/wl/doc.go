// Package wl holds the order streams of the floor: what an operation is, and the file in which a stream is stored.
// wl.go is an unchanged copy, so the rules for the project's code do not apply to it (package floor).
package wl
