// Package limit: see limit.go. Copied unchanged; its style is the anchor's.
package limit
