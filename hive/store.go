package hive

import (
	"errors"
	"fmt"

	"tickhive/internal/durable"
)

// Store is the hive behind its log: Do carries out a Command durably, View is the
// published picture, Tick moves a virtual clock.
type Store = durable.Store[*State, Command, Record, Result, *View]

// StoreOptions opens a Store.
type StoreOptions struct {
	Options
	durable.Settings
}

// OpenStore recovers the hive and, in a new data directory, sets the seed and the
// genesis of the options. Afterwards the caller folds every present fact of the launchpad.
// It returns the errors of durable.Open.
func OpenStore(o StoreOptions) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("hive: %w", err)
	}
	o.Log.RecordVersion = RecordVersion
	st, err := durable.Open(durable.Options[*State, Command, Record, Result, *View]{
		Settings:       o.Settings,
		New:            func() *State { return New(o.Options) },
		AppendRecord:   AppendRecord,
		DecodeRecord:   DecodeRecord,
		DecodeSnapshot: func(b []byte) (*State, error) { return DecodeSnapshot(b, o.Options) },
	})
	if err != nil {
		return nil, fmt.Errorf("hive: %w", err)
	}
	if !st.View().Begun() {
		if _, err := st.Do(Begin{}); err != nil {
			return nil, errors.Join(fmt.Errorf("hive: begin: %w", err), st.Close())
		}
	}
	return st, nil
}
