package body

import (
	"bytes"

	"tickhive/internal/fixed"
)

// DecimalSign returns the sign of a valid decimal: -1, 0 or 1.
func DecimalSign(text []byte) int {
	if !bytes.ContainsAny(text, "123456789") {
		return 0
	}
	if text[0] == '-' {
		return -1
	}
	return 1
}

func compareDecimals(a, b []byte) int { return fixed.MustText(a).Cmp(fixed.MustText(b)) }
