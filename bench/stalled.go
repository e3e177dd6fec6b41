package bench

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tickhive/bench/load"
	"tickhive/bench/peer"
	"tickhive/bench/proc"
)

// Parameters of the part of streams with stalled readers.
const (
	stalledReaders = 20
	stalledLevels  = 20_000 // levels a side of the book that fills their sockets: 1.4 MB a snapshot
	stalledAgain   = 12     // number of times that each requests the book
	quickReaders   = 1000
	settleTime     = time.Second // time until their sockets are full
)

// streamStalled measures how clients that read nothing affect the others: the latency of trades on a thousand
// connections without and with them, and the memory for each of them.
func streamStalled(r *Run, p *product) error {
	k := streamKind{"readers beside stopped ones", 0, 1, streamTrades, 0}
	big := 1 + streamJoined
	if err := p.addPairs(big, 1); err != nil {
		return err
	}
	if err := p.fill(big, 1, stalledLevels, 0); err != nil {
		return err
	}
	quick, err := r.listen(p.public, "/ws?streams=trades:"+pairName(0), quickReaders)
	if err != nil {
		return err
	}
	defer quick.Stop()
	p99 := r.S.Cost("p99 of readers beside those that stopped", "us",
		fmt.Sprintf("%d readers, %d of a book of %d levels whose sockets are full",
			quickReaders, stalledReaders, 2*stalledLevels)).Against("p99 without them").ByMedian().Aim("S1", 1.25)
	for range r.Rounds {
		v, _, err := quickRound(r, p, quick, k)
		if err != nil {
			return err
		}
		p99.Reference = append(p99.Reference, v)
	}
	before, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	for range stalledReaders {
		c, err := openStalled(p.public, pairName(big))
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
	}
	time.Sleep(settleTime)
	all := peer.NewHist()
	for range r.Rounds {
		v, h, err := quickRound(r, p, quick, k)
		if err != nil {
			return err
		}
		p99.Round(v)
		all.Merge(h)
	}
	after, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	r.S.Cost("memory of a reader that stopped", "bytes",
		"resident memory of the server; a queue holds 1 MiB and one snapshot at most",
	).Round(max(float64(after-before)/stalledReaders, 1))
	r.S.Latencies = append(r.S.Latencies, latencyOf(&load.Result{Hist: all}, "order meant to be sent to trade on "+
		"the socket, beside readers that stopped"))
	return nil
}

// quickRound makes trades and returns the p99 of their latencies in us.
func quickRound(r *Run, p *product, quick *proc.Child, k streamKind) (float64, *hdrhistogram.Histogram, error) {
	schedule := load.Even{PerSecond: k.perSecond, For: r.length(streamRound)}
	_, h, err := p.tradeTo(quick, k, quickReaders, schedule)
	if err != nil {
		return 0, nil, err
	}
	return float64(h.ValueAtQuantile(99)), h, nil
}

// openStalled opens a connection that requests a large book repeatedly and never reads.
func openStalled(addr, pair string) (net.Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetReadBuffer(4 << 10)
	}
	if err := peer.Upgrade(c, bufio.NewReader(c), "/ws"); err != nil {
		return nil, err
	}
	ops := maskedFrame(`{"op":"subscribe","channel":"trades","pairs":["` + pairName(0) + `"]}`)
	ops = append(ops, maskedFrame(`{"op":"subscribe","channel":"book","depth":0,"pairs":["`+pair+`"]}`)...)
	for range stalledAgain {
		ops = append(ops, maskedFrame(`{"op":"resync","channel":"book","pairs":["`+pair+`"]}`)...)
	}
	if _, err := c.Write(ops); err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	return c, nil
}

// maskedFrame returns a text frame of a client; a mask of zeros leaves the payload unchanged.
func maskedFrame(text string) []byte {
	f := binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(text)))
	return append(append(f, 0, 0, 0, 0), text...)
}
