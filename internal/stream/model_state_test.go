package stream

import (
	"slices"

	"github.com/cespare/xxhash/v2"
)

// clone returns a copy. Slices that grow are clipped, so the copies share what they do not change.
func (c *cluster) clone() *cluster {
	d := *c
	d.nodes = slices.Clone(c.nodes)
	for i := range d.nodes {
		if w := d.nodes[i].w; w != nil {
			d.nodes[i].w = w.clone()
		}
	}
	d.out, d.back = slices.Clip(c.out), slices.Clip(c.back)
	return &d
}

func (w *Writer) clone() *Writer {
	d := *w
	d.window = slices.Clone(w.window)
	d.open.buf = slices.Clone(w.open.buf)
	return &d
}

// fingerprint identifies the state of a cluster, whatever the order of what is on the way and the numbers of former
// publications. key is a buffer.
func (c *cluster) fingerprint(key []byte) []byte {
	put := func(numbers ...uint64) {
		for _, n := range numbers {
			key = le.AppendUint64(key, n)
		}
	}
	put(c.states[len(c.states)-1].Prev, uint64(len(c.log)))
	for _, data := range c.log {
		put(uint64(le.Uint32(data[macAt:])))
	}
	for _, list := range [][]flight{c.out, c.back} {
		var all uint64 // a sum does not depend on the order
		for _, f := range list {
			var b [48]byte
			le.PutUint64(b[:], c.open(f))
			le.PutUint64(b[8:], f.p.Expect)
			le.PutUint64(b[16:], f.seq)
			le.PutUint64(b[24:], uint64(f.copies))
			le.PutUint64(b[32:], uint64(le.Uint32(f.p.Data[macAt:])))
			le.PutUint64(b[40:], uint64(f.node))
			all += xxhash.Sum64(b[:])
		}
		put(all, uint64(len(list)))
	}
	for _, n := range c.nodes {
		put(uint64(n.life), n.start, uint64(len(n.added)), uint64(n.reported))
		for _, cmd := range n.added {
			put(uint64(cmd.id))
		}
		if w := n.w; w != nil {
			doubt := uint64(0)
			if w.doubt {
				doubt = 1
			}
			if w.proven {
				doubt += 2
			}
			s := w.read.at
			put(s.Seq, s.Prev, s.Term, s.Node, s.End.Seq, s.End.Chain)
			put(uint64(w.status), doubt, uint64(w.flying), w.prev, uint64(len(w.window)))
			for _, m := range w.window {
				put(m.prev, m.acked)
			}
		}
	}
	return key
}

// open returns the place of a publication in its writer's flight, counted from 1, and 0 when the writer does not
// believe the answer any more.
func (c *cluster) open(f flight) uint64 {
	w := c.nodes[f.node].w
	if c.nodes[f.node].life != f.life || w.flight(f.p.Number) == nil {
		return 0
	}
	return 1 + f.p.Number - w.window[0].number
}

// forget removes answers that no writer believes any more.
func (c *cluster) forget() {
	c.back = slices.DeleteFunc(slices.Clone(c.back), func(f flight) bool { return c.open(f) == 0 })
}
