// Package wl: see wl.go. Copied unchanged; its style is the anchor's.
package wl
