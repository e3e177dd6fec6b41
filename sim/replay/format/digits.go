package format

import (
	"fmt"

	"tickhive/internal/fixed"
	"tickhive/sim/replay/format/decimal"
	"tickhive/sim/replay/format/input"
)

// learn is the value of Digits.use during a survey.
const learn = -1

// Digits converts prices, or amounts, to ticks or lots. The number of decimals is known only when all files
// have been read, so a survey records the extremes.
type Digits struct {
	what string
	use  int // learn, or the number of digits of the pair

	most   int // most decimals of any value
	mostAt input.Position

	less   int // by how much the digits must be below fixed.Scale so that the largest value fits
	lessAt input.Position

	need   int // fewest digits with which every bar's volume has one lot for each of its trades
	needAt input.Position
	needOf decimal.Decimal // the volume that requires need digits
	shares int64           // number of trades that share that volume
}

// NewSurvey returns an empty survey for the first pass.
func NewSurvey() *Survey {
	return &Survey{Price: Digits{what: "price", use: learn}, Amount: Digits{what: "amount", use: learn}}
}

// units returns a value in ticks or lots. During a survey it records the value and returns its sign.
func (d *Digits) units(v decimal.Decimal, at input.Position) (int64, error) {
	if d.use == learn {
		d.take(v, at)
		return int64(v.V.Sign()), nil
	}
	n, err := v.Units(d.use)
	if err != nil {
		return 0, at.Refuse(input.RemedyValue, "%s: %v", d.what, err)
	}
	return n, nil
}

// rounded returns a value in ticks or lots, rounded, for a decimal that was recorded as a binary float. During
// a survey it ignores the number of decimals.
func (d *Digits) rounded(v decimal.Decimal, at input.Position) (int64, error) {
	if d.use == learn {
		d.takeSize(v, at)
		return int64(v.V.Sign()), nil
	}
	n, err := v.Rounded(d.use)
	if err != nil {
		return 0, at.Refuse(input.RemedyValue, "%s: %v", d.what, err)
	}
	return n, nil
}

// exact returns a value that is only compared, in ticks or lots; -1 when it has too many decimals.
func (d *Digits) exact(v decimal.Decimal) int64 {
	n, err := v.Units(max(d.use, 0))
	if err != nil {
		return -1
	}
	return n
}

// take records the decimals and the size of a value during a survey.
func (d *Digits) take(v decimal.Decimal, at input.Position) {
	if v.Digits > d.most {
		d.most, d.mostAt = v.Digits, at
	}
	d.takeSize(v, at)
}

func (d *Digits) takeSize(v decimal.Decimal, at input.Position) {
	for d.less <= fixed.Scale {
		if _, err := v.Floor(fixed.Scale - d.less); err == nil {
			return
		}
		d.less++
		d.lessAt = at
	}
}

// takeShared records a volume that trades trades will share.
func (d *Digits) takeShared(v decimal.Decimal, trades int64, at input.Position) {
	for d.use == learn && d.need <= fixed.Scale {
		lots, err := v.Floor(d.need)
		if err != nil || lots >= trades {
			return
		}
		d.need++
		d.needAt, d.needOf, d.shares = at, v, trades
	}
}

// fits returns an error for the first value that needs more digits, with its place.
func (d *Digits) fits(digits int) error {
	switch {
	case d.most > digits:
		return d.mostAt.Refuse("give --digits P,A with that many, or leave it out",
			"a %s with %d fractional digits, where the pair has %d", d.what, d.most, digits)
	case fixed.Scale-d.less < digits:
		return d.lessAt.Refuse("correct the value, or give --digits P,A with fewer",
			"a %s that is too large for %d fractional digits", d.what, digits)
	case d.need > digits:
		lots, _ := d.needOf.Floor(digits) // cannot fail, because takeShared computed it with more digits
		return d.needAt.Refuse(fmt.Sprintf("give --digits P,A with A of %d or more", d.need),
			"a volume of %d lots cannot be %d trades", lots, d.shares)
	}
	return nil
}

// Choose ends the survey and sets the digits of the pair: the given ones, or the files' own. It returns an
// error for digits that are too few for a value.
func (s *Survey) Choose(price, amount int, given bool) (p, a int, err error) {
	if given && s.FixedDigits && (price != s.Price.most || amount != s.Amount.most) {
		return 0, 0, fmt.Errorf("replay: digits %d,%d: files of this format have %d,%d; leave --digits out",
			price, amount, s.Price.most, s.Amount.most)
	}
	if !given {
		price, amount = s.Price.most, s.Amount.most
		if price+amount > fixed.Scale {
			most := &s.Price
			if amount > price {
				most = &s.Amount
			}
			return 0, 0, most.mostAt.Refuse("round the values to their decimals",
				"the files need %d digits of price and %d of amount, together at most %d; this %s has %d",
				price, amount, fixed.Scale, most.what, most.most)
		}
	}
	if err := s.Price.fits(price); err != nil {
		return 0, 0, err
	}
	if err := s.Amount.fits(amount); err != nil {
		return 0, 0, err
	}
	s.Price.use, s.Amount.use = price, amount
	return price, amount, nil
}

// Chosen returns the digits of the pair. Choose must have been called.
func (d *Digits) Chosen() int { return d.use }
