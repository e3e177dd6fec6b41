// Package devtools pins the tools that developers run and the program does not import:
// staticcheck and gofumpt. It is a module of its own, so that none of them is a
// dependency of the program; the Makefile runs them with -modfile.
//
// It owns nothing and runs nothing.
package devtools
