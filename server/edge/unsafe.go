package edge

import "unsafe"

// BytesKey returns b as a string without a copy, for a map look-up that ends before b changes.
// The alternative, a conversion that escapes into Root.Lookup, allocates on every request.
func BytesKey(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// StringBytes returns s as bytes without a copy. The caller may write to them only while no one else has s.
func StringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
