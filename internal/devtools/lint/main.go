package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

var errUsage = errors.New("usage: lint unparam PACKAGE..., lint misspell < LIST, " +
	"or go vet -vettool=lint PACKAGE...")

func main() {
	args := os.Args[1:]
	if vetCalls(args) {
		vet() // exits
	}
	found, err := run(args)
	for _, line := range found {
		fmt.Println(line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
	}
	if err != nil || len(found) > 0 {
		os.Exit(1)
	}
}

func run(args []string) (found []string, err error) {
	switch {
	case len(args) > 1 && args[0] == "unparam":
		return unparam(args[1:])
	case len(args) == 1 && args[0] == "misspell":
		return misspelled(os.Stdin)
	default:
		return nil, errUsage
	}
}

// vetCalls reports whether the arguments are from the go command: a question about the tool,
// or flags and the description of one package.
func vetCalls(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return strings.HasSuffix(last, ".cfg") || last == "-flags" || strings.HasPrefix(last, "-V=")
}
