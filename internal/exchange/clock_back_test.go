package exchange

import (
	"errors"
	"slices"
	"testing"

	"tickhive/accounts"
	"tickhive/internal/clock"
	"tickhive/internal/datadir"
)

// A clock that went back over a restart lets no request be accepted twice. A request older
// than every known time is refused by its timestamp, a newer one by its nonce.
func TestClockThatWentBackLetsNoSignedRequestPassAgain(t *testing.T) {
	const second = int64(1_000_000_000)
	t0 := int64(1_767_225_600) * second
	dir := t.TempDir()
	type process struct {
		accounts *accountSide
		data     *datadir.Dir
		nonces   *datadir.Nonces
	}
	run := func(nowNs, marketNs int64) process {
		t.Helper()
		data, err := datadir.Open(datadir.Options{Path: dir})
		if err != nil {
			t.Fatal(err)
		}
		a := openTestAccounts(t, data.Sub("accounts"), clock.NewManual(nowNs), nil)
		nonces, err := a.openNonces(data, nowNs, marketNs)
		if err != nil {
			t.Fatal(err)
		}
		return process{a, data, nonces}
	}
	end := func(p process) {
		t.Helper()
		if err := errors.Join(p.accounts.close(), p.data.Close(true)); err != nil {
			t.Fatal(err)
		}
	}
	p := run(t0, 0)
	if p.accounts.notBeforeMs != 0 {
		t.Errorf("a new directory refuses timestamps before %d", p.accounts.notBeforeMs)
	}
	if _, err := p.accounts.store.Do(accounts.Command{Kind: accounts.CreateUser}); err != nil {
		t.Fatal(err)
	}
	signedMs := t0/1_000_000 + 100_000
	if err := p.nonces.Keep(signedMs+20, signedMs, "key", []byte("late")); err != nil { // on its way for 20 ms
		t.Fatal(err)
	}
	end(p)
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
		p := run(c.nowNs, c.marketNs)
		notBeforeMs := p.accounts.notBeforeMs
		if used := slices.Collect(p.nonces.Used(notBeforeMs)); notBeforeMs != c.notBeforeMs || len(used) != c.used {
			t.Errorf("%s: not before %d, want %d; %d nonces", c.what, notBeforeMs, c.notBeforeMs, len(used))
		}
		end(p)
	}
}
