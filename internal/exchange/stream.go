package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/server/public"
)

// StreamOptions configures the stream that takes the records. It needs a data directory and a real clock.
type StreamOptions struct {
	// Open opens the stream of an epoch; nil: there is none. done ends its use.
	Open func(ctx context.Context, epoch string) (log jet.Log, done func(), err error)
	// Quorum makes a change wait for the stream before it is answered.
	Quorum bool
	// Durable reports that the servers of the stream sync what they acknowledge: a power cut takes nothing from it.
	Durable bool
	// Sim is a text of the settings of the simulated market, which a standby must have too.
	Sim string
	// Handover is the term that this node took as a standby; nil: the start campaigns.
	Handover *Handover
}

// SimOff is the text of StreamOptions.Sim without a simulated market.
const SimOff = "off"

// leading is the place of a writer at its stream.
type leading struct {
	log  jet.Log
	done func() // ends the use of the stream
	term *node.Term
	sent uint64 // the last record that the stream had at the start
}

// end gives the term up. A nil leading may be ended.
func (l *leading) end() {
	if l != nil {
		l.term.End()
		l.done()
	}
}

// join opens the stream and becomes its writer. Before, the log and the state, which no loop changes, take what the
// stream has beyond them.
func (r *restored) join(ctx context.Context) error {
	err := r.joinOnce(ctx)
	if !errors.Is(err, errNothingOwed) {
		return err
	}
	if err := r.data.BeginEpoch(); err != nil {
		return err
	}
	return r.joinOnce(ctx)
}

// errNothingOwed reports a stream that is empty although a power cut may have taken from the log what clients have
// seen.
var errNothingOwed = errors.New("the stream has nothing of what the log may have lost")

func (r *restored) joinOnce(ctx context.Context) error {
	return r.leads(ctx, func(log jet.Log) (*leading, error) {
		h := r.o.Stream.Handover
		if h == nil {
			return r.campaign(ctx, log, r.state.Ledger.View())
		}
		_, at := h.Held.Status()
		if err := node.HasAll(r.journal.log, at.End); err != nil {
			return nil, err
		}
		return &leading{term: h.Held, sent: at.End.Seq}, nil
	})
}

// leads opens the stream and calls take, which makes this node its writer.
func (r *restored) leads(ctx context.Context, take func(log jet.Log) (*leading, error)) error {
	log, done, err := r.o.Stream.Open(ctx, r.data.Epoch())
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	l, err := take(log)
	if err != nil {
		done()
		return fmt.Errorf("stream: %w", err)
	}
	l.log, l.done, r.lead = log, sync.OnceFunc(done), l
	return nil
}

// campaign reads the stream to its end, takes what it has beyond the log, and makes this node the writer behind it. A
// term record that a former process of this directory has sent, and records of it, may arrive as late as now: then they
// count, and are taken in the same way.
func (r *restored) campaign(ctx context.Context, log jet.Log, ledger *launchpad.View) (l *leading, err error) {
	var known stream.State // by the newest snapshot
	if kept := r.journal.kept; len(kept) > 0 {
		if known, err = knownBy(kept[0]); err != nil {
			return nil, err
		}
	}
	j := node.Joining{
		Machine: r.o.node(), Stream: log, Keys: r.streamKeys(), History: datadir.History(r.data), Log: r.journal.log,
		State: r.state, Known: known, Had: func(number uint64) bool { return datadir.HadTerm(r.data, number) },
	}
	for range datadir.TermTries + 1 {
		var at stream.State
		at, err = j.Read(ctx)
		if err == nil && at.History == ([16]byte{}) && r.data.Owed() {
			err = errNothingOwed
		}
		if err != nil {
			return nil, err
		}
		if l, err = r.campaignBehind(ctx, log, at, ledger); !errors.Is(err, jet.ErrFenced) {
			return l, err
		}
	}
	return nil, err
}

// beginStream makes this node the writer of the stream of a new directory, which has no records.
func (r *restored) beginStream(ctx context.Context, ledger *launchpad.View) error {
	return r.leads(ctx, func(log jet.Log) (*leading, error) {
		at, err := node.End(ctx, log, r.streamKeys())
		if err != nil {
			return nil, err
		}
		if at.End.Seq != 0 {
			return nil, fmt.Errorf("it has %d records, and the data directory is a new one: start this machine as a "+
				"standby", at.End.Seq)
		}
		return r.campaignBehind(ctx, log, at, ledger)
	})
}

// campaignBehind makes this node the writer behind at. The directory knows the numbers of the node's terms, so that a
// later start notices when another node has had the term since.
func (r *restored) campaignBehind(
	ctx context.Context, log jet.Log, at stream.State, ledger *launchpad.View,
) (*leading, error) {
	term, err := r.termRecord()
	if err != nil {
		return nil, fmt.Errorf("term record: %w", err)
	}
	number, err := node.NewNumber(r.o.Machine.Random)
	if err != nil {
		return nil, err
	}
	if err := datadir.KeepTerm(r.data, at.Node, number); err != nil {
		return nil, err
	}
	l := &leading{sent: at.End.Seq}
	m := r.o.node()
	c := m.Candidate(at, number, term, r.streamKeys())
	if at.History == [16]byte{} {
		if c.Found, err = r.founding(ledger); err != nil {
			return nil, err
		}
		l.sent = c.Found.End.Seq
	}
	l.term, err = node.CampaignBriefly(ctx, m, log, c)
	return l, err
}

// founding returns the beginning of a new stream: the first record while the log has it and no two snapshots, otherwise
// the older snapshot, with which a node begins.
func (r *restored) founding(ledger *launchpad.View) (f stream.Founding, err error) {
	f.History = datadir.History(r.data)
	f.End = wal.Begins(f.History, datadir.LogName)
	if f.Info, err = json.Marshal(r.genesis(ledger)); err != nil {
		return f, fmt.Errorf("genesis: %w", err)
	}
	kept := r.journal.kept
	if len(kept) < 2 {
		first, err := r.journal.log.Reader(1)
		if err == nil {
			return f, first.Close()
		}
		if !errors.Is(err, wal.ErrTruncated) || len(kept) == 0 {
			return f, node.Lacks(err)
		}
	}
	older := kept[len(kept)-1]
	f.End = wal.Position{Seq: older.Seq, Chain: older.Chain}
	return f, nil
}

// streamKeys returns the keys by which the messages of the stream are believed.
func (b *base) streamKeys() *stream.Keys { return stream.KeysOf(b.clusterKey) }

// writing is the part of a writer that sends its records to the stream. A nil one sends nothing.
type writing struct {
	*node.Sender
	*leading
	x     *Running
	tells *announcing
}

// send begins to send what the stream lacks.
func (x *Running) send(ctx context.Context) error {
	if x.o.Stream.Open == nil {
		return nil
	}
	if x.lead == nil {
		ledger, _ := x.agents.Views()
		if err := x.beginStream(ctx, ledger); err != nil {
			return err
		}
		x.refuseEarlier(x.lead.term.FoundNs)
	}
	w := &writing{x: x, leading: x.lead}
	_, at := w.term.Status()
	w.confirmed(at)
	var err error
	w.Sender, err = node.NewSender(node.SenderOptions{
		Machine: x.o.node(), Log: x.journal.log, Term: w.term, Sent: w.sent,
		Synced: !x.o.quorum() && x.o.Journal.Sync != sequencer.SyncOff,
		Look:   w.look, Confirmed: w.confirmed, Ended: w.ended, Failed: w.failed,
	})
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if q := x.quorum; q != nil {
		q.sender.Store(w.Sender)
		if err := w.awaitStream(ctx); err != nil {
			w.drain(ctx)
			return fmt.Errorf("stream: %w", err)
		}
	}
	if w.tells, err = x.announce(w.log, w.self); err != nil {
		w.drain(ctx)
		return err
	}
	x.stream.Store(w)
	return nil
}

// confirmed shows what the stream has confirmed.
func (w *writing) confirmed(at stream.State) {
	if q := w.x.quorum; q != nil {
		q.reach(at)
	}
}

// ended wakes the loop, which waits for nothing more.
func (w *writing) ended() {
	if q := w.x.quorum; q != nil {
		q.Ring()
	}
}

// genesis describes the exchange for the readers of its stream.
func (r *restored) genesis(ledger *launchpad.View) node.Genesis {
	g := node.Genesis{
		Epoch: r.data.Epoch(), Version: cmdline.Version, Seed: ledger.Seed(), LedgerNs: ledger.GenesisNs(),
	}
	if r.secrets != nil {
		g.SealedWith = r.secrets.ID()
	}
	return g
}

// look asks the loop for its position, and for the digest there.
func (w *writing) look() (at node.Look, err error) {
	x := w.x
	err = x.loop.Query(func() {
		at = node.Look{Pos: x.loop.Position(), SealedNs: x.clock.NowNs(), Digest: x.state.Digest()}
	})
	return at, err
}

// failed reports that the stream receives nothing more.
func (w *writing) failed(err error) {
	w.x.incident("stream", "the stream receives nothing more until a restart", err.Error())
	if errors.Is(err, jet.ErrFenced) && w.x.o.Stream.Quorum {
		w.x.front.fail(node.ErrFenced)
	}
}

// failure returns the reason why the stream receives nothing more, nil while it does.
func (w *writing) failure() error {
	if w == nil {
		return nil
	}
	return w.Failure()
}

// status describes the writer for /api/status.
func (w *writing) status() *public.Replication {
	if w == nil {
		return nil
	}
	at := w.At()
	return &public.Replication{
		Role: node.RoleWriter, Term: at.Term, Position: at.End.Seq,
		LagMs: max(w.x.clock.NowNs()-at.SentNs, 0) / int64(time.Millisecond), Failed: w.Failure() != nil,
	}
}

// drain ends the sender while the loop still runs.
func (w *writing) drain(ctx context.Context) {
	if w == nil {
		return
	}
	w.tells.end()
	err := w.x.journal.makeDurable()
	switch err = errors.Join(err, w.Drain(ctx)); {
	case errors.Is(err, jet.ErrFenced): // the incident says so, and the next start does not send them
	case err != nil:
		w.x.log.Warn("the stream does not have the last records; the next start sends them", "error", err)
	case w.x.quorum != nil:
		q := w.x.quorum
		q.over.Store(true) // no client is there; what the simulated market has done since is in the directory
		q.Ring()
	}
	w.done()
}
