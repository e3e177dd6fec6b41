package server

import "unsafe"

// bytesKey is b as a string without a copy, for a map look-up that ends before b changes.
// The alternative, a conversion that escapes into Root.Lookup, allocates on every request.
func bytesKey(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// stringBytes is s as bytes without a copy; nobody may write to them once others have s.
func stringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
