package residents

import (
	"encoding/binary"
	"errors"

	"tickhive/launchpad"
)

// Resident is a simulated person who owns tokens, trades and votes.
type Resident struct {
	User    [16]byte // the id under which the resident votes
	Address launchpad.Address
	Level   int64 // the account level; voting requires at least 20
}

// Options configures a Simulation.
type Options struct {
	Seed uint64
	// BusyNs and FullNs, Unix ns, are the times from which more of the steps have actions. A history that begins
	// days before then stays short, and the part that people see is lively. BusyNs must not be after FullNs.
	BusyNs, FullNs int64
	// Residents holds the residents of the simulation; Builtin returns the default ones.
	Residents []Resident
}

// Limits of the members of Options.
const (
	minResidents = 2
	maxResidents = 10_000
)

// Validate reports the first invalid member.
func (o *Options) Validate() error {
	if len(o.Residents) < minResidents || len(o.Residents) > maxResidents {
		return errors.New("residents: at least 2 and at most 10,000 are needed")
	}
	return nil
}

// residentsBuiltIn is the number of built-in residents: enough voters for a quorum of 100.
const residentsBuiltIn = 40

// Builtin returns the built-in residents of a seed. Every seventh of them may not vote.
func Builtin(seed uint64) []Resident {
	all := make([]Resident, residentsBuiltIn)
	for i := range all {
		r := newRNG(seed, uint64(i)|1<<63)
		for j := 0; j < 24; j += 8 {
			var word [8]byte
			binary.BigEndian.PutUint64(word[:], r.next())
			copy(all[i].Address[min(j, 12):], word[:])
		}
		binary.BigEndian.PutUint64(all[i].User[:], r.next())
		binary.BigEndian.PutUint64(all[i].User[8:], r.next())
		if all[i].Level = 20 + r.below(11); i%7 == 6 {
			all[i].Level = r.below(20)
		}
	}
	return all
}
