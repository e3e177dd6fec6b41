package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"tickhive/accounts"
	"tickhive/engine/sequencer"
	"tickhive/internal/cmdline"
	"tickhive/internal/datadir"
	"tickhive/internal/node"
	"tickhive/internal/refuse"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/wal"
	"tickhive/server/public"
)

// StreamOptions configures the stream that takes the records of all logs. It needs a data directory and a real clock.
type StreamOptions struct {
	// Open opens the stream of an epoch; nil: there is none. done ends its use.
	Open func(ctx context.Context, epoch string) (log jet.Log, done func(), err error)
	// Quorum makes a change wait for the stream before it is answered.
	Quorum bool
	// Settings is a text of all settings on which the meaning of the records depends. A stream has one.
	Settings string
	// Sim is a text of the settings of the simulated market, which a standby must have too.
	Sim string
	// Handover is the term that this node took as a standby; nil: the start campaigns.
	Handover *Handover
}

// ErrFenced reports that another node is the writer of the stream. This one must acknowledge nothing more.
var ErrFenced = errors.New("another node is the writer now: what this one has stored and the stream has not " +
	"confirmed does not count")

// Times of a mirror.
const (
	mirrorEvery  = 5 * time.Millisecond  // between two looks at the logs
	mirrorIdle   = 50 * time.Millisecond // between two readings of the time while nothing happens
	digestEvery  = time.Second           // between two digests
	leadWithin   = 30 * time.Second      // from the term record to its confirmation
	settleWithin = 10 * time.Second      // how long a request waits for the stream
)

// mirror sends the records of the four logs to the stream, in an order in which a reader can execute them, once they
// are durable here. A goroutine runs it; any goroutine may call its methods. A nil mirror sends nothing.
type mirror struct {
	x        *Running
	done     func()
	appender *node.Term
	logs     [stream.Logs]*wal.Log
	readers  [stream.Logs]*wal.Reader
	sent     stream.Positions // handed to the appender
	next     *accounts.Record // read and not sent yet
	nextRaw  []byte
	// The accounts' records up to aheadTo may name positions beyond the journal's end at the start, aheadPos.
	aheadTo, aheadPos uint64

	lookedNs   int64 // when the loop was asked last
	digestNs   int64
	digest     uint64
	digestPos  uint64 // 0: none waits
	durableAll bool   // journal.sync = off: what is written counts as durable

	kick   chan struct{}
	cancel context.CancelCauseFunc
	ended  sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed when the stream has confirmed something, or the mirror has failed
	at      stream.State
	err     error
}

// errStopping ends a mirror in order.
var errStopping = errors.New("exchange: the mirror stops")

// keepMirror opens the stream, becomes its writer and begins to send what it lacks.
func (x *Running) keepMirror(ctx context.Context) error {
	if x.o.Stream.Open == nil {
		return nil
	}
	log, done, err := x.o.Stream.Open(ctx, x.data.Epoch())
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	m := &mirror{
		x: x, done: done, kick: make(chan struct{}, 1), changed: make(chan struct{}),
		durableAll: x.o.Journal.Sync == sequencer.SyncOff,
		aheadTo:    x.accounts.store.Recovered().LastSeq, aheadPos: x.pos,
	}
	for i, l := range x.logs() {
		m.logs[i] = l.log
	}
	if err := m.begin(ctx, log); err != nil {
		m.close()
		done()
		return fmt.Errorf("stream: %w", err)
	}
	x.mirror.Store(m)
	return nil
}

// begin reads the stream to its end, campaigns behind it unless the node has the term, and starts the goroutines.
func (m *mirror) begin(ctx context.Context, log jet.Log) (err error) {
	var at stream.State
	var begun node.Genesis
	if h := m.x.o.Stream.Handover; h != nil {
		_, at = h.Held.Status()
		begun = h.Genesis
	} else if at, begun, err = node.ReadStream(ctx, log); err != nil {
		return err
	}
	g := node.Genesis{
		Epoch: m.x.data.Epoch(), Version: cmdline.Version, Seed: m.x.agents.ledger.View().Seed(),
		LedgerNs: m.x.agents.ledger.View().GenesisNs(), Settings: m.x.o.Stream.Settings,
	}
	if k := m.x.secrets; k != nil && !k.Empty() {
		g.SealedWith = k.ID()
	}
	if err := m.agree(&at, &begun, &g); err != nil {
		return err
	}
	m.sent, m.at = at.Pos, at
	for i, l := range m.logs {
		if m.readers[i], err = l.Reader(at.Pos[i] + 1); err != nil {
			return fmt.Errorf("it lacks records that the journal does not have any more; "+
				"a journal that feeds a stream keeps every record: %w", err)
		}
	}
	if h := m.x.o.Stream.Handover; h != nil {
		m.appender = h.Held
	} else if m.appender, err = m.campaign(ctx, log, at, &g); err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(context.Background())
	m.cancel = cancel
	m.ended.Go(func() { m.fail(m.appender.Wait()) })
	m.ended.Go(func() { m.run(work) })
	return nil
}

// campaign makes this node the writer behind at. The directory knows the numbers of the node's terms, so that a later
// start notices when another node has had the term since.
func (m *mirror) campaign(ctx context.Context, log jet.Log, at stream.State, g *node.Genesis) (*node.Term, error) {
	info, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("genesis: %w", err)
	}
	term, err := m.x.termRecord()
	if err != nil {
		return nil, fmt.Errorf("term record: %w", err)
	}
	number, err := node.NewNumber()
	if err != nil {
		return nil, err
	}
	if err := datadir.KeepTerm(m.x.data, at.Node, number); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, leadWithin, fmt.Errorf("no answer within %s", leadWithin))
	defer cancel()
	return node.Campaign(ctx, log, candidate(at, number, term, stream.Founding{
		History: datadir.History(m.x.data), Info: info,
	}))
}

// candidate returns the candidate for the term behind at.
func candidate(at stream.State, number uint64, term []byte, found stream.Founding) *stream.Candidate {
	return &stream.Candidate{
		At: at, Node: number, Rules: node.Rules, Info: term, Found: found,
		Limits: stream.Limits{InFlight: 4, Queue: 16 << 20},
	}
}

// agree checks that the stream is one of this exchange's history.
func (m *mirror) agree(at *stream.State, begun, own *node.Genesis) error {
	switch {
	case at.History == [16]byte{}:
		return nil
	case !datadir.HadTerm(m.x.data, at.Node):
		return fmt.Errorf("%w (term %d). Start this machine as a standby in another directory: tickhive replica "+
			"--promote --data-dir DIR", ErrFenced, at.Term)
	case at.History != datadir.History(m.x.data):
		return fmt.Errorf("it belongs to another exchange, of the history %x", at.History)
	case begun.Seed != own.Seed || begun.LedgerNs != own.LedgerNs:
		return errors.New("it began with another ledger")
	case begun.SealedWith != own.SealedWith:
		return errors.New("its secrets are sealed by another key; a directory that is restored from a backup begins " +
			"a new stream")
	case begun.Settings != own.Settings:
		return errors.New("it began with other settings of engine, market, orders, launchpad, hive, referral, assets " +
			"or pairs, and its replicas execute the records by them: set those again, or restore a backup, which " +
			"begins a new stream")
	}
	for i, l := range m.logs {
		if at.Pos[i] > l.LastSeq() {
			return fmt.Errorf("it has record %d of the log %s, and the data directory ends at %d: the directory was "+
				"restored from a copy, or lost records", at.Pos[i], m.x.logs()[i].name, l.LastSeq())
		}
	}
	return nil
}

// run sends what is new until work ends or something fails.
func (m *mirror) run(work context.Context) {
	tick := time.NewTicker(mirrorEvery)
	defer tick.Stop()
	for {
		err := m.send(work)
		if err != nil {
			m.fail(err)
			return
		}
		select {
		case <-work.Done():
			return
		case <-m.appender.Wake():
			m.note()
		case <-m.kick:
		case <-tick.C:
		}
	}
}

// note tells the waiting requests what the stream has confirmed.
func (m *mirror) note() {
	_, at := m.appender.Status()
	m.mu.Lock()
	defer m.mu.Unlock()
	if at != m.at {
		m.at = at
		close(m.changed)
		m.changed = make(chan struct{})
	}
}

// fail keeps the first error, which ends the mirror.
func (m *mirror) fail(err error) {
	m.mu.Lock()
	first := m.err == nil
	if first {
		m.err = err
		close(m.changed)
		m.changed = make(chan struct{})
	}
	m.mu.Unlock()
	if !first || errors.Is(err, errStopping) || errors.Is(err, node.ErrEnded) {
		return
	}
	m.x.incident("stream", "the stream receives nothing more until a restart: %v", err)
	if errors.Is(err, jet.ErrFenced) && m.x.o.Stream.Quorum {
		m.x.front.fail(ErrFenced)
	}
}

// failure returns the reason why the mirror has ended, nil while it works.
func (m *mirror) failure() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// settle waits until the stream has confirmed every record that the logs have now.
func (m *mirror) settle(within time.Duration) error {
	var want stream.Positions
	for i, l := range m.logs {
		want[i] = l.LastSeq()
	}
	select {
	case m.kick <- struct{}{}:
	default:
	}
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		m.mu.Lock()
		at, err, changed := m.at.Pos, m.err, m.changed
		m.mu.Unlock()
		reached := true
		for i := range want {
			reached = reached && at[i] >= want[i]
		}
		switch {
		case reached:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-late.C:
			return fmt.Errorf("the stream has confirmed %d, and the logs have %d", at, want)
		}
	}
}

// status describes the mirror for /api/status.
func (m *mirror) status() *public.Replication {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return &public.Replication{
		Role: "writer", Term: m.at.Term, Position: m.at.Pos.Of(stream.Engine),
		LagMs: max(m.x.clock.NowNs()-m.at.SentNs, 0) / int64(time.Millisecond), Failed: m.err != nil,
	}
}

// drain sends what is left, within a second, and ends the mirror. The loop still runs.
func (m *mirror) drain(ctx context.Context) {
	if m == nil {
		return
	}
	if ctx.Err() == nil {
		if err := errors.Join(m.x.journal.makeDurable(), m.settle(time.Second)); err != nil {
			m.x.log.Warn("the stream does not have the last records; the next start sends them", "error", err)
		}
	}
	m.cancel(errStopping)
	m.appender.End()
	m.ended.Wait()
	m.close()
	m.done()
}

// close closes the readers.
func (m *mirror) close() {
	for _, r := range m.readers {
		if r != nil {
			_ = r.Close() // was only read
		}
	}
}

// settler returns the function that lets changes wait for the stream, nil if they do not.
func (f *front) settler(b *base) func() *refuse.Refusal {
	if b.o.Stream.Open == nil || !b.o.Stream.Quorum {
		return nil
	}
	return func() *refuse.Refusal {
		x := f.stage.Load().running
		if x == nil || x.mirror.Load() == nil {
			return nil
		}
		if err := x.mirror.Load().settle(settleWithin); err != nil {
			f.log.Debug("a change is not confirmed by the stream", "error", err) // status and metrics tell the operator
			return refuse.New(refuse.OutcomeUnknown, "", "The change is recorded on this machine, and the stream did "+
				"not confirm it within %s. It counts unless this machine is lost. "+
				"Repeat an order with the same clientOrderId.", settleWithin)
		}
		return nil
	}
}
