package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/wal"
)

// Times of a copy.
const (
	saveEvery   = time.Second            // between two syncs
	missingFor  = 30 * time.Second       // until a message that the stream does not have counts as lost
	missingLook = 500 * time.Millisecond // between two looks
)

// keeper makes a copy durable from time to time, on a goroutine.
type keeper struct {
	mu    sync.Mutex
	at    stream.State // behind the last message that was taken
	end   wal.Position // of the records that were taken
	saved uint64       // message of the durable state
	err   error

	stop chan struct{} // nil: no goroutine
	done sync.WaitGroup
}

func (k *keeper) note(at stream.State, end wal.Position) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.end = at, end
}

func (k *keeper) failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// begin starts the goroutine.
func (k *keeper) begin(c *Copy) {
	k.stop = make(chan struct{})
	log := c.log
	k.done.Go(func() {
		tick := time.NewTicker(saveEvery)
		defer tick.Stop()
		for {
			select {
			case <-k.stop:
				return
			case <-tick.C:
			}
			if err := c.save(log); err != nil {
				k.mu.Lock()
				k.err = err
				k.mu.Unlock()
				return
			}
		}
	})
}

// finish ends the goroutine and makes the copy durable a last time.
func (k *keeper) finish(c *Copy) error {
	if k.stop == nil {
		return nil
	}
	close(k.stop)
	k.done.Wait()
	k.stop = nil
	return errors.Join(k.failed(), c.save(c.log))
}

// save syncs the log and stores the state that it reflects then.
func (c *Copy) save(log *wal.Log) error {
	k := &c.keeper
	k.mu.Lock()
	s, saved := CopyState{Identity: c.Identity, Genesis: c.o.Genesis, At: k.at, End: k.end}, k.saved
	k.mu.Unlock()
	if s.At.Seq == saved {
		return nil
	}
	if err := log.Sync(); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if err := c.writeState(&s); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	k.mu.Lock()
	k.saved = s.At.Seq
	k.mu.Unlock()
	return nil
}

// Note notes the state of the stream behind the last message that was taken. The first one is made durable at once.
func (c *Copy) Note(at stream.State) error {
	c.keeper.note(at, c.end)
	if c.keeper.stop != nil || c.lock == nil {
		return nil
	}
	if err := c.save(c.log); err != nil {
		return err
	}
	c.keeper.begin(c)
	return nil
}

// Begun reports whether the copy has a log.
func (c *Copy) Begun() bool { return c.log != nil }

// Join compares a continued copy with the stream, and takes the messages up to a snapshot with which the node begins;
// from is nil: the node begins with the first message. A copy that is not one of the stream is put aside.
func (c *Copy) Join(ctx context.Context, log jet.Log, from *Snapshot) error {
	if !c.Begun() {
		return nil
	}
	err := c.proven(ctx, log)
	if err == nil && from != nil && from.At.Seq > c.keeper.at.Seq {
		err = c.reach(ctx, log, &from.Head)
	}
	if errors.Is(err, ErrOffChain) {
		return c.SetAside(err)
	}
	return err
}

// proven returns an error unless the stream has the last message of the copy. Its sum covers the whole history.
func (c *Copy) proven(ctx context.Context, log jet.Log) error {
	at := c.keeper.at
	data, err := readPatiently(ctx, log, at.Seq)
	switch {
	case errors.Is(err, jet.ErrMissing), errors.Is(err, jet.ErrTrimmed):
		return fmt.Errorf("%w: its last message is number %d: %w", ErrOffChain, at.Seq, err)
	case err != nil:
		return err
	case !at.EndsWith(data):
		return fmt.Errorf("%w: the stream has another message %d", ErrOffChain, at.Seq)
	}
	return nil
}

// readPatiently reads a message that a server which is behind may lack for a while. After such an answer, one that
// does not come does not end the patience. A request that the end of the patience cuts short says nothing: the error is
// the one of the request before.
func readPatiently(ctx context.Context, log jet.Log, seq uint64) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, missingFor)
	defer cancel()
	for last := error(nil); ; last = err {
		data, err = log.Read(ctx, seq)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, cmp.Or(last, err)
		case !errors.Is(err, jet.ErrMissing) && (last == nil || !errors.Is(err, jet.ErrUnavailable)):
			return data, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(missingLook):
		}
	}
}

// reach takes the messages behind the copy up to the one of a snapshot.
func (c *Copy) reach(ctx context.Context, log jet.Log, to *Head) error {
	r := stream.NewReader(c.keeper.at, Rules)
	err := log.Follow(ctx, c.keeper.at.Seq+1, func(seq uint64, data []byte) error {
		m, valid, err := r.Next(seq, data)
		if err == nil && valid {
			if err = c.Take(&m); err == nil {
				err = c.Note(r.State())
			}
		}
		if err == nil && seq >= to.At.Seq {
			err = io.EOF
		}
		return err
	})
	switch {
	case errors.Is(err, jet.ErrTrimmed):
		return fmt.Errorf("%w: %w", ErrOffChain, err)
	case !errors.Is(err, io.EOF):
		return err
	case r.State() != to.At:
		return fmt.Errorf("%w: the snapshot of message %d has another history", ErrOffChain, to.At.Seq)
	}
	if c.end != to.End() {
		return fmt.Errorf("%w: it has other records than the snapshot of message %d", ErrOffChain, to.At.Seq)
	}
	return nil
}
