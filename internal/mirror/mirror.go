package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/datadir"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/wal"
)

// Source is the exchange whose records a Mirror sends.
type Source struct {
	Log     *wal.Log
	Dir     *datadir.Dir
	Genesis node.Genesis // of the exchange; a stream that began otherwise is refused
	Term    []byte       // information of the term record
	// Held is the term that the node has already, in a stream that began with Began; nil: New campaigns.
	Held  *node.Term
	Began node.Genesis

	// Founding begins a new stream whose first records the log does not have any more; nil: it has them.
	Founding *node.Founding

	DurableAll bool // journal.sync = off: what is written counts as durable
	// Look returns the loop's position and a time before which it stamps no further command, and with digest the
	// market's digest at the position. After an error the loop runs no more.
	Look        func(digest bool) (Look, error)
	MakeDurable func() error // waits until every record is durable
	NowNs       func() int64
	Failed      func(err error) // hears once why the stream receives nothing more
	// Confirmed hears what the stream has confirmed, before a request that waits for it does. Ended hears that it will
	// confirm nothing more, in order or not.
	Confirmed func(at uint64)
	Ended     func()
}

// Look holds what Source.Look finds.
type Look struct {
	Pos      uint64
	SealedNs int64
	Digest   uint64
}

// ErrFenced reports that another node is the writer of the stream. This one must acknowledge nothing more.
var ErrFenced = errors.New("another node is the writer now: what this one has stored and the stream has not " +
	"confirmed does not count")

// Times of a mirror.
const (
	mirrorEvery = 5 * time.Millisecond  // between two looks at the log for which no request waits, or at the loop
	mirrorIdle  = 50 * time.Millisecond // between two readings of the time while nothing happens
	digestEvery = time.Second           // between two digests
	leadWithin  = 30 * time.Second      // from the term record to its confirmation
)

// Mirror sends the records of the log to the stream once they are durable here. A goroutine runs it; any goroutine may
// call its methods. A nil Mirror sends nothing.
type Mirror struct {
	source   Source
	appender *node.Term
	reader   *wal.Reader
	sent     uint64 // position of the last record that the appender has

	lookedNs  int64 // when the loop was asked last
	looked    Look  // its answer
	digestNs  int64
	digest    uint64
	digestPos uint64 // 0: none waits

	kick    chan struct{}
	cuts    chan *cutting
	waiting atomic.Int32  // requests that wait for the stream
	wanted  atomic.Uint64 // a record that the loop waits for
	cancel  context.CancelCauseFunc
	ended   sync.WaitGroup

	acks clock.Histogram // from the handover of records to their confirmation

	mu      sync.Mutex
	changed chan struct{} // closed when the stream has confirmed something, or the mirror has failed
	at      stream.State
	err     error
	timed   uint64 // the record whose confirmation is timed
	timedNs int64  // since when, by the machine's clock; 0: none is
}

// errStopping ends a mirror in order.
var errStopping = errors.New("mirror: it stops")

// Begin becomes the writer of the stream and begins to send what it lacks.
func Begin(ctx context.Context, log jet.Log, s *Source) (*Mirror, error) {
	m := &Mirror{
		source: *s, kick: make(chan struct{}, 1), changed: make(chan struct{}),
		cuts: make(chan *cutting),
	}
	if err := m.begin(ctx, log); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// begin becomes the writer and starts the goroutines. A term record that a former process of this directory has sent
// may arrive as late as now: then it counts, and the campaign is repeated behind it.
func (m *Mirror) begin(ctx context.Context, log jet.Log) (err error) {
	for range datadir.TermTries + 1 {
		if err = m.lead(ctx, log); !errors.Is(err, jet.ErrFenced) {
			break
		}
		m.close()
	}
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(context.Background())
	m.cancel = cancel
	m.ended.Go(func() { m.fail(m.appender.Wait()) })
	m.ended.Go(func() { m.listen(work) })
	m.ended.Go(func() { m.run(work) })
	return nil
}

// lead reads the stream to its end, and campaigns behind it unless the node has the term.
func (m *Mirror) lead(ctx context.Context, log jet.Log) (err error) {
	var at stream.State
	began := m.source.Began
	if held := m.source.Held; held != nil {
		_, at = held.Status()
	} else if at, began, err = node.ReadStream(ctx, log); err != nil {
		return err
	}
	if err := m.checkStream(&at, &began, &m.source.Genesis); err != nil {
		return err
	}
	m.sent, m.at = at.Pos, at
	if at.History == [16]byte{} && m.source.Founding != nil {
		m.sent = m.source.Founding.Start
	}
	if m.reader, err = m.source.Log.Reader(m.sent + 1); err != nil {
		return fmt.Errorf("it lacks records that the journal does not have any more; a journal that feeds a "+
			"stream keeps every record. `tickhive stream restore NEW --from-dir DIR` makes a directory that "+
			"begins a new stream, with a snapshot: %w", err)
	}
	if m.appender = m.source.Held; m.appender == nil {
		m.appender, err = m.campaign(ctx, log, at)
	}
	return err
}

// campaign makes this node the writer behind at. The directory knows the numbers of the node's terms, so that a later
// start notices when another node has had the term since.
func (m *Mirror) campaign(ctx context.Context, log jet.Log, at stream.State) (*node.Term, error) {
	info, err := json.Marshal(&m.source.Genesis)
	if err != nil {
		return nil, fmt.Errorf("genesis: %w", err)
	}
	number, err := node.NewNumber()
	if err != nil {
		return nil, err
	}
	if err := datadir.KeepTerm(m.source.Dir, at.Node, number); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, leadWithin, fmt.Errorf("no answer within %s", leadWithin))
	defer cancel()
	found := stream.Founding{History: datadir.History(m.source.Dir), Start: m.sent, Info: info}
	return node.Campaign(ctx, log, node.Candidate(at, number, m.source.Term, found), m.source.Founding)
}

// FoundNs returns the time of the last message before this writer's term, Unix ns.
func (m *Mirror) FoundNs() int64 { return m.appender.FoundNs }

// run sends what is new until work ends or something fails.
func (m *Mirror) run(work context.Context) {
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
		case c := <-m.cuts:
			if err := m.cut(work, c); err != nil {
				m.fail(err)
				return
			}
		case <-m.kick:
		case <-tick.C:
		}
	}
}

// listen tells the waiting requests what the stream confirms, while run may wait for the disk, the loop or a store.
func (m *Mirror) listen(work context.Context) {
	for {
		select {
		case <-work.Done():
			return
		case <-m.appender.Wake():
			m.note()
		}
	}
}

// note tells the waiting requests what the stream has confirmed.
func (m *Mirror) note() {
	_, at := m.appender.Status()
	if at == m.At() { // changed by this goroutine alone
		return
	}
	m.source.Confirmed(at.Pos)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
	m.timeAck()
	close(m.changed)
	m.changed = make(chan struct{})
}

// timeAck ends the measurement of a confirmation, if the stream has confirmed its record. The caller holds the lock.
func (m *Mirror) timeAck() {
	if m.timedNs != 0 && m.at.Pos >= m.timed {
		m.acks.Observe(clock.MachineNs() - m.timedNs)
		m.timedNs = 0
	}
}

// time begins to measure how long the stream takes to confirm what was handed over since sinceNs. There is one
// measurement at a time, so it takes no memory while the stream cannot be reached.
func (m *Mirror) time(sinceNs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timedNs == 0 {
		m.timed, m.timedNs = m.sent, sinceNs
		m.timeAck()
	}
}

// Acks returns the times until the stream has confirmed records.
func (m *Mirror) Acks() clock.Counts { return m.acks.Counts() }

// fail keeps the first error, which ends the mirror.
func (m *Mirror) fail(err error) {
	m.mu.Lock()
	first := m.err == nil
	if first {
		m.err = err
		close(m.changed)
		m.changed = make(chan struct{})
	}
	m.mu.Unlock()
	if first {
		m.source.Ended()
	}
	if !first || errors.Is(err, errStopping) || errors.Is(err, node.ErrEnded) {
		return
	}
	m.source.Failed(err)
}

// Failure returns the reason why the mirror has ended, nil while it works.
func (m *Mirror) Failure() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Want makes the mirror send the records up to pos soon.
func (m *Mirror) Want(pos uint64) {
	for was := m.wanted.Load(); pos > was; was = m.wanted.Load() {
		if m.wanted.CompareAndSwap(was, pos) {
			m.hurry()
			return
		}
	}
}

// hurry makes the mirror look at the log now.
func (m *Mirror) hurry() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// End returns the position of the last record of the log.
func (m *Mirror) End() uint64 { return m.source.Log.LastSeq() }

// Settle waits until the stream has confirmed the record at want.
func (m *Mirror) Settle(want uint64, within time.Duration) error {
	m.waiting.Add(1)
	defer m.waiting.Add(-1)
	m.hurry()
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		at, changed, err := m.confirmed()
		switch {
		case at >= want:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-late.C:
			return fmt.Errorf("the stream has confirmed %d, not %d", at, want)
		}
	}
}

// confirmed returns what the stream has confirmed, a channel that is closed when this changes or the mirror ends, and
// the reason why it has ended.
func (m *Mirror) confirmed() (at uint64, changed <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at.Pos, m.changed, m.err
}

// At returns what the stream has confirmed.
func (m *Mirror) At() stream.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

// Drain sends what is left, within a second, and ends the mirror. The loop still runs. The error says why the stream
// lacks the last records.
func (m *Mirror) Drain(ctx context.Context) (err error) {
	if ctx.Err() == nil {
		err = errors.Join(m.source.MakeDurable(), m.Settle(m.End(), time.Second))
	}
	m.cancel(errStopping)
	m.appender.End()
	m.ended.Wait()
	m.close()
	return err
}

// close closes the reader.
func (m *Mirror) close() {
	if m.reader != nil {
		_ = m.reader.Close() // was only read
		m.reader = nil
	}
}
