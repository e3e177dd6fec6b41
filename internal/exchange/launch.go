package exchange

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/tickhive/tickhive/internal/datadir"
)

// Launch takes an Opened exchange to Running on a separate goroutine. The goroutine owns everything that it
// builds until Done is closed.
type Launch struct {
	ctx     context.Context // canceled by Stop
	cancel  context.CancelFunc
	done    chan struct{}
	reached interface{ Stop(ctx context.Context) } // the last phase that was reached; valid once done is closed
	running *Running                               // nil if err is not
	err     error
}

// Launch begins Recover and Start in the background.
func (o *Opened) Launch() *Launch {
	l := &Launch{done: make(chan struct{}), reached: o}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(l.done)
		defer func() {
			if p := recover(); p != nil {
				l.err = &launchPanic{value: p, stack: debug.Stack()}
				l.reached = nil
			}
		}()
		l.err = datadir.Room(l.run(o))
	}()
	return l
}

func (l *Launch) run(o *Opened) error {
	r, err := o.Recover(l.ctx)
	if err != nil {
		return err
	}
	l.reached = r
	x, err := r.Start(l.ctx)
	if err != nil {
		return err
	}
	l.reached, l.running = x, x
	return nil
}

// Done returns a channel that is closed when the exchange runs or its start has failed.
func (l *Launch) Done() <-chan struct{} { return l.done }

// Running waits for Done. It returns the running exchange, or the error of the start:
// context.Canceled after Stop.
func (l *Launch) Running() (*Running, error) {
	<-l.done
	return l.running, l.err
}

// Stop cancels a start under way, waits for its end and stops the phase that was reached. ctx
// limits the wait for requests. After a panic it stops nothing (launchPanic).
func (l *Launch) Stop(ctx context.Context) {
	l.cancel()
	<-l.done
	if l.reached != nil {
		l.reached.Stop(ctx)
	}
}

// launchPanic is a panic during the start. What the start was building may be half changed and its locks may be
// held. Therefore none of it is stopped in order, and none of it is written to a snapshot.
type launchPanic struct {
	value any
	stack []byte
}

// Error returns the panic's value and stack.
func (e *launchPanic) Error() string {
	return fmt.Sprintf("the start failed because of a bug in the program: %v\n%s", e.value, e.stack)
}
