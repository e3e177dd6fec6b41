package servertest

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// Main runs the tests of a package and returns the exit code. It lets more tests run at a time
// than there are cores, because those that may run beside others wait for heartbeats and silent
// clients. -parallel overrides it.
func Main(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	return m.Run()
}
