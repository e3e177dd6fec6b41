package cluster

import (
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
	"github.com/tickhive/tickhive/test/nets"
)

// Every GET of the documents has the same bytes at the writer and at its standby, and at the standby when it has taken
// over, in an unchanged state: for the public and for three users.
func TestEveryAnswerIsTheSameAtEachNode(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	f := newFailover(t)
	f.start(0, f.serve("--pairs", "none", "--sim", "off"))
	writer := reached(t, f.nodes[0], f.nodes[0])
	w := nets.Build(writer, func(time.Duration) {}) // the clock is the machine's: all of it is of this minute
	w.Running = true
	writer.OK(w.Carol, "POST", "/api/orders/cancel-all-after", `{"timeoutMs":86400000}`) // Build's fires in this minute
	f.start(1, f.standby(1, "--set", "sim.enabled=false"))
	f.follows(f.nodes[1], f.nodes[0])
	before := w.Reads(writer)
	w.Same(writer, "the state is not at rest", before)
	standby := &nets.Node{T: t, Public: f.nodes[1].Public, Internal: f.nodes[1].Root, Writer: f.nodes[0].Public}
	w.Same(standby, "at the standby", before)
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.awaitRole(1, "writer")
	standby.Writer = standby.Public
	w.Same(standby, "after the takeover", before)
	t.Logf("%d reads are equal", len(before))
}
