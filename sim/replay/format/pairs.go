package format

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/tickhive/tickhive/engine"
)

// quoteCurrencies lists the quote currencies at the end of symbols without a separator. Longer ones come first, so that
// BTCUSDT is not split into BTC, USD and a T.
var quoteCurrencies = []string{
	"FDUSD", "USDT", "USDC", "BUSD", "TUSD", "USD", "EUR", "GBP", "JPY", "TRY", "BRL", "AUD", "CAD", "CHF",
	"BTC", "ETH", "BNB",
}

// splitPair returns the pair code of a symbol like BTCUSDT, btc-usd or XBT/USDT; "" when
// it cannot split the symbol.
func splitPair(symbol string) string {
	s := strings.ToUpper(symbol)
	if base, quote, ok := strings.Cut(strings.NewReplacer("/", "_", "-", "_").Replace(s), "_"); ok {
		return pairOf(base, quote)
	}
	for _, q := range quoteCurrencies {
		base, ok := strings.CutSuffix(s, q)
		if ok && base != "" && (len(base) > 2 || q != "TUSD" && q != "BUSD") { // XBTUSD and BNBUSD are in dollars
			return pairOf(base, q)
		}
	}
	return ""
}

// PairOfSymbol returns the pair code of a symbol that a user gives, or "".
func PairOfSymbol(format, symbol string) string {
	if code := pairOfKraken(symbol); code != "" && format != "databento" {
		return code
	}
	return dollarPair(symbol)
}

// dollarPair returns the pair code of a symbol as vendors of shares and futures write it: BTC_USD of BTC-USD, which is
// a pair; ESM4_USD and BRKB_USD of ESM4 and BRK.B, which are traded in dollars. It returns "" for a number, the id of
// an instrument whose symbol the file does not have.
func dollarPair(symbol string) string {
	if _, err := strconv.ParseUint(symbol, 10, 32); err == nil {
		return ""
	}
	if code := splitPair(symbol); code != "" && strings.ContainsAny(symbol, "-/_") {
		return code
	}
	return pairOf(strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return c
		}
		return -1
	}, symbol), "USD")
}

// pairOf returns the pair code of a symbol of the table. Shares and futures of Databento are traded in dollars; of
// another share the table does not say the currency.
func (r *table) pairOf(symbol string) string {
	if r.fields.first[colVenue].set {
		return dollarPair(symbol)
	}
	return splitPair(symbol)
}

// symbolIs reports whether a symbol of a file is a name of the pair.
func symbolIs(symbol, pair string) bool {
	return strings.EqualFold(symbol, pair) || pairOfKraken(symbol) == pair || dollarPair(symbol) == pair
}

// pairOf returns the code BASE_QUOTE, or "" when it is not valid.
func pairOf(base, quote string) string {
	base, quote = strings.ToUpper(base), strings.ToUpper(quote)
	code := base + "_" + quote
	if base == quote || !engine.ValidPairCode(code) {
		return ""
	}
	return code
}

// anyQuote matches a quote currency in capital letters.
var anyQuote = strings.Join(quoteCurrencies, "|")

// symbolInName begins with a currency of up to 20 letters and digits: T, ETH, 1INCH, 1000SATS; the digits of a date in
// front are none.
var symbolInName = regexp.MustCompile(`^(?:10*|[0-9])?[A-Za-z][A-Za-z0-9]{0,19}[-_]?` +
	`(?:` + strings.ToLower(anyQuote) + `|` + anyQuote + `)(?:[^A-Za-z]|$)`)

// pairInName returns the pair with which a file name begins (btcusd_20161007...), "" when there is none.
func pairInName(name string) string {
	m := symbolInName.FindString(name)
	return splitPair(strings.TrimRight(m, "_-. 0123456789"))
}

// pairOfKraken returns the pair code for Kraken's name of a pair: XBTUSDT, XBT/USDT, or XXBTZUSD with the old
// prefixes X (currency) and Z (fiat).
func pairOfKraken(symbol string) string {
	if len(symbol) == 8 && symbol[0] == 'X' && (symbol[4] == 'Z' || symbol[4] == 'X') {
		return pairOf(symbol[1:4], symbol[5:])
	}
	return splitPair(strings.TrimSpace(symbol))
}
