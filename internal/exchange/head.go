package exchange

import (
	"time"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/launchpad"
)

// head returns the head of a snapshot of a writer. at is the newest state of the stream whose records the snapshot has
// all; the zero State: none is known.
func (r *restored) head(ledger *launchpad.View, at stream.State, writer []byte) ([]byte, error) {
	h := r.headOf(r.genesis(ledger), r.data.CreatedNs(), at)
	h.Writer = writer
	if r.clock.Virtual() {
		h.Clock, h.ClockNs = datadir.ClockVirtual, max(r.clock.NowNs(), r.data.ClockNs())
	}
	return h.Text()
}

// headOf returns what the heads of a writer's and of a copy's snapshots have in common.
func (b *base) headOf(g node.Genesis, createdNs int64, at stream.State) node.Head {
	return node.Head{
		Version: cmdline.Version, TakenMs: b.o.Machine.Clock.NowNs() / int64(time.Millisecond), Rules: node.Rules,
		Genesis: g, CreatedNs: createdNs, Clock: datadir.ClockReal, Stream: at,
	}
}
