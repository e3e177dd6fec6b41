package vopr

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// Times of the simulated network.
const (
	staleFor      = 30 * time.Second // as package jet believes it
	answersWithin = 10 * time.Second // until a question without an answer ends, as package jet asks
	longestDelay  = 40 * time.Millisecond
	latestCopy    = 20 * time.Second // of a publication that arrives twice
)

// network is the simulated stream and the way to it: it delays, loses and repeats what the nodes send, and answers some
// of them from an older state. Owner: the goroutine of the cluster.
type network struct {
	rnd   *rand.Rand
	keys  *stream.Keys
	nowNs int64 // of the world

	there   bool // the servers know the stream
	log     [][]byte
	packets []packet // on the way, in no order
	links   []*link

	down   bool // no server answers
	faults netFaults

	appended, repeated, lost, tails, wipes int // counts of what happened
}

// netFaults are the shares of packets that fare badly, in 1000.
type netFaults struct{ loseOut, loseBack, repeat, slow int }

// packet is a publication on its way to the log, or its answer.
type packet struct {
	atNs   int64
	l      *link
	answer bool
	number uint64
	expect uint64
	data   []byte
	got    jet.Answer
}

// send puts a packet on the way.
func (n *network) send(p packet) {
	n.packets = append(n.packets, p)
}

// delay returns how long a packet is on the way.
func (n *network) delay() int64 {
	d := time.Duration(n.rnd.Int64N(int64(2 * time.Millisecond)))
	if n.rnd.IntN(1000) < n.faults.slow {
		d = time.Duration(n.rnd.Int64N(int64(longestDelay)))
	}
	return int64(d)
}

func (n *network) happens(share int) bool { return n.rnd.IntN(1000) < share }

// pass delivers what has arrived by now.
func (n *network) pass() {
	for {
		next := -1
		for i := range n.packets {
			if n.packets[i].atNs <= n.nowNs && (next < 0 || n.packets[i].atNs < n.packets[next].atNs) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		p := n.packets[next]
		n.packets = slices.Delete(n.packets, next, next+1)
		n.arrive(p)
	}
}

// arrive delivers one packet.
func (n *network) arrive(p packet) {
	if p.answer {
		if !p.l.cutBack && !p.l.closed() {
			select {
			case p.l.answers <- p.got:
			default:
			}
		}
		return
	}
	switch {
	case n.down, !n.there, p.l.stale != 0: // a server that is behind takes nothing
		n.lost++
		return
	case p.expect != uint64(len(n.log)):
		p.got = jet.Answer{Number: p.number, Err: fmt.Errorf("%w: at %d", jet.ErrRefused, len(n.log))}
	default:
		n.log = append(n.log, p.data)
		n.appended++
		p.got = jet.Answer{Number: p.number, Seq: uint64(len(n.log))}
	}
	if n.happens(n.faults.loseBack) {
		n.lost++
		return
	}
	p.answer, p.atNs = true, max(n.nowNs+n.delay(), p.l.backNs)
	p.l.backNs = p.atNs
	n.send(p)
}

// loseTail loses the last messages, as servers do that lost their disks, and had not synced them.
func (n *network) loseTail(k int) {
	n.log = slices.Clip(n.log[:max(0, len(n.log)-k)])
	n.tails++
}

// wipe loses the whole stream.
func (n *network) wipe() {
	n.log, n.there = nil, false
	n.wipes++
}

// link is the connection of a process. It implements jet.Log: a call that waits lets the other coroutines of the
// process run.
type link struct {
	n       *network
	p       *process
	answers chan jet.Answer
	outNs   int64 // arrival of the last publication: a connection keeps the order
	backNs  int64 // and of the last answer

	sentNs int64 // of the newest message that the process has read

	cutOut, cutBack bool
	stale           uint64 // the server of this link answers with so many messages, and one more; 0: with all
}

// connect returns the connection of a process.
func (n *network) connect(p *process) *link {
	l := &link{n: n, p: p, answers: make(chan jet.Answer, 1024)}
	n.links = slices.DeleteFunc(n.links, func(l *link) bool { return l.closed() })
	n.links = append(n.links, l)
	return l
}

func (l *link) closed() bool { return l.p.dead }

// end returns the number of the last message that the server of the link has.
func (l *link) end() uint64 {
	end := uint64(len(l.n.log))
	if l.stale != 0 {
		end = min(end, l.stale-1)
	}
	return end
}

// Publish implements jet.Log.
func (l *link) Publish(number, expect uint64, data []byte) error {
	n := l.n
	switch {
	case l.closed():
		return jet.ErrUnavailable
	case l.cutOut, n.happens(n.faults.loseOut):
		if n.rnd.IntN(2) == 0 {
			return jet.ErrUnavailable
		}
		n.lost++
		return nil
	}
	p := packet{l: l, number: number, expect: expect, data: bytes.Clone(data)}
	p.atNs = max(n.nowNs+n.delay(), l.outNs)
	l.outNs = p.atNs
	n.send(p)
	if n.happens(n.faults.repeat) {
		n.repeated++
		p.atNs += n.rnd.Int64N(int64(latestCopy))
		n.send(p)
	}
	return nil
}

// Answers implements jet.Log.
func (l *link) Answers() <-chan jet.Answer { return l.answers }

// ask lets a question and its answer travel. While no server answers it asks again, within a time.
func (l *link) ask(ctx context.Context, within time.Duration) error {
	late := l.n.nowNs + int64(within)
	for travel := l.n.nowNs + l.n.delay(); ; {
		l.p.pause()
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", jet.ErrUnavailable, ctx.Err())
		case l.n.nowNs < travel:
		case l.n.down || l.cutOut || l.cutBack:
			if l.n.nowNs >= late {
				return fmt.Errorf("%w: no answer", jet.ErrUnavailable)
			}
		case !l.n.there:
			return jet.ErrLost
		default:
			return nil
		}
	}
}

// Last implements jet.Log.
func (l *link) Last(ctx context.Context) (uint64, error) {
	if err := l.ask(ctx, answersWithin); err != nil {
		return 0, err
	}
	return l.end(), nil
}

// Read implements jet.Log.
func (l *link) Read(ctx context.Context, seq uint64) ([]byte, error) {
	if err := l.ask(ctx, time.Second); err != nil {
		return nil, err
	}
	return l.at(seq)
}

func (l *link) at(seq uint64) ([]byte, error) {
	if seq == 0 || seq > l.end() {
		return nil, fmt.Errorf("%w: %d, and it ends at %d", jet.ErrMissing, seq, l.end())
	}
	data := l.n.log[seq-1]
	if m, err := stream.Decode(data, l.n.keys); err == nil {
		l.sentNs = max(l.sentNs, m.SentNs)
	}
	return data, nil
}

// Follow implements jet.Log.
func (l *link) Follow(ctx context.Context, from uint64, deliver func(uint64, []byte) error) error {
	var last []byte
	sinceNs := int64(0)
	for next := max(from, 1); ; {
		l.p.pause()
		n := l.n
		var err error
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case n.down || l.cutBack || l.cutOut:
			continue
		case !n.there:
			return jet.ErrLost
		case l.end() < next-1:
			err = fmt.Errorf("%w: it ends at %d, and had %d", jet.ErrMissing, l.end(), next-1)
		case last != nil && !bytes.Equal(n.log[next-2], last):
			err = fmt.Errorf("%w: message %d: %w", jet.ErrMissing, next-1, stream.ErrReplaced)
		}
		if err != nil {
			if sinceNs == 0 {
				sinceNs = n.nowNs
			}
			if n.nowNs-sinceNs >= int64(staleFor) {
				return err
			}
			continue
		}
		sinceNs = 0
		for range n.rnd.IntN(4) {
			if next > l.end() {
				break
			}
			last, err = l.at(next)
			if err != nil {
				break
			}
			if err := deliver(next, bytes.Clone(last)); err != nil {
				return err
			}
			next++
		}
	}
}

// Trim implements jet.Log. The simulated stream keeps everything.
func (l *link) Trim(context.Context, uint64) error { return nil }

// Close implements jet.Log.
func (l *link) Close() {}
