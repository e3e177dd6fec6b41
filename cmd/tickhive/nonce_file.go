package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"tickhive/accounts"
)

// nonceFile keeps the nonces that a later process must still refuse: those of timestamps
// that the clock has not passed. All others are refused by the start of that process. A
// line is `timestamp publicKey nonce`; it is written before the request is answered, so
// that it outlives the process.
type nonceFile struct {
	mu    sync.Mutex
	f     *os.File
	size  int64
	limit int64 // size at which lines that the clock has passed are dropped
}

const (
	nonceFileLimit = 1 << 20
	maxNonceFile   = 1 << 30 // beyond it the file is damaged: every key has a limit of its own
)

// openNonceFile opens or makes the file and reads the nonces at or after nowMs. A line
// that is none, such as one cut short, is left out.
func openNonceFile(path string, nowMs int64) (*nonceFile, []accounts.UsedNonce, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("data directory: %w", err)
	}
	n := &nonceFile{f: f, limit: nonceFileLimit}
	raw, err := n.shrink(nowMs)
	if err != nil {
		return nil, nil, err
	}
	var used []accounts.UsedNonce
	for line := range bytes.Lines(raw) {
		_, key, nonce, _ := nonceLine(line)
		used = append(used, accounts.UsedNonce{PublicKey: string(key), Nonce: string(nonce)})
	}
	return n, used, nil
}

func nonceLine(line []byte) (timestampMs int64, key, nonce []byte, ok bool) {
	text, ended := bytes.CutSuffix(line, []byte("\n"))
	parts := bytes.Split(text, []byte(" "))
	if !ended || len(parts) != 3 {
		return 0, nil, nil, false
	}
	ms, err := strconv.ParseInt(string(parts[0]), 10, 64)
	return ms, parts[1], parts[2], err == nil
}

// shrink drops what the clock has passed and answers what is left. Caller: holds mu, or
// is alone.
func (n *nonceFile) shrink(nowMs int64) ([]byte, error) {
	raw, err := io.ReadAll(io.NewSectionReader(n.f, 0, maxNonceFile))
	if err != nil {
		return nil, fmt.Errorf("data directory: nonces: %w", err)
	}
	var left []byte
	for line := range bytes.Lines(raw) {
		if ms, _, _, ok := nonceLine(line); ok && ms >= nowMs {
			left = append(left, line...)
		}
	}
	// What is left is never longer than what is overwritten, and a process that ends
	// between the two steps leaves lines twice, not lost.
	if len(left) < len(raw) {
		if _, err = n.f.WriteAt(left, 0); err == nil {
			err = n.f.Truncate(int64(len(left)))
		}
	}
	n.size, n.limit = int64(len(left)), max(nonceFileLimit, 2*int64(len(left)))
	if err != nil {
		return nil, fmt.Errorf("data directory: nonces: %w", err)
	}
	return left, nil
}

// keep notes a used nonce, unless its timestamp is past already.
func (n *nonceFile) keep(nowMs, timestampMs int64, publicKey string, nonce []byte) error {
	if timestampMs < nowMs {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.size >= n.limit {
		if _, err := n.shrink(nowMs); err != nil {
			return err
		}
	}
	line := fmt.Appendf(nil, "%d %s %s\n", timestampMs, publicKey, nonce)
	if _, err := n.f.WriteAt(line, n.size); err != nil {
		return fmt.Errorf("data directory: nonces: %w", err)
	}
	n.size += int64(len(line))
	return nil
}

func (n *nonceFile) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.f.Close()
}
