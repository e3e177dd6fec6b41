package encode

import (
	"strconv"

	"tickhive/internal/fixed"
	"tickhive/server/json"
)

// AppendString is json.AppendText.
func AppendString(dst []byte, s string) []byte { return json.AppendText(dst, s) }

// AppendUUID is json.AppendUUID.
func AppendUUID(dst []byte, id [16]byte) []byte { return json.AppendUUID(dst, id) }

// AppendMs appends a Unix time in ns as whole ms.
func AppendMs(dst []byte, ns int64) []byte { return strconv.AppendInt(dst, FloorDiv(ns, 1_000_000), 10) }

// FloorDiv is fixed.FloorDiv.
func FloorDiv(a, b int64) int64 { return fixed.FloorDiv(a, b) }
