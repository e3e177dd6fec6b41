package forward

import (
	"time"

	"tickhive/internal/refuse"
)

// Replica describes a server of an exchange that executes the records of another one.
type Replica struct {
	// LagNs returns how far the views are behind the writer; with more than MaxLagNs public reads are refused.
	LagNs    func() int64
	MaxLagNs int64
	// Published returns a channel that is closed when the views show something new.
	Published func() <-chan struct{}
	// Forward sends to the writer what changes something and what is signed.
	Forward *Forwarder
}

// Stale returns the refusal of public reads while the views are too far behind the writer, nil while they are not. A
// writer, which is no replica (nil), is never behind. The probes, the streams and the reads ask this one function, so
// that none of them says that a replica is well while another one refuses.
func (r *Replica) Stale() *refuse.Refusal {
	if r == nil {
		return nil
	}
	return r.refusal(r.LagNs())
}

func (r *Replica) refusal(lagNs int64) *refuse.Refusal {
	if lagNs <= r.MaxLagNs {
		return nil
	}
	return refuse.New(refuse.Stale, "", "This replica is %.1f s behind its writer, and at most %.1f s are allowed. "+
		"Ask the writer or another replica.", time.Duration(lagNs).Seconds(),
		time.Duration(r.MaxLagNs).Seconds()).After(1)
}

// Read returns how far the views are behind the writer in ms, and the refusal of a read while that is too far.
func (r *Replica) Read() (lagMs int64, refused *refuse.Refusal) {
	lagNs := max(r.LagNs(), 0)
	return lagNs / int64(time.Millisecond), r.refusal(lagNs)
}
