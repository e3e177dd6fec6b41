// Package devtools pins the tools that developers run and the program does not import:
// staticcheck, gofumpt, and oapi-codegen with the library that its clients import. Below it are
// the tools of this repository, lint and mutate. It is a separate module, so that none of them is
// a dependency of the program; the Makefile runs the pinned ones with -modfile.
//
// It owns nothing and runs nothing.
package devtools

import _ "github.com/oapi-codegen/runtime" // of the client that client/thirdparty generates
