// Package rawjson reads single JSON values that are kept as they were sent.
//
// Owner: none; functions only. The values must be valid JSON, or empty when they are missing.
package rawjson

import "encoding/json"

// Absent reports whether a value is missing or null.
func Absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// Text returns the decoded value of a JSON string; ok is false for any other value.
func Text(raw []byte) (text string, ok bool) {
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil
	return text, ok
}
