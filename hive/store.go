package hive

import (
	"fmt"

	"tickhive/internal/durable"
)

// Store is the durable hive: Do carries out a Command and returns when it is durable, Tick applies due changes
// on a virtual clock.
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

// OpenStore recovers the hive. In a new data directory it stores the seed and the genesis of the options. The
// caller must then fold every current fact of the launchpad. It returns the errors of durable.Open.
func OpenStore(o StoreOptions) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("hive: %w", err)
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
		return nil, fmt.Errorf("hive: %w", err)
	}
	return &Store{st, st.State().(*State)}, nil
}

// View returns the last published state: durable, one atomic load, never nil.
func (s *Store) View() *View { return s.state.published.Load() }

// WithState runs f on the state, in the store's goroutine and without a record (durable.Store.WithState).
func (s *Store) WithState(f func(*State)) error { return s.Store.WithState(func() { f(s.state) }) }
