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

// nonceFile keeps the nonces that a later process must still refuse. A line is `timestamp
// publicKey nonce`; it is written before the request is answered, so that it outlives the
// process.
//
// A clock may go back over a restart, so which nonces are kept is a matter of the file alone:
// a request is let in at most 60 s before or after its timestamp, so the clock has been
// at the newest timestamp less 60 s. Whatever is older than that is refused by its
// timestamp (notBefore), whatever is not is a line.
type nonceFile struct {
	mu     sync.Mutex
	f      *os.File
	size   int64
	limit  int64 // size at which lines before notBefore are dropped
	newest int64 // timestamp, ms; of all lines that ever were: its line is never dropped
}

const (
	nonceFileLimit = 1 << 20
	maxNonceFile   = 1 << 30 // beyond it the file is damaged: every key has a limit of its own
)

// openNonceFile opens or makes the file. knownMs is the last time that anything else knows:
// the clock, the journals. Timestamps before notBeforeMs are to be refused; used are the nonces
// of the others. A line that is none, such as one cut short, is left out.
func openNonceFile(path string, knownMs int64) (n *nonceFile, notBeforeMs int64, used []accounts.UsedNonce, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("data directory: %w", err)
	}
	n = &nonceFile{f: f, limit: nonceFileLimit}
	raw, err := n.shrink()
	if err != nil {
		return nil, 0, nil, err
	}
	notBeforeMs = max(knownMs, n.notBefore())
	for line := range bytes.Lines(raw) {
		if ms, key, nonce, _ := nonceLine(line); ms >= notBeforeMs {
			used = append(used, accounts.UsedNonce{PublicKey: string(key), Nonce: string(nonce)})
		}
	}
	return n, notBeforeMs, used, nil
}

// notBefore is a time that the clock has reached. Caller: holds mu, or is alone.
func (n *nonceFile) notBefore() int64 { return n.newest - accounts.MaxWindowMs }

func nonceLine(line []byte) (timestampMs int64, key, nonce []byte, ok bool) {
	text, ended := bytes.CutSuffix(line, []byte("\n"))
	parts := bytes.Split(text, []byte(" "))
	if !ended || len(parts) != 3 {
		return 0, nil, nil, false
	}
	ms, err := strconv.ParseInt(string(parts[0]), 10, 64)
	return ms, parts[1], parts[2], err == nil
}

// shrink drops what is before notBefore and answers what is left. Caller: holds mu, or
// is alone.
func (n *nonceFile) shrink() ([]byte, error) {
	raw, err := io.ReadAll(io.NewSectionReader(n.f, 0, maxNonceFile))
	if err != nil {
		return nil, fmt.Errorf("data directory: nonces: %w", err)
	}
	for line := range bytes.Lines(raw) {
		if ms, _, _, ok := nonceLine(line); ok {
			n.newest = max(n.newest, ms)
		}
	}
	var left []byte
	for line := range bytes.Lines(raw) {
		if ms, _, _, ok := nonceLine(line); ok && ms >= n.notBefore() {
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

// keep notes a used nonce, unless its timestamp will be refused. The clock is not asked.
func (n *nonceFile) keep(_, timestampMs int64, publicKey string, nonce []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if timestampMs < n.notBefore() {
		return nil
	}
	if n.size >= n.limit {
		if _, err := n.shrink(); err != nil {
			return err
		}
	}
	line := fmt.Appendf(nil, "%d %s %s\n", timestampMs, publicKey, nonce)
	if _, err := n.f.WriteAt(line, n.size); err != nil {
		return fmt.Errorf("data directory: nonces: %w", err)
	}
	n.size += int64(len(line))
	n.newest = max(n.newest, timestampMs)
	return nil
}

func (n *nonceFile) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.f.Close()
}
