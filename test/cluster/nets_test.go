package cluster

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
	"github.com/tickhive/tickhive/test/nets"
)

// reached returns a node as a client reaches it. The private sockets and the internal API are the writer's.
func reached(t *testing.T, in, writer *harness.Instance) *nets.Node {
	return &nets.Node{T: t, Public: in.Public, Internal: writer.Root, Writer: writer.Public}
}

// What an answer has said, every later read shows: at the writer and at its standby, where a read names the seq of the
// answer, when the standby has taken over from a writer that was killed behind the answer, and so on. The sockets of a
// client that moves on go on behind what they have shown.
func TestEveryNodeShowsWhatAnAnswerHasSaid(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	f := newFailover(t)
	f.start(0, f.serve("--pairs", "none", "--sim", "off"))
	off := []string{"--set", "sim.enabled=false"}
	f.start(1, f.standby(1, off...))
	const clients = 3
	var readers [clients]*nets.Reader
	each := func(name string, at, writer *harness.Instance, do func(i int, n *nets.Node)) {
		t.Run(name, func(t *testing.T) {
			for i := range clients {
				t.Run(fmt.Sprint("client ", i), func(t *testing.T) {
					t.Parallel()
					do(i, reached(t, at, writer))
				})
			}
		})
	}
	takeovers := 1
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		takeovers = 20
	}
	each("at the writer", f.nodes[0], f.nodes[0], func(i int, n *nets.Node) {
		readers[i] = nets.NewReader(n, i)
		readers[i].Round(10)
	})
	for k := range takeovers {
		old, other := k%2, 1-k%2
		f.follows(f.nodes[other], f.nodes[old])
		each("at the standby", f.nodes[other], f.nodes[old], func(i int, n *nets.Node) {
			readers[i].At(n, "at the standby")
			readers[i].Round(10)
			readers[i].Open(13)
		})
		f.nodes[old].Signal(syscall.SIGKILL)
		f.nodes[old].Wait()
		f.awaitRole(other, "writer")
		each("after the takeover", f.nodes[other], f.nodes[other], func(i int, n *nets.Node) {
			readers[i].At(n, "after the takeover")
			readers[i].Close()
			readers[i].Round(16)
		})
		if k+1 < takeovers {
			f.start(old, f.standby(old, off...))
		}
	}
}
