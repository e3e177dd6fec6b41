package accrual

import (
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
)

// A walk by cursor gives each accrual that was there at its beginning once, in order, while others arrive, also of the
// time of the row behind which it continues. A walk by pages repeats rows.
func TestAWalkByCursorSeesEachAccrualOnce(t *testing.T) {
	repeatedByPages := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := Set{Currencies: []Currency{{"USDT", 18}, {"BTC", 18}}}
		now, n := int64(1000), int64(0)
		arrive := func() {
			now += rng.Int64N(3) / 2
			n++
			a := Accrual{TimeNs: now, Amount: fixed.FromI64(n), Currency: uint32(n % 2), Type: DealCommission}
			if rng.IntN(3) == 0 {
				a.Type = StakeAccrual
			}
			s.Add(a)
		}
		for range 40 {
			arrive()
		}
		f := Filter{}
		if seed%3 == 0 {
			f.CurrencyCode = "BTC"
		}
		there := map[fixed.I192]bool{}
		for a := range s.newestFirst {
			if f.takes(s.Currencies[a.Currency].Code, a.Type) {
				there[a.Amount.Wide()] = true
			}
		}
		walk := func(byCursor bool) (seen map[fixed.I192]int) {
			seen = map[fixed.I192]int{}
			last, at := int64(1<<62), Cursor{}
			for page := int64(1); ; page++ {
				number := page
				if byCursor {
					number = 1
				}
				p, reject := s.Page(f, at, number, 1+rng.Int64N(5)*int64(b2i(byCursor))+3*int64(b2i(!byCursor)))
				if reject != nil || p.HasNextPage != (p.Next != Cursor{}) || p.HasPreviousPage != (page > 1) {
					t.Fatalf("seed %d: %v %+v", seed, reject, p)
				}
				for _, row := range p.Items {
					if seen[row.Amount]++; byCursor && row.DateNs > last {
						t.Fatalf("seed %d: a row of %d behind one of %d", seed, row.DateNs, last)
					}
					last = row.DateNs
				}
				if !p.HasNextPage {
					return seen
				}
				if byCursor {
					at = p.Next
				}
				for range rng.IntN(4) {
					arrive()
				}
			}
		}
		seen := walk(true)
		for a := range there {
			if seen[a] != 1 {
				t.Fatalf("seed %d: a row %d times", seed, seen[a])
			}
		}
		for a, times := range seen {
			if times != 1 {
				t.Fatalf("seed %d: the row %v %d times", seed, a, times)
			}
		}
		if seed < 20 {
			for _, times := range walk(false) {
				repeatedByPages += b2i(times > 1)
			}
		}
	}
	if repeatedByPages == 0 {
		t.Error("no row has arrived during a walk by pages")
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
