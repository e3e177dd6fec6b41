package mirror

import (
	"errors"
	"fmt"

	"tickhive/internal/datadir"
	"tickhive/internal/node"
	"tickhive/internal/stream"
)

// checkStream checks that the stream is one of this exchange's history.
func (m *Mirror) checkStream(at *stream.State, begun, own *node.Genesis) error {
	switch {
	case at.History == [16]byte{}:
		return nil
	case !datadir.HadTerm(m.source.Dir, at.Node):
		return fmt.Errorf("%w (term %d). Start this machine as a standby: the same command with --promote, or "+
			"tickhive replica --promote --data-dir DIR", ErrFenced, at.Term)
	case at.History != datadir.History(m.source.Dir):
		return fmt.Errorf("it belongs to another exchange, of the history %x", at.History)
	case begun.Seed != own.Seed || begun.LedgerNs != own.LedgerNs:
		return errors.New("it began with another ledger")
	case at.Pos > m.source.Log.LastSeq():
		return fmt.Errorf("it has record %d, and the data directory ends at %d. If the directory was restored from a "+
			"copy, or lost records: make one from the stream, tickhive stream restore NEW --from nats://... If "+
			"somebody else has written to the stream: make one from this directory, tickhive stream restore NEW "+
			"--from-dir DIR, which begins a new stream, and change the credentials of the servers",
			at.Pos, m.source.Log.LastSeq())
	}
	return nil
}
