package main

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
)

// A clock that stands still, or a timestamp of the future, is not refused by the start of
// the next process: its nonce has to be known.
func TestAUsedNonceIsRefusedAfterARestart(t *testing.T) {
	dir := t.TempDir()
	p := startEmpty(t, "--data-dir", dir)
	u := p.voter(20, "1", "1")
	for _, aheadMs := range []int64{0, 4000} {
		const now = 1767225600000
		target := p.public + "/api/affiliate/invite-code"
		sent := u.signed(fmt.Sprint(now+aheadMs), "GET", "/api/affiliate/invite-code", "")
		if r := p.do("GET", target, "", sent...); r.status != 200 {
			t.Fatalf("the first time: %d %s", r.status, r.body)
		}
		p.signal(syscall.SIGKILL)
		<-p.exited
		p = startEmpty(t, "--data-dir", dir)
		target = p.public + "/api/affiliate/invite-code"
		if r := p.do("GET", target, "", sent...); r.status != 401 {
			t.Errorf("again after a restart, %d ms ahead: %d %s", aheadMs, r.status, r.body)
		}
		if r := p.do("GET", target, "", u.signed(fmt.Sprint(now+aheadMs), "GET", "/api/affiliate/invite-code", "")...); r.status != 200 {
			t.Errorf("another nonce: %d %s", r.status, r.body)
		}
	}
}

func TestNonceFileDropsWhatTheClockHasPassed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "NONCES")
	n, used, err := openNonceFile(path, 0)
	if err != nil || len(used) != 0 {
		t.Fatal(used, err)
	}
	for ms := range int64(60_000) { // each is 20 bytes or more: beyond the limit
		if err := n.keep(ms, ms, "key", fmt.Appendf(nil, "nonce-%06d", ms)); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.keep(5, 4, "key", []byte("past")); err != nil || n.size > nonceFileLimit {
		t.Fatal(n.size, err)
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	_, used, err = openNonceFile(path, 59_998)
	if err != nil || len(used) != 2 || used[0].Nonce != "nonce-059998" || used[1].PublicKey != "key" {
		t.Fatal(used, err)
	}
}
