package main

import "testing"

// The internal listener is named by its address, or by the URL that serve --ephemeral prints.
func TestTheInternalListenerIsNamedByAddressOrURL(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:8081":         "http://127.0.0.1:8081/internal/v1",
		"http://127.0.0.1:8081":  "http://127.0.0.1:8081/internal/v1",
		"http://127.0.0.1:8081/": "http://127.0.0.1:8081/internal/v1",
		"unix:/run/t.sock":       "http://localhost/internal/v1",
	} {
		f := internalFlags{Internal: text}
		if a, err := f.api(&program{}); err != nil || a.base != want {
			t.Errorf("%s: %v, error %v, want %s", text, a, err, want)
		}
	}
}
