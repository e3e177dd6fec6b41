package main

import (
	"fmt"
	"syscall"
	"testing"
)

// After a restart, a request of a clock that did not move, or with a future timestamp, is not
// refused by its timestamp. The new process must know its nonce.
func TestAUsedNonceIsRefusedAfterARestart(t *testing.T) {
	t.Parallel()
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
		if r := p.do("GET", target, "", u.signed(fmt.Sprint(now+aheadMs), "GET", "/api/affiliate/invite-code",
			"")...); r.status != 200 {
			t.Errorf("another nonce: %d %s", r.status, r.body)
		}
	}
}
