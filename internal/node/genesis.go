package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
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

// ReadStream reads a stream to its present end, from the newest snapshot in its archive on.
func ReadStream(ctx context.Context, log jet.Log) (at stream.State, g Genesis, err error) {
	last, err := log.Last(ctx)
	if err != nil || last == 0 {
		return at, g, err
	}
	s, err := Newest(ctx, log, last)
	if err != nil {
		return at, g, err
	}
	if s != nil {
		at, g = s.At, s.Genesis
		s.Close()
	}
	if at.Seq >= last {
		return at, g, nil
	}
	r := stream.NewReader(at, Rules)
	err = log.Follow(ctx, at.Seq+1, func(seq uint64, data []byte) error {
		m, valid, err := r.Next(seq, data)
		if err == nil && valid && m.Kind == stream.Base {
			err = json.Unmarshal(m.Info, &g)
		}
		if err == nil && seq >= last {
			err = io.EOF
		}
		return err
	})
	if errors.Is(err, io.EOF) {
		err = r.Unsure() // a node may campaign behind it
	}
	return r.State(), g, err
}

// ReadGenesis reads the first message of a stream, or what a snapshot in its archive says of it.
func ReadGenesis(ctx context.Context, log jet.Log) (g Genesis, err error) {
	data, err := readPatiently(ctx, log, 1) // its writer may be about to send it
	if errors.Is(err, jet.ErrTrimmed) {
		s, err := Newest(ctx, log, math.MaxUint64)
		if err != nil {
			return g, err
		}
		defer s.Close()
		return s.Genesis, nil
	}
	if errors.Is(err, jet.ErrMissing) {
		return g, fmt.Errorf("the stream has no first message, start its writer: %w", err)
	}
	if err != nil {
		return g, err
	}
	m, valid, err := stream.NewReader(stream.State{}, Rules).Next(1, data)
	switch {
	case err != nil:
		return g, err
	case !valid || m.Kind != stream.Base:
		return g, errors.New("the first message of the stream is not a genesis")
	}
	return g, json.Unmarshal(m.Info, &g)
}
