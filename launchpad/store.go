package launchpad

import (
	"errors"
	"fmt"

	"tickhive/internal/durable"
)

// Store is the ledger behind its log: Do carries out a Command durably, View is the
// published picture, Tick moves a virtual clock.
type Store = durable.Store[*State, Command, Record, Result, *View]

// StoreOptions opens a Store.
type StoreOptions struct {
	Options
	durable.Settings
}

// OpenStore recovers the ledger and, in a new data directory, sets its genesis to
// the current time of the clock. It returns the errors of durable.Open.
func OpenStore(o StoreOptions) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("launchpad: %w", err)
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
		return nil, fmt.Errorf("launchpad: %w", err)
	}
	if !st.View().Begun() {
		if _, err := st.Do(Begin{}); err != nil {
			return nil, errors.Join(fmt.Errorf("launchpad: genesis: %w", err), st.Close())
		}
	}
	return st, nil
}

// Carry is Do, with a refusal that was recorded (an injected fault) told as the error
// that it is: callers see every *refuse.Refusal in one place.
func Carry(st *Store, cmd Command) (Result, error) {
	res, err := st.Do(cmd)
	if err == nil && res.Refused != nil {
		err = res.Refused
	}
	return res, err
}
