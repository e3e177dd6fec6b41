package node

import "sync"

// ViewChanges tells those that wait that something has changed. Any goroutine may use it.
type ViewChanges struct {
	mu   sync.Mutex
	next chan struct{} // nil: nobody waits
}

// Wait returns a channel that the next Tell closes.
func (n *ViewChanges) Wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

// Tell wakes those that wait.
func (n *ViewChanges) Tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}
