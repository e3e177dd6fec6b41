package harness

import (
	"io"
	"os/exec"
	"testing"
)

// ClusterDemo starts tickhive cluster demo. press types a key and Enter. The test's end is the key q: the demo ends its
// nodes, which would outlive a killed demo.
func ClusterDemo(t testing.TB) (in *Instance, press func(key string)) {
	t.Helper()
	var keys io.WriteCloser
	in = LaunchWith(t, func(c *exec.Cmd) {
		var err error
		if keys, err = c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}, nil, "cluster", "demo")
	t.Cleanup(func() {
		_, _ = io.WriteString(keys, "q\n") // it may have ended
		for ok := true; ok; {
			_, ok = in.Line("\x00") // none: it reads to the end
		}
	})
	return in, func(key string) {
		t.Helper()
		if _, err := io.WriteString(keys, key+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}
