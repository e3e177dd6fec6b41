package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/internal/clock"
	"tickhive/server"
)

// After a restart, a request of a clock that did not move, or with a future timestamp, is not
// refused by its timestamp. The new process must know its nonce.
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

// usedOf opens a file and returns the nonces that a later process reads from it, in order. An
// interrupted pass leaves some lines twice.
func usedOf(t testing.TB, path string, knownMs int64) (n *nonceFile, notBeforeMs int64, used []auth.UsedNonce) {
	t.Helper()
	n, notBeforeMs, err := openNonceFile(path, knownMs)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[auth.UsedNonce]bool{}
	for u := range n.used(notBeforeMs) {
		if !seen[u] {
			used = append(used, u)
		}
		seen[u] = true
	}
	if n.failed != nil {
		t.Fatal(n.failed)
	}
	return n, notBeforeMs, used
}

// A timestamp that a later process refuses anyway needs no nonce.
func TestNonceFileDropsWhatItsNewestTimestampRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "NONCES")
	n, notBefore, used := usedOf(t, path, 0)
	if len(used) != 0 || notBefore != 0 {
		t.Fatal(notBefore, used)
	}
	const last = 399_990
	most := int64(0)
	for ms := int64(0); ms <= last; ms += 10 { // 40,000 lines of 50 bytes: more than the limit
		if err := n.keep(ms, ms, "key-of-this-size-or-so-to-fill", fmt.Appendf(nil, "nonce-%06d", ms)); err != nil {
			t.Fatal(err)
		}
		most = max(most, n.size)
	}
	if err := n.keep(last, last-60_001, "key", []byte("past")); err != nil {
		t.Fatal(err)
	}
	if bound := int64(nonceFileLimit * 6 / 5); most > bound {
		t.Fatalf("the file had %d bytes, at most %d", most, bound)
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	n, notBefore, used = usedOf(t, path, 0) // the clock provides no time
	if notBefore != last-60_000 || len(used) != 6001 || used[0].Nonce != "nonce-339990" || used[0].TimestampMs != 339_990 {
		t.Fatal(notBefore, len(used))
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	n, notBefore, used = usedOf(t, path, last-10)
	if notBefore != last-10 || len(used) != 2 || used[1].Nonce != "nonce-399990" {
		t.Fatal(notBefore, len(used))
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
}

// A line that a killed process left half written corrupts neither the previous nor the next
// line.
func TestNonceFileSurvivesALineCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "NONCES")
	n, _, _ := usedOf(t, path, 0)
	if err := n.keep(0, 1_767_225_600_000, "key", []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := n.f.WriteAt([]byte("1767225600001 key sec"), n.size); err != nil {
		t.Fatal(err)
	}
	_ = n.close()
	n, _, used := usedOf(t, path, 0)
	if len(used) != 1 || used[0].Nonce != "first" {
		t.Fatal(used)
	}
	if err := n.keep(0, 1_767_225_600_002, "key", []byte("third")); err != nil {
		t.Fatal(err)
	}
	_ = n.close()
	n, _, used = usedOf(t, path, 0)
	if len(used) != 2 || used[1].Nonce != "third" {
		t.Fatal(used)
	}
	_ = n.close()
}

// A clock that went back over a restart lets no request be accepted twice. A request older
// than every known time is refused by its timestamp, a newer one by its nonce.
func TestClockThatWentBackLetsNoSignedRequestPassAgain(t *testing.T) {
	const second = int64(1_000_000_000)
	t0 := int64(1_767_225_600) * second
	dir := t.TempDir()
	run := func(nowNs, marketNs int64) (*accountSide, *dataDir, server.AccountStore) {
		t.Helper()
		clk := clock.NewManual(nowNs)
		a := openTestAccounts(t, filepath.Join(dir, "accounts"), clk, nil)
		data := &dataDir{path: dir}
		s, err := a.signing(clk, marketNs, data)
		if err != nil {
			t.Fatal(err)
		}
		return a, data, s
	}
	end := func(a *accountSide, data *dataDir) {
		t.Helper()
		if err := errors.Join(a.close(), data.nonces.close()); err != nil {
			t.Fatal(err)
		}
	}
	a, data, s := run(t0, 0)
	if s.NotBeforeMs != 0 {
		t.Errorf("a new directory refuses timestamps before %d", s.NotBeforeMs)
	}
	if _, err := a.store.Do(accounts.Command{Kind: accounts.CreateUser}); err != nil {
		t.Fatal(err)
	}
	signedMs := t0/1_000_000 + 100_000
	if err := s.KeepNonce(signedMs+20, signedMs, "key", []byte("late")); err != nil { // on its way for 20 ms
		t.Fatal(err)
	}
	end(a, data)
	for _, c := range []struct {
		what            string
		nowNs, marketNs int64
		notBeforeMs     int64
		used            int
	}{
		{"the clock goes on", t0 + 200*second, t0 + 100*second, t0/1_000_000 + 200_000, 0},
		{"back to before the last command", t0 + 50*second, t0 + 90*second, t0/1_000_000 + 90_000, 1},
		{"back to before the last record", t0 - 50*second, 0, signedMs - 60_000, 1},
	} {
		a, data, s := run(c.nowNs, c.marketNs)
		if used := slices.Collect(s.Used); s.NotBeforeMs != c.notBeforeMs || len(used) != c.used {
			t.Errorf("%s: not before %d, want %d; %d nonces", c.what, s.NotBeforeMs, c.notBeforeMs, len(used))
		}
		end(a, data)
	}
}
