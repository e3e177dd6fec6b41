package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	case begun.SealedWith != own.SealedWith:
		return errors.New("its secrets are sealed by another key; a directory that is restored from a backup begins " +
			"a new stream")
	}
	if err := m.checkSettings(begun.Settings, own.Settings); err != nil {
		return err
	}
	for i, l := range m.source.Logs {
		if at.Pos[i] > l.Log.LastSeq() {
			return fmt.Errorf("it has record %d of the log %s, and the data directory ends at %d. If the directory "+
				"was restored from a copy, or lost records: make one from the stream, tickhive stream restore NEW "+
				"--from nats://... If somebody else has written to the stream: make one from this directory, tickhive "+
				"stream restore NEW --from-dir DIR, which begins a new stream, and change the credentials of the "+
				"servers",
				at.Pos[i], l.Name, l.Log.LastSeq())
		}
	}
	return nil
}

// checkSettings refuses a stream that began with other settings than this exchange has. The text of a stream that an
// earlier program began may lack keys; FullSettings adds them before the comparison.
func (m *Mirror) checkSettings(begun, own string) (err error) {
	if begun != own && m.source.FullSettings != nil {
		if begun, err = m.source.FullSettings(begun); err != nil {
			return fmt.Errorf("its settings are not those of this program: %w", err)
		}
	}
	if begun == own {
		return nil
	}
	return fmt.Errorf("it began with other settings of market, orders, launchpad, hive, referral, assets or "+
		"pairs, and its replicas execute the records by them: set those again, or restore a backup, which begins a "+
		"new stream. The first difference: it has %q, this start %q", lineOnce(begun, own), lineOnce(own, begun))
}

// lineOnce returns the first line of a text that another one lacks, empty if there is none.
func lineOnce(of, other string) string {
	lines := strings.Split(other, "\n")
	for line := range strings.SplitSeq(of, "\n") {
		if !slices.Contains(lines, line) {
			return line
		}
	}
	return ""
}
