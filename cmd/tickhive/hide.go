package main

import (
	"strings"
	"unsafe"
)

// hideToken overwrites the internal API's token in the arguments of the process, which every user of
// the machine and /debug/pprof/cmdline can read, and returns a copy of args from before. The system
// shows the memory that the strings of os.Args lie in.
func hideToken(args []string) (before []string) {
	for i, a := range args {
		before = append(before, strings.Clone(a))
		secret := ""
		if i > 0 && args[i-1] == "--internal-token" {
			secret = a
		}
		for _, prefix := range []string{"--internal-token=", "internal.token=", "--set=internal.token="} {
			if rest, ok := strings.CutPrefix(a, prefix); ok {
				secret = rest
			}
		}
		if secret != "" {
			b := unsafe.Slice(unsafe.StringData(secret), len(secret))
			for k := range b {
				b[k] = '*'
			}
		}
	}
	return before
}
