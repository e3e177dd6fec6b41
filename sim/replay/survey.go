package replay

import (
	"fmt"

	"tickhive/internal/fixed"
)

// survey holds the findings of one pass over the files before anything is fed. It finds
// everything that cannot be replayed: an error after it is an error of reading.
type survey struct {
	pair            string // derived from the files; "" when they do not name it
	price, amount   decimals
	firstNs, lastNs int64 // Unix ns
	startNs         int64 // the latest time that a replay can start from
	records         int
	fixedDigits     bool // the format fixes the digits: no others can be asked for
}

// count takes a record's time.
func (s *survey) count(ns int64) {
	if s.records++; s.records == 1 {
		s.firstNs = ns
	}
	s.lastNs, s.startNs = ns, ns
}

// decimals follows how the prices, or the amounts, of files come out in ticks or lots. How
// many digits these have is only known at the end, so it keeps the extremes.
type decimals struct {
	what     string
	digits   int // the most fractional digits of a value
	digitsAt place

	less   int // how many digits below the most of all the largest value needs to fit
	lessAt place

	need   int // the fewest digits in which every bar has a lot for each of its trades
	needAt place
	needOf number // the volume that needs them
	shares int64  // the trades that share it
}

func newSurvey(pair string) survey {
	return survey{pair: pair, price: decimals{what: "price"}, amount: decimals{what: "amount"}}
}

// take follows a value.
func (d *decimals) take(n number, at place) {
	if digits := n.digits(); digits > d.digits {
		d.digits, d.digitsAt = digits, at
	}
	d.takeSize(n, at)
}

// takeSize follows a value whose digits say nothing: a decimal that was recorded as a
// binary float.
func (d *decimals) takeSize(n number, at place) {
	for d.less <= fixed.Scale {
		if _, _, err := n.divide(fixed.Scale - d.less); err == nil {
			return
		}
		d.less++
		d.lessAt = at
	}
}

// takeShared follows a volume that so many trades will share.
func (d *decimals) takeShared(n number, trades int64, at place) {
	for d.need <= fixed.Scale {
		lots, _, err := n.divide(d.need)
		if err != nil || lots >= trades {
			return
		}
		d.need++
		d.needAt, d.needOf, d.shares = at, n, trades
	}
}

// fits reports the place of a value that cannot be told in so many digits.
func (d *decimals) fits(digits int) error {
	switch {
	case d.digits > digits:
		return d.digitsAt.refuse("give --digits P,A with that many, or leave it out",
			"a %s with %d fractional digits, where the pair has %d", d.what, d.digits, digits)
	case fixed.Scale-d.less < digits:
		return d.lessAt.refuse("correct the value, or give --digits P,A with fewer",
			"a %s that is too large for %d fractional digits", d.what, digits)
	case d.need > digits:
		lots, _, _ := d.needOf.divide(digits) // it was divided by more before
		return d.needAt.refuse(fmt.Sprintf("give --digits P,A with A of %d or more", d.need),
			"a volume of %d lots cannot be %d trades", lots, d.shares)
	}
	return nil
}

// choose returns the digits of the pair: the ones asked for, or the files' digits.
func (s *survey) choose(price, amount int, given bool) (p, a int, err error) {
	if given && s.fixedDigits && (price != s.price.digits || amount != s.amount.digits) {
		return 0, 0, fmt.Errorf("replay: digits %d,%d: files of this format have %d,%d; leave --digits out", price, amount, s.price.digits, s.amount.digits)
	}
	if !given {
		price, amount = s.price.digits, s.amount.digits
		if price+amount > fixed.Scale {
			most := &s.price
			if amount > price {
				most = &s.amount
			}
			return 0, 0, most.digitsAt.refuse("round the values to their decimals",
				"the files need %d digits of price and %d of amount, together at most %d; this %s has %d", price, amount, fixed.Scale, most.what, most.digits)
		}
	}
	if err := s.price.fits(price); err != nil {
		return 0, 0, err
	}
	return price, amount, s.amount.fits(amount)
}
