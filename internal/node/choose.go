package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tickhive/internal/stream/jet"
)

// Choice chooses the snapshot with which a node begins. One goroutine uses it.
type Choice struct {
	Log     jet.Log
	Genesis Genesis  // of the stream
	Until   uint64   // the snapshot reflects no later message
	Peers   []string // URLs of internal listeners, which come first
	Token   string   // of all nodes
	Key     Key      // by which nodes find each other; nil: they do not
	Whole   bool     // the node needs the simulated market, if the writer has one
	Report  *slog.Logger
}

// Choose returns a snapshot of a named node, of one that has announced itself in the stream, or of the archive; nil:
// the node begins with the first message. The caller closes it.
//
// Errors: those of Newest.
func (c *Choice) Choose(ctx context.Context) (*Snapshot, error) {
	for _, at := range c.Peers {
		if s := c.ask(ctx, at, "named", "replica.snapshot_from"); s != nil {
			return s, nil
		}
	}
	tried := 0
	for _, o := range c.find(ctx) {
		if c.Whole && o.Bare || tried == maxTried {
			continue
		}
		tried++
		if s := c.ask(ctx, "http://"+o.Address, "announced", o.Role); s != nil {
			return s, nil
		}
	}
	s, err := Newest(ctx, c.Log, c.Until)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		c.Report.Info("begins with the first message of the stream")
	default:
		c.Report.Info("begins with an archived snapshot", "message", s.At.Seq, "taken", time.UnixMilli(s.TakenMs).UTC())
	}
	return s, nil
}

// find asks the nodes of the stream for snapshots.
func (c *Choice) find(ctx context.Context) []Offer {
	if c.Key == nil {
		return nil
	}
	found, err := Find(ctx, c.Log, c.Genesis.Epoch, c.Key)
	if err != nil {
		c.Report.Warn("the nodes of the stream cannot be asked for a snapshot", "error", err)
	}
	return found
}

// ask returns the snapshot of a node, nil if it gives none that can be used and that is newer than the archived ones.
func (c *Choice) ask(ctx context.Context, at string, how ...any) *Snapshot {
	s, err := Fetch(ctx, c.Log, Peer{URL: at, Token: c.Token})
	if err == nil {
		err = c.usable(ctx, s)
	}
	how = append([]any{"node", at}, how...)
	if err != nil {
		s.Close()
		c.Report.Warn("no snapshot of another node", append(how, "error", err)...)
		return nil
	}
	c.Report.Info("begins with a snapshot of another node", append(how, "message", s.At.Seq)...)
	return s
}

// The reasons why a node does not begin with a snapshot.
var (
	errGenesis = errors.New("it is of another exchange")
	errBare    = errors.New("it lacks the simulated market, which a writer continues: name a standby or the writer")
)

// FetchWhole is Fetch for a snapshot from which a writer can start.
func FetchWhole(ctx context.Context, log jet.Log, from Peer, of Genesis) (*Snapshot, error) {
	s, err := Fetch(ctx, log, from)
	switch {
	case err != nil:
		return nil, err
	case s.Genesis != of:
		err = errGenesis
	case s.Bare:
		err = errBare
	default:
		return s, nil
	}
	s.Close()
	return nil, fmt.Errorf("the snapshot of %s: %w", from.URL, err)
}

// usable returns the reason why the node does not begin with a snapshot of another node.
func (c *Choice) usable(ctx context.Context, s *Snapshot) error {
	archived, err := c.Log.Archive().List(ctx)
	switch {
	case err != nil:
		return err
	case s.Genesis != c.Genesis:
		return errGenesis
	case s.Bare && c.Whole:
		return errBare
	case s.At.Seq > c.Until:
		return errors.New("it is behind the last event that this node has exported")
	case len(archived) > 0 && archived[0].Seq > s.At.Seq && archived[0].Seq <= c.Until:
		return fmt.Errorf("the archive has a newer one, of message %d", archived[0].Seq)
	}
	return nil
}
