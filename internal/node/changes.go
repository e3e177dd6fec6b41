package node

import "sync"

// Changes tells those that wait that something has changed. Any goroutine may use it.
type Changes struct {
	mu   sync.Mutex
	next chan struct{} // nil: nobody waits
}

// Wait returns a channel that the next Tell closes.
func (n *Changes) Wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

// Tell wakes those that wait.
func (n *Changes) Tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}
