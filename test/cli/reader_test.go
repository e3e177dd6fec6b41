package cli

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
	"github.com/tickhive/tickhive/test/nets"
)

// What an answer has said, the next process shows when this one was killed behind the answer, under every sync policy.
// The sockets of a client go on there behind what they have shown.
func TestTheNextProcessShowsWhatAnAnswerHasSaid(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	kills := 1
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		kills = 30
	}
	for _, policy := range []string{"always", "interval", "off"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			args := []string{
				"--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet", "--journal-sync", policy,
				"--set", "rate.allow=127.0.0.1", "--set", "journal.snapshot_bytes=60000",
			}
			const clients = 3
			var readers [clients]*nets.Reader
			in := harness.Start(t, args...)
			each := func(name string, do func(i int, n *nets.Node)) {
				t.Run(name, func(t *testing.T) {
					for i := range clients {
						t.Run(fmt.Sprint("client ", i), func(t *testing.T) {
							t.Parallel()
							do(i, &nets.Node{T: t, Public: in.Public, Internal: in.Root})
						})
					}
				})
			}
			each("before", func(i int, n *nets.Node) {
				readers[i] = nets.NewReader(n, i)
				readers[i].Round(10)
				readers[i].Open(13)
			})
			for range kills {
				in.Signal(syscall.SIGKILL)
				in.Wait()
				in = harness.Start(t, args...)
				each("after the kill", func(i int, n *nets.Node) {
					readers[i].At(n, "after the kill")
					readers[i].Close()
					readers[i].Round(16)
					readers[i].Open(19)
				})
			}
		})
	}
}
