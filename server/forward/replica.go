package forward

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
