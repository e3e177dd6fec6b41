package launchpad

import (
	"fmt"

	"tickhive/internal/durable"
)

// Store is the durable ledger: Do carries out a Command and returns when it is durable, Tick applies due
// changes on a virtual clock.
type Store struct {
	*durable.Store[Command, Record, Result]
	state *State
}

// machine is the interface through which durable.Store uses State.
type machine = durable.State[Command, Record, Result]

// StoreOptions configures a Store. OpenStore sets RecordVersion of its Log.
type StoreOptions struct {
	Options
	durable.Config
}

// OpenStore recovers the ledger and, in a new data directory, sets its genesis to
// the current time of the clock. It returns the errors of durable.Open.
func OpenStore(o StoreOptions) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("launchpad: %w", err)
	}
	o.Log.RecordVersion = RecordVersion
	st, err := durable.Open(durable.Options[Command, Record, Result]{
		Config: o.Config, First: []Command{Begin{}},
		New:            func() machine { return New(o.Options) },
		AppendRecord:   appendRecord,
		DecodeRecord:   DecodeRecord,
		DecodeSnapshot: func(b []byte) (machine, error) { return DecodeSnapshot(b, o.Options) },
	})
	if err != nil {
		return nil, fmt.Errorf("launchpad: %w", err)
	}
	return &Store{st, st.State().(*State)}, nil
}

// View returns the last published state: durable, one atomic load, never nil.
func (s *Store) View() *View { return s.state.published.Load() }

// WithState runs f on the state, in the store's goroutine and without a record (durable.Store.WithState).
func (s *Store) WithState(f func(*State)) error { return s.Store.WithState(func() { f(s.state) }) }

// Do calls st.Do and returns a recorded refusal (an injected fault) as the error, so that callers find every
// *refuse.Refusal in one place.
func Do(st *Store, cmd Command) (Result, error) {
	res, err := st.Do(cmd)
	if err == nil && res.Refused != nil {
		err = res.Refused
	}
	return res, err
}
