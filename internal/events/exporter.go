package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

const (
	// exportAhead is the number of batches that wait for the stream of events.
	exportAhead = 16
	// exportRetry is the time between two attempts to reach it.
	exportRetry = 200 * time.Millisecond
	// exportKept bounds the bytes of the newest events that are kept in case the server loses its newest ones: it does
	// not sync them one by one.
	exportKept = 32 << 20
)

// Exporter derives events from what a replica executes and appends them to the stream of events. One goroutine calls
// Fold and Take, another one Run.
type Exporter struct {
	to      *jet.Events
	writer  *Writer
	from    uint64 // messages before it have all their events in the stream already
	batches chan []jet.Event
	done    chan struct{}
	report  func(err error)

	fatal chan error // receives the reason why it cannot go on

	// The members below belong to the goroutine that appends.
	kept      [][]jet.Event // the newest batches, oldest first
	keptBytes int
	dropped   uint64    // the last message whose batch is not kept any more
	last      jet.Event // of the stream
	unsure    bool      // the stream may end elsewhere
	failing   bool
}

// ErrLost reports events that the server has acknowledged and lost. It is wrapped: use errors.Is.
var ErrLost = errors.New("the stream of events has lost more of its newest events than are kept: start " +
	"the replica again, which appends them again")

// NewExporter finds out what the stream has already. An empty one gets what is behind the message now, the log's end.
// account returns the id of an account. report receives the first failure of the stream, and nil once it is over.
//
// Errors: jet.ErrUnavailable, jet.ErrSettings.
func NewExporter(ctx context.Context, to *jet.Events, epoch string, now uint64,
	account func(engine.AccountID) string, report func(err error),
) (*Exporter, error) {
	end, last, err := to.Last(ctx)
	if err != nil {
		return nil, fmt.Errorf("stream of events: %w", err)
	}
	from := last.Source
	if end == 0 {
		from = now + 1
	}
	return &Exporter{
		to: to, writer: NewWriter(epoch, account), from: from, last: last, report: report,
		batches: make(chan []jet.Event, exportAhead), done: make(chan struct{}), fatal: make(chan error, 1),
	}, nil
}

// Begin makes the pairs of a market known whose earlier events are not folded.
func (x *Exporter) Begin(core *engine.Core) {
	for id := range core.EndPair() {
		if in, ok := core.Pair(id); ok {
			x.writer.setPair(in)
		}
	}
}

// Fold adds events to the message that is being executed. A replica's sink has this form.
func (x *Exporter) Fold(events []engine.Event, _ uint64) { x.writer.Fold(events) }

// Take hands over the events of the message that was executed. It waits while the stream of events is behind.
//
// Errors: ErrLost, ctx's.
func (x *Exporter) Take(ctx context.Context, source uint64) error {
	batch := x.writer.Take()
	select {
	case err := <-x.fatal:
		return err
	default:
	}
	if len(batch) == 0 || source < x.from {
		return nil
	}
	for i := range batch {
		batch[i].Source = source
	}
	select {
	case x.batches <- batch:
		return nil
	case err := <-x.fatal:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Run appends until ctx ends. Each event is appended once and in order, whatever fails.
func (x *Exporter) Run(ctx context.Context) {
	defer close(x.done)
	for {
		select {
		case batch := <-x.batches:
			for err := x.append(ctx, batch); err != nil; err = x.append(ctx, batch) {
				if errors.Is(err, ErrLost) {
					x.fatal <- err
					return
				}
				select {
				case <-time.After(exportRetry):
				case <-ctx.Done():
					return
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// Wait waits until Run has returned.
func (x *Exporter) Wait() { <-x.done }

// append appends what the stream lacks of a batch and of the ones before.
func (x *Exporter) append(ctx context.Context, batch []jet.Event) error {
	x.keep(batch)
	err := x.catchUp(ctx)
	if err == nil {
		rest := x.missing()
		if err = x.to.Append(ctx, rest); err == nil && len(rest) > 0 {
			x.last = rest[len(rest)-1]
		}
	}
	x.unsure = err != nil
	switch {
	case err == nil && x.failing:
		x.failing = false
		x.report(nil)
	case err != nil && ctx.Err() == nil && !errors.Is(err, jet.ErrRefused) && !x.failing:
		x.failing = true
		x.report(err)
	}
	return err
}

// keep keeps a batch, once, and drops the oldest ones.
func (x *Exporter) keep(batch []jet.Event) {
	if n := len(x.kept); n > 0 && x.kept[n-1][0].Source == batch[0].Source {
		return
	}
	x.kept = append(x.kept, batch)
	x.keptBytes += size(batch)
	for len(x.kept) > 1 && x.keptBytes > exportKept {
		x.keptBytes -= size(x.kept[0])
		x.dropped, x.kept = x.kept[0][0].Source, x.kept[1:]
	}
}

func size(batch []jet.Event) (n int) {
	for i := range batch {
		n += len(batch[i].Data)
	}
	return n
}

// catchUp reads the last event after a failure: some events may have arrived, and the server may have lost some.
func (x *Exporter) catchUp(ctx context.Context) error {
	if !x.unsure {
		return nil
	}
	_, last, err := x.to.Last(ctx)
	if err == nil && last.Source < x.dropped {
		err = ErrLost
	}
	if err == nil {
		x.last = last
	}
	return err
}

// missing returns the kept events behind the last one of the stream. Batches come in order, so a stream that ends in
// another message of the log ends before a batch or, because another process appends, behind it.
func (x *Exporter) missing() (rest []jet.Event) {
	for n := len(x.kept) - 1; n >= 0 && x.kept[n][0].Source >= x.last.Source; n-- {
		batch := x.kept[n]
		if batch[0].Source == x.last.Source {
			if at := slices.IndexFunc(batch, func(v jet.Event) bool { return v.ID == x.last.ID }); at >= 0 {
				batch = batch[at+1:]
			}
		}
		rest = append(slices.Clone(batch), rest...)
	}
	return rest
}
