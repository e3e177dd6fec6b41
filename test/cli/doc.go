// Package cli tests the program in one process of its own: commands, flags, signals, files, and what its API does over
// kills and restarts.
package cli
