package encode

import (
	"crypto/sha1"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// HexDigits are the digits of hexadecimal numbers.
const HexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string; bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
			i++
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', HexDigits[c>>4], HexDigits[c&15])
			i++
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return append(dst, '"')
}

// AppendNullable appends s as a JSON string, or null for the empty string.
func AppendNullable(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, s)
}

// AppendUUID appends a UUID as lower-case text.
func AppendUUID(dst []byte, id [16]byte) []byte {
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, HexDigits[b>>4], HexDigits[b&15])
	}
	return dst
}

// AppendRate appends v x 10^-digits as the shortest decimal. It serves rates, limits and percents.
func AppendRate(dst []byte, v int64, digits int) []byte {
	return fixed.AppendShortest(dst, fixed.FromI64(v), digits)
}

// AppendUnits appends v x 10^-digits with all its digits, or null if applies is false.
func AppendUnits(b []byte, v int64, digits int, applies bool) []byte {
	if !applies {
		return append(b, "null"...)
	}
	return fixed.AppendI64(b, v, digits)
}

// AppendCanceled returns the body of a mass cancel.
func AppendCanceled(n int) []byte {
	return append(strconv.AppendInt([]byte(`{"canceled":`), int64(n), 10), '}')
}

// FeeAsset returns the currency in which a side pays its fee, which is the one that it receives, and its digits.
func FeeAsset(in *engine.Instrument, side engine.Side) (currency string, digits int) {
	if side == engine.Buy {
		return in.Base, in.BaseDigits
	}
	return in.Quote, in.QuoteDigits
}

// AppendFee appends the members fee and feeCurrencyCode of an order or a fill of a side. A fee is at most what the
// side has received, which is below 2^127 units; null if it is not known.
func AppendFee(b []byte, in *engine.Instrument, side engine.Side, fee fixed.U128, known bool) []byte {
	currency, digits := FeeAsset(in, side)
	b = append(b, `,"fee":`...)
	if known {
		b = fixed.AppendShortest(b, fee.ToI128(), digits)
	} else {
		b = append(b, "null"...)
	}
	return append(append(append(b, `,"feeCurrencyCode":"`...), currency...), '"')
}

// AppendAveragePrice appends total / filled with the digits of an average, rounded half to even, or null if nothing is
// filled. total is in product units, filled in lots.
func AppendAveragePrice(b []byte, total fixed.U128, filled int64, digitsPrice int) []byte {
	if filled == 0 {
		return append(b, "null"...)
	}
	return fixed.AppendAverageHalfEven(b, total, fixed.FromU64(uint64(filled)), digitsPrice)
}

// AppendSecond appends Unix seconds as an ISO 8601 date and time without a zone: 2026-01-01T00:00:00.
func AppendSecond(dst []byte, sec int64) []byte {
	return time.Unix(sec, 0).UTC().AppendFormat(dst, "2006-01-02T15:04:05")
}

// AppendISO appends a Unix time in ns as an ISO 8601 date and time with Z. The seconds have digits decimals,
// truncated.
func AppendISO(dst []byte, ns int64, digits int) []byte {
	sec := FloorDiv(ns, 1_000_000_000)
	dst = append(AppendSecond(dst, sec), '.')
	frac := ns - sec*1_000_000_000
	for unit := int64(100_000_000); digits > 0; digits-- {
		dst = append(dst, byte('0'+frac/unit%10))
		unit /= 10
	}
	return append(dst, 'Z')
}

// AppendMs appends a Unix time in ns as whole ms.
func AppendMs(dst []byte, ns int64) []byte {
	return strconv.AppendInt(dst, FloorDiv(ns, 1_000_000), 10)
}

// FloorDiv returns a / b rounded down.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// AppendTicker appends the ticker object of docs/contract/api.md; streams send it too.
func AppendTicker(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	changed := t.ChangedSec
	if changed == 0 { // no event has changed the figures since the pair was added
		changed = FloorDiv(in.CreatedNs, 1_000_000_000)
	}
	b = strconv.AppendInt(append(b, `{"timestamp":`...), changed, 10)
	b = append(append(append(b, `,"currencyPairCode":"`...), in.Code...), '"')
	b = fixed.AppendI64(append(b, `,"price":`...), t.Last, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"price24hAgo":`...), t.Ago24h, in.DigitsPrice)
	b = fixed.AppendI128(append(b, `,"priceChangePercentage24h":`...),
		fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	b = fixed.AppendU128(append(b, `,"volume24h":`...), t.Volume, in.DigitsAmount)
	b = fixed.AppendI64(append(b, `,"bidPrice":`...), t.Bid, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"askPrice":`...), t.Ask, in.DigitsPrice)
	return append(b, '}')
}

// AppendDeal appends the members of the public deal of docs/contract/api.md without the braces, so that callers
// can add members. isUserBuyer is null unless viewer is the buyer or the seller.
func AppendDeal(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade,
	viewer *engine.AccountID,
) []byte {
	var name [48]byte // a pair code has at most 25 bytes, a trade id 20
	text := strconv.AppendUint(append(append(name[:0], in.Code...), ':'), uint64(id), 10)
	b = AppendDealUUID(append(b, `"id":"`...), text)
	b = AppendISO(append(b, `","dealDateUtc":"`...), t.TimeNs, 7)
	b = append(append(b, `","currencyPairCode":"`...), in.Code...)
	b = fixed.AppendI64(append(b, `","volume":`...), t.Amount, in.DigitsAmount)
	b = fixed.AppendI64(append(b, `,"price":`...), t.Price, in.DigitsPrice)
	b = strconv.AppendBool(append(b, `,"isBuy":`...), t.TakerSide == engine.Buy)
	b = append(b, `,"isUserBuyer":`...)
	switch {
	case viewer == nil:
		return append(b, "null"...)
	case *viewer == t.Buyer:
		return append(b, "true"...)
	case *viewer == t.Seller:
		return append(b, "false"...)
	}
	return append(b, "null"...)
}

// AppendDealUUID appends the UUID v5 of name as text. It does not allocate for names up to 64 bytes.
func AppendDealUUID(dst, name []byte) []byte {
	var buf [16 + 64]byte
	text := append(append(buf[:0], dealNamespace[:]...), name...)
	sum := sha1.Sum(text)
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, HexDigits[b>>4], HexDigits[b&15])
	}
	return dst
}

// dealNamespace is the UUID namespace of deals and commissions
// (docs/contract/market-data.md#deals).
var dealNamespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:deal"))

// AppendCandle appends the candle object of docs/contract/api.md; streams send it too.
func AppendCandle(b []byte, in *engine.Instrument, k *marketdata.Candle) []byte {
	b = AppendSecond(append(b, `{"date":"`...), k.Start)
	b = fixed.AppendI64(append(b, `","open":`...), k.Open, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"max":`...), k.High, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"min":`...), k.Low, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"close":`...), k.Close, in.DigitsPrice)
	b = fixed.AppendU128(append(b, `,"volume":`...), k.QuoteVolume, in.DigitsTotal())
	b = fixed.AppendU128(append(b, `,"volumeBase":`...), k.Volume, in.DigitsAmount)
	return append(b, '}')
}

// The commission types of docs/contract/market-data.md#currencies-pairs-and-commissions.
const (
	CommissionRefill     = 1
	CommissionWithdrawal = 2
	CommissionBuy        = 3
	CommissionSell       = 4
)

// Commission is one record of /api/currencies/commissions.
type Commission struct {
	Type      int
	Currency  string // empty for trades
	Pair      string // empty for deposits and withdrawals
	Adapter   string
	Percent   uint32     // 10^-8
	Minimum   fixed.I128 // 10^-18 of MinimumIn
	MinimumIn string     // empty for trades
	HashCode  string
}

// AppendCommission appends one record as JSON. It applies discount (10^-8) to the rate.
func AppendCommission(b []byte, c *Commission, discount uint32) []byte {
	kind, names := strconv.Itoa(c.Type), commissionNames[c.Type]
	b = append(b, `{"commissionId":"`...)
	b = AppendDealUUID(b, []byte(c.HashCode))
	b = AppendNullable(append(b, `","currencyCode":`...), c.Currency)
	b = AppendNullable(append(b, `,"currencyPairCode":`...), c.Pair)
	b = AppendNullable(append(b, `,"currencyAdapterCode":`...), c.Adapter)
	b = fixed.AppendShortest(append(b, `,"percent":`...), discounted(c.Percent, discount), 2*engine.RateScale)
	b = fixed.AppendShortest(append(b, `,"minimum":`...), c.Minimum, fixed.Scale)
	b = AppendNullable(append(b, `,"commissionCurrencyCode":`...), c.MinimumIn)
	b = AppendString(append(b, `,"commissionTypeCode":`...), kind)
	b = AppendString(append(b, `,"commissionType":{"code":`...), kind)
	b = AppendString(append(b, `,"value":`...), names[0])
	b = AppendString(append(b, `,"valueKey":`...), names[1])
	b = AppendString(append(b, `},"hashCode":`...), c.HashCode)
	return append(b, '}')
}

// commissionNames holds, for each type, the display name and the key.
var commissionNames = [...][2]string{
	CommissionRefill:     {"Пополнение", "Refill"},
	CommissionWithdrawal: {"Вывод", "Withdrawal"},
	CommissionBuy:        {"Сделка покупка", "Trade"},
	CommissionSell:       {"Сделка продажа", "Trade"},
}

// discounted returns rate x (1 - discount), both in 10^-8, exactly and in 10^-16.
func discounted(rate, discount uint32) fixed.I128 {
	return fixed.Mul64(uint64(rate), uint64(engine.RateOne-discount)).ToI128()
}
