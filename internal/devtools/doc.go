// Package devtools pins the tools that developers run and the program does not import:
// deadcode, esbuild, nfpm, and oapi-codegen with the library that its clients import. lint.mod beside it pins
// golangci-lint. They are separate modules, so that none of them is a dependency of the program; the Makefile runs
// the pinned ones with -modfile.
//
// It owns nothing and runs nothing.
package devtools

import _ "github.com/oapi-codegen/runtime" // of the client that client/thirdparty generates
