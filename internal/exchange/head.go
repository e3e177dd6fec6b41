package exchange

import (
	"time"

	"tickhive/internal/cmdline"
	"tickhive/internal/datadir"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/launchpad"
)

// head returns the head of a snapshot of a writer. at is the newest state of the stream whose records the snapshot has
// all; the zero State: none is known.
func (r *restored) head(ledger *launchpad.View, at stream.State, writer []byte) ([]byte, error) {
	h := node.Head{
		Version: cmdline.Version, TakenMs: r.o.Machine.Clock.NowNs() / int64(time.Millisecond), Rules: node.Rules,
		Genesis: r.genesis(ledger), CreatedNs: r.data.CreatedNs(), Clock: datadir.ClockReal, Stream: at,
		Writer: writer,
	}
	if r.clock.Virtual() {
		h.Clock, h.ClockNs = datadir.ClockVirtual, max(r.clock.NowNs(), r.data.ClockNs())
	}
	return h.Text()
}
