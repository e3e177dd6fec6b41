// Package docs holds the pages of this folder that the server shows to browsers, as they are; server/web renders them.
// The other pages are for readers of the source tree.
//
// Owner: none; a page is a constant of the build.
package docs

import _ "embed" // the pages

// Programs is programs.md: how programs for Binance reach an exchange. Nobody changes it.
//
//go:embed programs.md
var Programs []byte
