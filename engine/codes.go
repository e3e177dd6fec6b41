package engine

// The form of codes is stated here, for every route, the configuration, recordings and records
// (docs/contract/market-data.md#pair-codes-and-order-of-lists).
const (
	// MaxCurrencyCode is the length of the longest currency code. Exchanges trade codes of one letter (T, W) and of
	// more than 12 (1000000BABYDOGE).
	MaxCurrencyCode = 20
	// MaxPairCode is the length of the longest pair code.
	MaxPairCode = 2*MaxCurrencyCode + 1
	// CurrencyForm says in a message what a currency code is.
	CurrencyForm = "1 to 20 of A-Z and 0-9"
)

// ValidCurrencyCode reports whether code has the form of a currency code.
func ValidCurrencyCode[T string | []byte](code T) bool {
	return len(code) > 0 && codeLength(code, 0) == len(code)
}

// ValidPairCode reports whether code has the form BASE_QUOTE of two currency codes.
func ValidPairCode[T string | []byte](code T) bool {
	n := codeLength(code, 0)
	return n > 0 && n < len(code) && code[n] == '_' && n+1 < len(code) &&
		codeLength(code, n+1) == len(code)-n-1
}

// codeLength returns the length of the currency code that begins at from; 0 if none begins there, or if it is too long.
func codeLength[T string | []byte](code T, from int) int {
	n := from
	for n < len(code) && (code[n]-'0' <= 9 || code[n]-'A' <= 'Z'-'A') {
		n++
	}
	if n -= from; n > MaxCurrencyCode {
		return 0
	}
	return n
}
