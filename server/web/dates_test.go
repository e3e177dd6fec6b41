package web_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/tickhive/tickhive/server/edge"
)

// The pattern that the OpenAPI document gives for date-times takes what the server takes, and refuses what it refuses
// for its form.
func TestThePatternOfDateTimesIsTheServers(t *testing.T) {
	raw, err := os.ReadFile("openapi/market.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Pattern string }
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(doc.Components.Schemas["IsoDateTime"].Pattern)
	for text, want := range map[string]bool{
		"2026-01-01": true, "2026-01-01T00:00:00": true, "2026-01-01T00:00:00Z": true, "2026-01-01T00:00:00.5": true,
		"2026-01-01T00:00:00.123456789Z": true, "2026-01-01T00:00:00+02:00": true, "2026-01-01T00:00:00.1-11:30": true,
		"2026-01-01T00:00:00 02:00": true, "": false, "2026-1-1": false, "2026-01-01T00:00": false,
		"2026-01-01Z": false, "2026-01-01+02:00": false, "2026-01-01T00:00:00.Z": false, "2026-01-01 00:00:00": false,
		"2026-01-01T00:00:00Z+02:00": false, "2026-01-01T00:00:00.1234567890": false, "1767225600": false,
	} {
		if _, ok := edge.ParseDateTime([]byte(text)); ok != want || pattern.MatchString(text) != want {
			t.Errorf("%q: the server takes it %v, the document %v, want %v", text, ok, pattern.MatchString(text), want)
		}
	}
}
