package doc

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
)

const (
	// MinPacked is the size of the smallest body that is compressed: below, compression costs more than it saves.
	MinPacked = 1 << 10
	// packAge is the age at which a document is compressed. A document that changes more often is never
	// compressed.
	packAge = 100 * time.Millisecond
	// maxWaiting limits the documents that wait for packAge; each stays in memory meanwhile.
	maxWaiting = 64
	gzipLevel  = 4
)

// Packer compresses documents outside the request path: the first request that accepts gzip schedules the compression,
// which runs when the document is packAge old, if the document is then still the newest. Any goroutine may use it.
type Packer struct {
	machineNs func() int64
	waiting   atomic.Int64
	writers   sync.Pool
}

// NewPacker returns a Packer with the clock by which documents are rendered.
func NewPacker(machineNs func() int64) *Packer { return &Packer{machineNs: machineNs} }

// scheduled marks a Doc whose compression is scheduled.
var scheduled = new([]byte)

// Keeper keeps documents, each until a newer one replaces it.
type Keeper interface {
	// Holds reports whether d is the newest document in a slot, as far as the keeper has several.
	Holds(slot uint64, d *Doc) bool
}

// Place is the place where a document is kept. (A pointer to one would be an allocation for each request.)
type Place struct {
	In   Keeper
	Slot uint64
}

// Gzip returns the gzip encoding of d. If there is none yet, it schedules the compression and returns nil.
func (p *Packer) Gzip(d *Doc, at Place) []byte {
	switch z := d.gzip.Load(); z {
	case nil:
		p.schedule(d, at)
		return nil
	case scheduled:
		return nil
	default:
		return *z
	}
}

func (p *Packer) schedule(d *Doc, at Place) {
	if p.waiting.Add(1) > maxWaiting || !d.gzip.CompareAndSwap(nil, scheduled) {
		p.waiting.Add(-1)
		return
	}
	wait := packAge - time.Duration(p.machineNs()-d.renderedNs)
	time.AfterFunc(max(wait, 0), func() {
		defer p.waiting.Add(-1)
		if at.In.Holds(at.Slot, d) {
			z := p.Pack(d.Bytes())
			d.gzip.Store(&z)
		}
	})
}

// Pack returns body in gzip.
func (p *Packer) Pack(body []byte) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(body)/4))
	w, _ := p.writers.Get().(*gzip.Writer)
	if w == nil {
		w, _ = gzip.NewWriterLevel(out, gzipLevel) // never fails, because the level is a valid constant
	} else {
		w.Reset(out)
	}
	// Writing into memory never fails.
	_, _ = w.Write(body)
	_ = w.Close()
	p.writers.Put(w)
	return out.Bytes()
}
