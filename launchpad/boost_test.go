package launchpad

import (
	"testing"

	"tickhive/internal/refuse"
)

func (r *rig) boosted() bool {
	r.t.Helper()
	r.due()
	t, _ := r.s.View().Find("10001")
	items := r.s.View().Tokens(r.now, ListQuery{Page: 1, PageSize: 10, Boosted: true})
	if t.Boosted != (items.TotalItems == 1) || t.Boosted && items.Items[0] != t {
		r.t.Fatalf("boosted %v, boosted list %+v", t.Boosted, items)
	}
	return t.Boosted
}

func TestBoostsStackAndExpireAtTheExactSecond(t *testing.T) {
	r := newRig(t)
	tok := r.spawn(user(1), "ABC")
	r.refused(BuyBoost{Token: 9, Tier: Short}, refuse.NotFound, "id")
	r.refused(BuyBoost{Token: tok.No}, refuse.InvalidParam, "tier")
	r.now += 300_000_000
	if b := r.must(BuyBoost{Token: tok.No, Tier: Standard}).Token; !b.Boosted || b.BoostTier != Standard ||
		b.BoostUntilSec != start/secondNs+86400 {
		t.Fatalf("%+v", b)
	}
	r.advance(100)
	b := r.must(BuyBoost{Token: tok.No, Tier: Short}).Token
	end := int64(start/secondNs + 86400 + 3600)
	if b.BoostTier != Short || b.BoostUntilSec != end {
		t.Fatalf("stacked: %s until %d, want %d", b.BoostTier, b.BoostUntilSec, end)
	}
	r.now = end*secondNs - 1
	if !r.boosted() {
		t.Fatal("expired early")
	}
	// A restart that sleeps through the end.
	again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		t.Fatal(err)
	}
	r.s = again
	if !r.boosted() {
		t.Fatal("the restart ended the boost")
	}
	// A view of before is not asked about a time it cannot know.
	old := r.s.View()
	r.now++
	if r.boosted() {
		t.Fatal("boosted at its end")
	}
	if l := old.Tokens(r.now, ListQuery{Page: 1, PageSize: 1, Boosted: true}); l.TotalItems != 1 ||
		!l.Items[0].Boosted {
		t.Fatalf("the old view changed: %+v", l)
	}
	// A purchase after the end starts a new boost.
	r.advance(50)
	if b := r.must(BuyBoost{Token: tok.No, Tier: Extended}).Token; b.BoostUntilSec != end+50+7*86400 {
		t.Fatalf("%d", b.BoostUntilSec)
	}
	r.check()
}

func TestBoostsEndAtTheMomentOfAnyCommandToo(t *testing.T) {
	r := newRig(t)
	tok := r.spawn(user(1), "ABC")
	r.must(BuyBoost{Token: tok.No, Tier: Short})
	rec, _ := r.s.Plan(start+3600*secondNs, Deposit{To: user(1), Amount: One})
	r.s.Apply(&rec) // without a tick before it
	if r.token("ABC").Boosted {
		t.Fatal("still boosted")
	}
	r.now = rec.TimeNs
	r.check()
}

func TestBoostsReachOnlySoFarAhead(t *testing.T) {
	r := newRig(t)
	tok := r.spawn(user(1), "ABC")
	for range MaxBoostAheadSec / (30 * 86400) {
		r.must(BuyBoost{Token: tok.No, Tier: Premium})
	}
	r.refused(BuyBoost{Token: tok.No, Tier: Premium}, refuse.Conflict, "tier")
}
