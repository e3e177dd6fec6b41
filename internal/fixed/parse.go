package fixed

import "errors"

// ErrSyntax reports a text that is not `-?[0-9]{1,20}(\.[0-9]{1,18})?` (docs/contract/market-data.md#decimals).
var ErrSyntax = errors.New("not a decimal of the form -?[0-9]{1,20}(.[0-9]{1,18})?")

// Scale is the number of decimals of balances, fees and accruals: their unit is 10^-18.
const Scale = 18

// Limits of the form of a decimal.
const (
	maxWhole = 20
	maxText  = maxWhole + 1 + Scale // most characters of a decimal, without its sign
	// safeDigits is the number of digits that fit into a uint64 whatever they are.
	safeDigits = 19
)

// Parse reads a decimal exactly, in units of 10^-18. Every valid text fits, because it is at most 10^38 <
// 2^127.
func Parse(s string) (I128, error) {
	m, err := scan(s)
	if err != nil {
		return I128{}, err
	}
	return m.value(), nil
}

// ParseUnits reads a decimal in units of 10^-digits. It returns the same as Parse and Units, but without the
// division of Units.
func ParseUnits(s string, digits int) (units int64, exact, fits bool, err error) {
	m, err := scan(s)
	if err != nil {
		return 0, false, false, err
	}
	if m.digits.Hi != 0 {
		units, exact, fits = Units(m.value(), digits)
		return units, exact, fits, nil
	}
	u := m.digits.Lo
	for ; m.fraction > digits; m.fraction-- {
		if u%10 != 0 {
			return 0, false, true, nil
		}
		u /= 10
	}
	product := Mul64(u, Pow10[digits-m.fraction])
	if product.Hi != 0 || product.Lo > 1<<63-1 {
		return 0, true, false, nil
	}
	units = int64(product.Lo)
	if m.negative {
		units = -units
	}
	return units, true, true, nil
}

// mantissa is a decimal as written: all digits as one integer, and the number of digits after the point.
type mantissa struct {
	digits   U128
	fraction int
	negative bool // the text has a sign, also when the value is zero
}

// scan parses the text of a decimal and checks its form.
func scan(s string) (m mantissa, err error) {
	if m.negative = len(s) > 0 && s[0] == '-'; m.negative {
		s = s[1:]
	}
	if len(s) > maxText {
		return m, ErrSyntax
	}
	whole, n, low := len(s), 0, uint64(0)
	for i := range len(s) {
		digit := s[i] - '0'
		switch {
		case s[i] == '.' && whole == len(s):
			whole = i
			continue
		case digit > 9:
			return m, ErrSyntax
		case n < safeDigits:
			low = low*10 + uint64(digit)
		case n == safeDigits:
			m.digits = U128{Lo: low}.times10(digit)
		default:
			m.digits = m.digits.times10(digit)
		}
		n++
	}
	if n <= safeDigits {
		m.digits.Lo = low
	}
	m.fraction = n - whole
	if whole == 0 || whole > maxWhole || m.fraction > Scale || whole == len(s)-1 {
		return m, ErrSyntax
	}
	return m, nil
}

// value returns the decimal in units of 10^-18.
func (m *mantissa) value() I128 {
	u, _ := m.digits.MulCheck(Pow10[Scale-m.fraction]) // cannot overflow: at most 38 digits, below 2^127
	if m.negative {
		return u.ToI128().Neg()
	}
	return u.ToI128()
}

func (a U128) times10(digit byte) U128 {
	m, _ := a.MulCheck(10)
	return m.Add(U128{Lo: uint64(digit)})
}

// Units converts v, in units of 10^-18, to units of 10^-digits. exact is false when v has further digits that
// are not zero (off tick, off lot). fits is false when the result is outside int64.
func Units(v I128, digits int) (units int64, exact, fits bool) {
	q, r := v.Abs().DivMod64(Pow10[Scale-digits])
	if r != 0 {
		return 0, false, true
	}
	if q.Hi != 0 || q.Lo > 1<<63-1 {
		return 0, true, false
	}
	units = int64(q.Lo)
	if v.Sign() < 0 {
		units = -units
	}
	return units, true, true
}
