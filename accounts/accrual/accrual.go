package accrual

import (
	"sort"
	"strconv"

	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
)

const (
	dayNs = 86_400_000_000_000
	msNs  = 1_000_000
)

// Currency is a currency whose unit is 10^-Digits.
type Currency struct {
	Code   string
	Digits int
}

// Money returns units of the currency in 10^-18. No balance overflows: 10^37 units of 1 are 10^55, below 2^191.
func (c Currency) Money(units fixed.I192) fixed.I192 {
	return units.Times(fixed.Pow10[fixed.Scale-c.Digits])
}

// Accrual is one payment to a receiver for a fee or an income of a user below the receiver.
type Accrual struct {
	TimeNs   int64
	Amount   fixed.I128 // units of the currency
	Source   fixed.I128 // StakeAccrual: the income of which it is a share; set in only one record of each income
	From     uint32     // number of the user whose fee or income it is a share of
	Currency uint32     // number of the currency
	Level    uint32     // 1: the receiver is the user's inviter
	Applied  uint32     // StakeAccrual: the share of the income, in 10^-8
	Type     Type
	Received uint8 // StakeAccrual: the receiver's staking level at that time
	Bonus    bool  // isToUserBonuses
}

// Received holds the accruals of one receiver. Deals and Others only grow at the end and lose their front, so
// a copy of the queues stays valid without a lock.
type Received struct {
	Deals   fifo.Queue[Accrual] // of type DealCommission
	Others  fifo.Queue[Accrual] // of every other type
	Archive Archive
}

// Empty reports whether nothing was received.
func (r *Received) Empty() bool { return r.Deals.Len()+r.Others.Len()+r.Archive.Len() == 0 }

// Add adds an accrual.
func (r *Received) Add(a Accrual) {
	if a.Type == DealCommission {
		r.Deals.Push(a)
	} else {
		r.Others.Push(a)
	}
}

// ArchiveOldest moves the oldest deal accrual to the archive of its day.
func (r *Received) ArchiveOldest() {
	a := r.Deals.Pop()
	r.Archive.Add(ArchiveKey{
		Day: a.TimeNs / dayNs, From: a.From, Currency: a.Currency, Level: a.Level, Type: a.Type,
	}, a.Amount.Wide())
}

// Copy returns a copy that later changes do not touch.
func (r *Received) Copy() Received {
	return Received{r.Deals.Copy(), r.Others.Copy(), r.Archive.Copy()}
}

// LevelChange is one change of a user's staking level.
type LevelChange struct {
	AtNs     int64
	Old, New uint8
}

// StakingName returns the name of a staking level on the wire.
func StakingName(level uint8) string { return "R" + strconv.Itoa(int(level)) }

// Person holds the properties of a user that the figures show.
type Person struct {
	ID         string
	Nickname   string
	Name       *string
	SecondName *string
}

// Set holds the accruals that one user had received at one instant.
type Set struct {
	Received
	Currencies []Currency // by number
	Staking    uint8      // the receiver's staking level, 0 to 8
	Changes    []LevelChange
	Person     func(user uint32) Person // any goroutine may call it
}

// Cursor is a place in the accruals of a receiver, behind a row: it has the row's time, and how many deals and others
// of this time were there when the row was given and come behind it. Rows of a time arrive at the newer end, so the
// ones that remain are the oldest. The zero Cursor is in front of all rows.
type Cursor struct {
	TimeNs        int64
	Deals, Others int
}

// behind yields the retained accruals behind a cursor, newest first, each with the cursor behind it.
func (s *Set) behind(at Cursor, yield func(*Accrual, Cursor) bool) {
	var equal Cursor // the rows of the present time that are not given yet
	deals, others := front{&s.Deals, s.Deals.Len()}, front{&s.Others, s.Others.Len()}
	if at != (Cursor{}) {
		deals.cut(at.TimeNs, at.Deals)
		others.cut(at.TimeNs, at.Others)
	}
	for deals.n+others.n > 0 {
		rows, rest := &others, &equal.Others
		if others.n == 0 || deals.n > 0 && deals.last().TimeNs > others.last().TimeNs {
			rows, rest = &deals, &equal.Deals
		}
		a := rows.last()
		if equal == (Cursor{}) || equal.TimeNs != a.TimeNs {
			equal = Cursor{a.TimeNs, deals.equal(a.TimeNs), others.equal(a.TimeNs)}
		}
		rows.n--
		*rest--
		if !yield(a, equal) {
			return
		}
	}
}

// front is the first n accruals of a queue.
type front struct {
	of *fifo.Queue[Accrual]
	n  int
}

func (f *front) last() *Accrual { return f.of.At(f.n - 1) }

// equal returns the number of accruals at its end that have a time.
func (f *front) equal(ns int64) (n int) {
	for n = 0; n < f.n && f.of.At(f.n-1-n).TimeNs == ns; n++ {
	}
	return n
}

// cut leaves the accruals before a time, and the first rest of those that have it.
func (f *front) cut(ns int64, rest int) {
	first := sort.Search(f.n, func(i int) bool { return f.of.At(i).TimeNs >= ns })
	end := sort.Search(f.n, func(i int) bool { return f.of.At(i).TimeNs > ns })
	f.n = min(first+rest, end)
}

// newestFirst yields the retained accruals, newest first.
func (s *Set) newestFirst(yield func(*Accrual) bool) {
	s.behind(Cursor{}, func(a *Accrual, _ Cursor) bool { return yield(a) })
}

// printedNs returns a time as answers print it, in whole milliseconds (docs/contract/market-data.md#times).
func printedNs(ns int64) int64 { return ns - ns%msNs }
