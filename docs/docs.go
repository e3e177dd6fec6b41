package docs

import "embed"

// Files has every page, by its path in this folder.
//
//go:embed *.md */*.md
var Files embed.FS
