package exchange

import (
	"context"
	"fmt"
	"time"

	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/step"
)

// Times of a node that trims the stream.
const (
	trimEvery  = 10 * time.Second // between two looks
	trimWithin = 5 * time.Second  // for the answer of the writer
)

// trimming removes the messages of the stream that two nodes do not need any more: this one and the writer have a
// snapshot behind them. A goroutine or a driver runs it.
type trimming struct {
	step.Background
	y       *Following
	trimmed uint64 // message up to which the stream was trimmed
	failing bool
}

// keepTrim starts to trim the stream, if the node is to.
func (y *Following) keepTrim() {
	f := y.o.Follow
	if !f.Trim || f.Copy == nil || f.Client == nil || y.keeps == nil {
		return
	}
	y.trims = &trimming{Background: y.o.Machine.background(), y: y}
	y.trims.Run("trim", y.trims)
}

// Step looks whether there is something to trim. It returns Stopped after End was called.
func (t *trimming) Step() step.Progress {
	if t.Ended() {
		return step.Progress{Stopped: true}
	}
	upTo, err := t.trim()
	switch {
	case err == nil && upTo > 0:
		t.y.log.Info("the stream is trimmed", "message", upTo)
	case err != nil && !t.failing:
		t.y.incident("stream", "the stream cannot be trimmed", err.Error())
	}
	t.failing = err != nil
	return t.Idle(trimEvery)
}

// trim removes the messages before the one that the older one of the two snapshots names, which proves that the stream
// continues it. It returns 0 when nothing is to be removed.
func (t *trimming) trim() (upTo uint64, err error) {
	y := t.y
	newest, err := y.o.Follow.Copy.Log().Snapshots()
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	h, err := node.ParseHead(newest[len(newest)-1]) // the older one: the newest may turn out to be damaged
	if err != nil || h.Stream.Valid <= t.trimmed+1 {
		return 0, err
	}
	y.mu.Lock()
	at := y.info.Internal
	y.mu.Unlock()
	if at == "" {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), trimWithin)
	defer cancel()
	peer := node.Peer{URL: at, Client: y.o.Follow.Client}
	_, message, err := peer.Kept(ctx)
	if err != nil {
		return 0, fmt.Errorf("the snapshot of the writer: %w", err)
	}
	if upTo = min(h.Stream.Valid, message); upTo <= t.trimmed+1 {
		return 0, nil
	}
	upTo--
	if err := y.o.Follow.Log.Trim(ctx, upTo); err != nil {
		return 0, err
	}
	t.trimmed = upTo
	return upTo, nil
}
