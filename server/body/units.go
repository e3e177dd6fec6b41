package body

import (
	"bytes"

	"tickhive/internal/fixed"
)

// DecimalSign returns the sign of a decimal whose form is checked.
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
