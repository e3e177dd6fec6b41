package server

import "unsafe"

// bytesKey returns b as a string without a copy, for a map look-up that ends before b changes.
// The alternative, a conversion that escapes into Root.Lookup, allocates on every request.
func bytesKey(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// stringBytes returns s as bytes without a copy; write to them only before sharing s.
func stringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
