package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tickhive/bench/load"
	"tickhive/bench/proc"
	"tickhive/bench/report"
	"tickhive/client"
)

// Sizes of the streams scenario.
const (
	streamConns  = 200
	streamTrades = 500 // a second
	streamRound  = time.Second
)

// runStreams sends trades to many connections and compares the CPU of a message with that
// of a loop that writes ready frames.
func runStreams(r *Run) error {
	p, err := r.startProduct()
	if err != nil {
		return err
	}
	defer p.end()
	if err := p.addPairs(0, 1); err != nil {
		return err
	}
	frames, err := proc.Start(nil, r.Program, "bench", "frames")
	if err != nil {
		return err
	}
	defer frames.Stop()
	with := fmt.Sprintf("%d connections, %d trades/s, trades channel", streamConns, streamTrades)
	cpu := r.S.Add(&report.Measure{Name: "CPU of a message", Unit: "us", RefName: "ready frame, one write each", With: with + "; CPU of the orders themselves taken off"})
	rate := r.S.Add(&report.Measure{Name: "messages", Unit: "messages/s", Higher: true, With: with})
	memory := r.S.Add(&report.Measure{Name: "memory of a connection", Unit: "bytes", With: fmt.Sprintf("%d connections, one stream each, resident memory of the server", streamConns)})
	ready := &readers{}
	if err := ready.open(frames.Fields["public"], "", streamConns); err != nil {
		return err
	}
	defer ready.close()
	hist := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	for range r.Rounds {
		if err := r.streamRound(p, frames, ready, hist, cpu, rate, memory); err != nil {
			return err
		}
	}
	l := (&load.Result{Hist: hist}).Latency("order meant to be sent to trade on the socket")
	r.S.Latencies = append(r.S.Latencies, l)
	return nil
}

func (r *Run) streamRound(p *product, frames *proc.Child, ready *readers, hist *hdrhistogram.Histogram, cpu, rate, memory *report.Measure) error {
	d := r.length(streamRound)
	idle, err := r.trade(p, d, nil) // nobody listens
	if err != nil {
		return err
	}
	before, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	listeners := &readers{}
	if err := listeners.open(p.public, "/ws?streams=trades:"+pairName(0), streamConns); err != nil {
		return err
	}
	defer listeners.close()
	after, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	got := listeners.count.Load()
	start := time.Now()
	busy, err := r.trade(p, d, hist)
	if err != nil {
		return err
	}
	elapsed := time.Since(start).Seconds()
	messages := listeners.count.Load() - got
	if err := listeners.err(); err != nil {
		return err
	}
	if messages == 0 {
		return errors.New("streams: no message arrived")
	}
	refBefore := frames.CPU()
	line, err := frames.Ask(fmt.Sprintf("send %d", messages/streamConns+1))
	if err != nil {
		return err
	}
	writes := 0
	if _, err := fmt.Sscan(line, &writes); err != nil || writes == 0 {
		return fmt.Errorf("streams: the reference wrote %q: %w", line, err)
	}
	cpu.Reference = append(cpu.Reference, float64((frames.CPU()-refBefore).Nanoseconds())/1e3/float64(writes))
	cpu.Product = append(cpu.Product, float64((busy-idle).Nanoseconds())/1e3/float64(messages))
	rate.Product = append(rate.Product, float64(messages)/elapsed)
	memory.Product = append(memory.Product, max(float64(after-before)/streamConns, 1))
	return nil
}

// trade makes trades by a schedule for a time and gives the product's CPU. With hist one
// more client listens, and each trade's latency from its intended time is recorded.
func (r *Run) trade(p *product, d time.Duration, hist *hdrhistogram.Histogram) (time.Duration, error) {
	schedule := load.Even{PerSecond: streamTrades, For: d}
	n := schedule.Count()
	seen := make(chan error, 1)
	var start atomic.Int64
	if hist != nil {
		s, err := client.Dial(context.Background(), client.StreamURL("http://"+p.public)+"?streams=trades:"+pairName(0))
		if err != nil {
			return 0, err
		}
		defer func() { _ = s.Close() }()
		if err := s.SetReadDeadline(time.Now().Add(d + 30*time.Second)); err != nil {
			return 0, err
		}
		go func() { seen <- watchTrades(s, n, schedule, &start, hist) }()
	} else {
		seen <- nil
	}
	before := p.CPU()
	began := time.Now()
	start.Store(began.UnixNano())
	for i := range n {
		time.Sleep(time.Until(began.Add(schedule.Due(i))))
		amount := int64(streamAmount + i)
		body := append([]byte(`{"commands":[`), placeJSON(nil, pairName(0), "buy", mid, amount)...)
		body = append(placeJSON(append(body, ','), pairName(0), "sell", mid, amount), "]}"...)
		if _, err := p.ask(load.Post("", internalV1+"/orders/batch", body)); err != nil {
			return 0, err
		}
	}
	err := <-seen
	return p.CPU() - before, err
}

// streamAmount is the size of the first trade of a round, in 10^-8: in a book that is
// empty otherwise each batch makes one trade, and its size tells which order it came from.
const streamAmount = 50_000_000

// watchTrades reads trades until the last one has come.
func watchTrades(s *client.Stream, n int, schedule load.Schedule, start *atomic.Int64, hist *hdrhistogram.Histogram) error {
	for {
		m, err := s.Next()
		if err != nil {
			return fmt.Errorf("streams: %w", err)
		}
		if m.Type != "update" {
			continue
		}
		now := time.Now().UnixNano()
		for _, t := range m.Trades {
			amount := number8(string(t.Volume))
			i := int(amount - streamAmount)
			if i < 0 || i >= n {
				continue
			}
			_ = hist.RecordValue(max((now-start.Load()-int64(schedule.Due(i)))/1000, 1))
			if i == n-1 {
				return nil
			}
		}
	}
}

// number8 reads a decimal with eight digits behind the point as an integer.
func number8(s string) (n int64) {
	for _, c := range strings.Replace(s, ".", "", 1) {
		n = n*10 + int64(c-'0')
	}
	return n
}

// readers are raw connections that count frames.
type readers struct {
	conns []net.Conn
	count atomic.Int64
	mu    sync.Mutex
	first error // under mu
	ended atomic.Bool
}

// open makes n connections; with a target each asks for an upgrade first.
func (r *readers) open(addr, target string, n int) error {
	if err := load.Local(addr); err != nil {
		return err
	}
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return fmt.Errorf("streams: %w", err)
		}
		r.conns = append(r.conns, c)
		br := bufio.NewReaderSize(c, 8<<10)
		if target != "" {
			if err := upgrade(c, br, target); err != nil {
				return err
			}
		}
		go r.read(br)
	}
	return nil
}

func upgrade(c net.Conn, br *bufio.Reader, target string) error {
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", target)
	if err != nil {
		return fmt.Errorf("streams: %w", err)
	}
	for first := true; ; first = false {
		line, err := br.ReadString('\n')
		if err != nil {
			return fmt.Errorf("streams: upgrade: %w", err)
		}
		if first && !strings.Contains(line, " 101 ") {
			return fmt.Errorf("streams: upgrade refused: %s", strings.TrimSpace(line))
		}
		if line == "\r\n" {
			return nil
		}
	}
}

// read counts text frames until the connection ends.
func (r *readers) read(br *bufio.Reader) {
	for {
		text, err := frame(br)
		if err != nil {
			r.mu.Lock()
			if r.first == nil && !r.ended.Load() {
				r.first = fmt.Errorf("streams: a connection ended: %w", err)
			}
			r.mu.Unlock()
			return
		}
		if text {
			r.count.Add(1)
		}
	}
}

// frame reads one unmasked frame.
func frame(br *bufio.Reader) (text bool, err error) {
	var head [10]byte
	if _, err := io.ReadFull(br, head[:2]); err != nil {
		return false, err
	}
	size := uint64(head[1] & 0x7f)
	switch size {
	case 126:
		_, err = io.ReadFull(br, head[2:4])
		size = uint64(binary.BigEndian.Uint16(head[2:4]))
	case 127:
		_, err = io.ReadFull(br, head[2:10])
		size = binary.BigEndian.Uint64(head[2:10])
	}
	if err == nil {
		_, err = br.Discard(int(size))
	}
	return head[0]&0x0f == 1, err
}

func (r *readers) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

func (r *readers) close() {
	r.ended.Store(true)
	for _, c := range r.conns {
		_ = c.Close()
	}
}
