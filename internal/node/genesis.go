package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// Genesis holds what the first message of a stream tells its readers.
type Genesis struct {
	Epoch    string `json:"epoch"`
	Version  string `json:"version"`  // of the program that began the stream
	Seed     uint64 `json:"seed"`     // of the ledger
	LedgerNs int64  `json:"ledgerNs"` // genesis of the ledger
	// SealedWith is the id of the key that sealed the secrets when the stream began; empty: they were plain.
	SealedWith string `json:"sealedWith,omitempty"`
}

// ReadGenesis reads the first message of a stream that counts.
//
// Errors: jet.ErrTrimmed when the stream does not have it any more; stream.ErrKey when all that the stream has is
// signed with other keys; jet.ErrMissing when none comes within 30 s.
func ReadGenesis(ctx context.Context, log jet.Log, keys *stream.Keys) (g Genesis, err error) {
	r := stream.NewReader(stream.State{}, Rules, keys)
	last, err := log.Last(ctx)
	if err != nil {
		return g, err
	}
	within, cancel := context.WithTimeout(ctx, missingFor) // its writer may be about to send it
	defer cancel()
	err = log.Follow(within, 1, func(seq uint64, data []byte) error {
		m, valid, err := r.Next(seq, data)
		if err == nil && valid {
			if err = json.Unmarshal(m.Info, &g); err == nil {
				err = io.EOF
			}
		}
		if unsure := r.Unsure(); err == nil && !valid && seq >= last && errors.Is(unsure, stream.ErrKey) {
			err = unsure // the stream has begun under other keys: no later message is its first one
		}
		return err
	})
	switch {
	case errors.Is(err, io.EOF):
		return g, nil
	case ctx.Err() == nil && within.Err() != nil:
		return g, fmt.Errorf("%w: the stream has no first message, start its writer: %w", jet.ErrMissing,
			errors.Join(err, r.Unsure()))
	}
	return g, err
}
