package launchpad

import (
	"fmt"

	"tickhive/internal/durable"
)

// Store is the ledger behind its log: Do carries out a Command durably, Tick moves a virtual
// clock.
type Store struct {
	*durable.Store[Command, Record, Result]
	state *State
}

// machine is State as the store sees it.
type machine = durable.State[Command, Record, Result]

// StoreOptions opens a Store. RecordVersion of its Log is set by OpenStore.
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
		New:            func() machine { return newState(o.Options) },
		AppendRecord:   appendRecord,
		DecodeRecord:   decodeRecord,
		DecodeSnapshot: func(b []byte) (machine, error) { return decodeSnapshot(b, o.Options) },
	})
	if err != nil {
		return nil, fmt.Errorf("launchpad: %w", err)
	}
	return &Store{st, st.State().(*State)}, nil
}

// View returns the last published state: durable, one atomic load, never nil.
func (s *Store) View() *View { return s.state.published.Load() }

// Fold runs f on the state in the store's goroutine, without a record (durable.Store.Fold).
func (s *Store) Fold(f func(*State)) error { return s.Store.Fold(func() { f(s.state) }) }

// Do is Do, with a refusal that was recorded (an injected fault) told as the error
// that it is: callers see every *refuse.Refusal in one place.
func Do(st *Store, cmd Command) (Result, error) {
	res, err := st.Do(cmd)
	if err == nil && res.Refused != nil {
		err = res.Refused
	}
	return res, err
}
