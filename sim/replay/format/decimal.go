package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tickhive/tickhive/internal/fixed"
)

// Decimal is a recorded number, in units of 10^-18.
type Decimal struct {
	V      fixed.I128 // digits beyond the 18th decimal are cut off
	Digits int        // number of decimals without trailing zeros
}

// errNumber reports a text that is no number.
var errNumber = errors.New("not a decimal number")

var errLarge = errors.New("number is too large")

const (
	maxDigits   = 64 // most digits of a number
	maxExponent = 40 // largest exponent of a recorded floatText (1e-08)
	maxWhole    = 20 // most digits before the point that fixed.Parse accepts; an int64 has fewer
)

// tooLarge replaces a number with more than maxWhole digits before the point. It is 10^20, above every number of ticks
// or lots.
var tooLarge = fixed.Mul64(fixed.Pow10[19], fixed.Pow10[19]).ToI128()

// ParseDecimal reads [+-]digits[.digits][e[+-]digits]. It accepts more digits than fixed.Parse, because a
// recorded binary float may have them.
func ParseDecimal(s []byte) (Decimal, error) {
	v, err := fixed.Parse(string(s))
	if err != nil {
		return parseFloat(s)
	}
	d := Decimal{V: v}
	if dot := bytes.IndexByte(s, '.'); dot >= 0 {
		d.Digits = len(bytes.TrimRight(s[dot+1:], "0"))
	}
	return d, nil
}

// floatText matches a number as programs print a float: whole digits, fraction, exponent.
var floatText = regexp.MustCompile(`^[+-]?([0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$`)

// parseFloat moves the point by the exponent and cuts off digits, so that fixed.Parse can read the number.
func parseFloat(s []byte) (Decimal, error) {
	part := floatText.FindSubmatch(s)
	if part == nil || len(part[1])+len(part[2]) == 0 || len(part[1])+len(part[2]) > maxDigits {
		return Decimal{}, errNumber
	}
	exponent, _ := strconv.Atoi(string(part[3])) // 0 without an exponent
	if exponent < -maxExponent || exponent > maxExponent {
		return Decimal{}, fmt.Errorf("exponent beyond %d", maxExponent)
	}
	zeros := bytes.Repeat([]byte{'0'}, maxExponent) // room to move the point in both directions
	text := slices.Concat(zeros, part[1], part[2], zeros)
	point := len(zeros) + len(part[1]) + exponent
	whole, fraction := bytes.TrimLeft(text[:point], "0"), bytes.TrimRight(text[point:], "0")
	d := Decimal{V: tooLarge, Digits: len(fraction)}
	if len(whole) <= maxWhole {
		if len(whole) == 0 {
			whole = zeros[:1]
		}
		v, err := fixed.Parse(fmt.Sprintf("%s.%.*s", whole, fixed.Scale, append(fraction, '0')))
		if err != nil {
			return Decimal{}, err
		}
		d.V = v
	}
	if s[0] == '-' {
		d.V = d.V.Neg()
	}
	return d, nil
}

// decimalOf returns the number of v units of 10^-18.
func decimalOf(v fixed.U128) Decimal {
	d := Decimal{V: v.ToI128()}
	for d.Digits = fixed.Scale; d.Digits > 0; d.Digits-- {
		q, rest := v.DivMod64(10)
		if rest != 0 {
			break
		}
		v = q
	}
	return d
}

// rounds0 reports whether a number above zero rounds to 0.
func (d Decimal) rounds0(digits int) bool {
	n, err := d.Rounded(digits)
	return d.V.Sign() > 0 && err == nil && n == 0
}

// scaled returns the number divided by 10^n.
func (d Decimal) scaled(n int) (Decimal, error) {
	q, rest := d.V.Abs().DivMod64(fixed.Pow10[n])
	if rest != 0 {
		return d, fmt.Errorf("divided by 10^%d it has more than %d fractional digits", n, fixed.Scale)
	}
	return decimalOf(q), nil
}

// quotientDigits is the number of decimals of a base amount that a quote amount gives, unless the price needs more.
const quotientDigits = 8

// over returns the number divided by a price, rounded half up to quotientDigits decimals.
func (d Decimal) over(price Decimal) (Decimal, error) {
	digits := max(fixed.Scale-quotientDigits, price.Digits) // of the divisor; the quotient has the others
	divisor, err := price.Units(digits)
	if err != nil {
		return d, err
	}
	half := uint64(divisor) / 2
	q, _ := d.V.Abs().Add(fixed.FromU64(half)).DivMod64(uint64(divisor))
	v, ok := q.MulCheck(fixed.Pow10[digits])
	switch {
	case !ok:
		return d, errLarge
	case v.IsZero():
		return d, fmt.Errorf("divided by the price it is below 10^-%d", fixed.Scale-digits)
	}
	return decimalOf(v), nil
}

// Units returns the number in units of 10^-digits. It returns an error when the number has more decimals.
func (d Decimal) Units(digits int) (int64, error) {
	if d.Digits > digits {
		return 0, fmt.Errorf("more than %d fractional digits", digits)
	}
	v, _, fits := fixed.Units(d.V, digits)
	if !fits {
		return 0, errLarge
	}
	return v, nil
}

// Floor returns the number in units of 10^-digits, with the further decimals cut off.
func (d Decimal) Floor(digits int) (int64, error) { return d.round(digits, 0) }

// Rounded returns the number in units of 10^-digits, rounded half up. It serves decimals with that many digits
// that were recorded as binary floats.
func (d Decimal) Rounded(digits int) (int64, error) {
	return d.round(digits, fixed.Pow10[fixed.Scale-digits]/2)
}

// round adds add, in units of 10^-18, to the magnitude and cuts off the further decimals.
func (d Decimal) round(digits int, add uint64) (int64, error) {
	q, _ := d.V.Abs().Add(fixed.FromU64(add)).DivMod64(fixed.Pow10[fixed.Scale-digits])
	if q.Hi != 0 || q.Lo >= math.MaxInt64 {
		return 0, errLarge
	}
	if d.V.Sign() < 0 {
		return -int64(q.Lo), nil
	}
	return int64(q.Lo), nil
}

// learn is the value of Digits.use during a survey.
const learn = -1

// Digits converts prices, or amounts, to ticks or lots. The number of decimals is known only when all files
// have been read, so a survey records the extremes.
type Digits struct {
	what string
	use  int // learn, or the number of digits of the pair

	rounds    bool // the given digits are fewer than a value's: it is rounded
	roundings int  // number of rounded values, over all passes

	most   int // most decimals of any value
	mostAt Position

	least   Decimal // smallest value above zero, to see whether it rounds to 0
	leastAt Position

	less   int // by how much the digits must be below fixed.Scale so that the largest value fits
	lessAt Position

	need   int // fewest digits with which every bar's volume has one lot for each of its trades
	needAt Position
	needOf Decimal // the volume that requires need digits
	shares int64   // number of trades that share that volume

	trade extreme // the largest value of one trade of a recording without a book
}

// extreme is the largest of some values.
type extreme struct {
	Decimal
	at Position
}

func (e *extreme) take(v Decimal, at Position) {
	if v.V.Cmp(e.V) > 0 {
		*e = extreme{v, at}
	}
}

// within returns an error when the largest value of one trade is above the limit of an order.
func (d *Digits) within(limit int64, remedy string) error {
	n, err := d.trade.Floor(d.use)
	if err == nil && n <= limit {
		return nil
	}
	most := fixed.Mul64(uint64(limit), fixed.Pow10[fixed.Scale-d.use]).ToI128()
	return d.trade.at.Refuse(remedy, "%s %s of one trade: an order has at most %s", d.what, plain(d.trade.V),
		plain(most))
}

// plain returns 10^-18 units as text, without decimals of a whole number.
func plain(v fixed.I128) string {
	return strings.TrimSuffix(string(fixed.AppendShortest(nil, v, fixed.Scale)), ".0")
}

// Within returns an error when the largest price, or the largest amount, of the trades to feed is above the limits of
// an order of the pair, in ticks and lots: the exchange would refuse that trade. A recording with a book is not judged,
// because a level that the exchange refuses costs no trade. Choose must have been called.
func (s *Survey) Within(price, amount int64) error {
	return cmp.Or(
		s.Price.within(price, "divide the prices with --price-scale N, or name the column with --columns price=COLUMN"),
		s.Amount.within(amount, "give --amount quote if it counts the quote currency, or name the column with "+
			"--columns amount=COLUMN, or divide all amounts of the file and multiply its prices"),
	)
}

// NewSurvey returns an empty survey for the first pass.
func NewSurvey() *Survey {
	return &Survey{Price: Digits{what: "price", use: learn}, Amount: Digits{what: "amount", use: learn}}
}

// units returns a value in ticks or lots. During a survey it records the value and returns its sign.
func (d *Digits) units(v Decimal, at Position) (int64, error) {
	if d.use == learn {
		d.take(v, at)
		return int64(v.V.Sign()), nil
	}
	n, err := v.Units(d.use)
	if err != nil && d.rounds && v.Digits > d.use {
		d.roundings++
		n, err = v.Rounded(d.use)
	}
	if err != nil {
		return 0, at.Refuse(remedyValue, "%s: %v", d.what, err)
	}
	return n, nil
}

// rounded returns a value in ticks or lots, rounded, for a decimal that was recorded as a binary float. During
// a survey it ignores the number of decimals.
func (d *Digits) rounded(v Decimal, at Position) (int64, error) {
	if d.use == learn {
		d.takeSize(v, at)
		return int64(v.V.Sign()), nil
	}
	n, err := v.Rounded(d.use)
	if err != nil {
		return 0, at.Refuse(remedyValue, "%s: %v", d.what, err)
	}
	return n, nil
}

// exact returns a value that is only compared, in ticks or lots; -1 when it has too many decimals.
func (d *Digits) exact(v Decimal) int64 {
	n, err := v.Units(max(d.use, 0))
	if err != nil {
		return -1
	}
	return n
}

// take records the decimals and the size of a value during a survey.
func (d *Digits) take(v Decimal, at Position) {
	if v.Digits > d.most {
		d.most, d.mostAt = v.Digits, at
	}
	if v.V.Sign() > 0 && (d.least.V.Sign() == 0 || v.V.Cmp(d.least.V) < 0) {
		d.least, d.leastAt = v, at
	}
	d.takeSize(v, at)
}

func (d *Digits) takeSize(v Decimal, at Position) {
	for d.less <= fixed.Scale {
		if _, err := v.Floor(fixed.Scale - d.less); err == nil {
			return
		}
		d.less++
		d.lessAt = at
	}
}

// takeShared records a volume that trades trades will share.
func (d *Digits) takeShared(v Decimal, trades int64, at Position) {
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
	case d.most > digits && !d.rounds:
		return d.mostAt.Refuse("give --digits P,A with that many, or leave it out",
			"%s with %d fractional digits, where the pair has %d", d.what, d.most, digits)
	case d.most > digits && d.least.rounds0(digits):
		return d.leastAt.Refuse("give --digits P,A with more", "%s that rounded to %d digits is 0", d.what, digits)
	case fixed.Scale-d.less < digits:
		return d.lessAt.Refuse("correct the value, or give --digits P,A with fewer",
			"%s that is too large for %d fractional digits", d.what, digits)
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
		if need := max(amount, s.Amount.need); price+need <= fixed.Scale {
			amount = need // tick volumes are whole, and a bar becomes up to four trades
		}
		if price+amount > fixed.Scale {
			most := &s.Price
			if amount > price {
				most = &s.Amount
			}
			remedy := "round the values to their decimals"
			if s.Rounds {
				remedy += ", or give --digits P,A: it rounds and counts"
			}
			return 0, 0, most.mostAt.Refuse(remedy,
				"the files need %d digits of price and %d of amount, together at most %d; this %s has %d",
				price, amount, fixed.Scale, most.what, most.most)
		}
	}
	s.Price.rounds, s.Amount.rounds = given && s.Rounds, given && s.Rounds
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
