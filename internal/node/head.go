package node

import (
	"encoding/json"
	"fmt"

	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/wal"
)

// Head holds what a snapshot says besides the state: what a restore, and a node that starts by it, must know. It is the
// head of each snapshot file (internal/wal/FORMAT.md).
type Head struct {
	Version string  `json:"version"` // of the program
	TakenMs int64   `json:"takenMs"` // Unix ms, by the machine's clock
	Rules   uint16  `json:"rules"`   // by which the records up to the snapshot were executed
	Genesis Genesis `json:"genesis"`

	CreatedNs int64  `json:"createdNs"`         // process clock, when the exchange began
	Clock     string `json:"clock"`             // kind of the process clock: real or virtual
	ClockNs   int64  `json:"clockNs,omitempty"` // what a virtual clock had reached
	// Stream is the newest state of the stream that the node knew and whose records the snapshot has all; the zero
	// State: none.
	Stream stream.State `json:"stream,omitzero"`
	// Writer is what the record of the term of Stream tells, if the node knows it: the stream may not have it any more.
	Writer json.RawMessage `json:"writer,omitempty"`
}

// Text returns the text of the head.
func (h *Head) Text() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return text, nil
}

// ParseHead reads the head of a snapshot.
//
// Errors: stream.ErrRules for a snapshot of a later program, whose parts may have a later format.
func ParseHead(meta wal.SnapshotMeta) (h Head, err error) {
	if err := json.Unmarshal(meta.Head, &h); err != nil {
		return h, fmt.Errorf("the head of the snapshot: %w", err)
	}
	if h.Rules > Rules {
		return h, fmt.Errorf("%w: version %d of the rules, and this program knows %d", stream.ErrRules, h.Rules, Rules)
	}
	return h, nil
}
