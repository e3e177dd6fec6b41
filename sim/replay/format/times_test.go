package format

import "testing"

func TestTimesAreToldBySizeAndByTheFilesDay(t *testing.T) {
	day, ok := dayOf("btcusd_20161007_second_trade.csv.gz")
	if !ok || day != 1475798400*secondNs {
		t.Fatalf("day of the name: %d %v", day, ok)
	}
	for text, want := range map[string]int64{
		"1762795433.9717445":            1762795433971744500,
		"1762795433971":                 1762795433971000000,
		"1762795433971744":              1762795433971744000,
		"1762795433971744512":           1762795433971744512,
		"2026-01-01T00:00:00Z":          1767225600 * secondNs,
		"2026-01-01T01:00:00.5+01:00":   1767225600*secondNs + 5e8,
		"2026-01-01 00:00:00":           1767225600 * secondNs,
		"20260101 00:01":                1767225660 * secondNs,
		"2026-01-01T00:00:00.123456789": 1767225600*secondNs + 123456789,
	} {
		if got, _, err := readTime([]byte(text), 0, false); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
	if got, _, err := readTime([]byte("19022000"), day, true); err != nil || got != day+19022000*1e6 {
		t.Errorf("milliseconds of the file's day: %d (%v)", got, err)
	}
	for _, bad := range []string{
		"", "x", "-1", "99999999999999999999", "1969-12-31", "2026-13-01", "12:00", "20260101", "315532799",
	} {
		if got, _, err := readTime([]byte(bad), 0, false); err == nil {
			t.Errorf("%q is %d, want an error", bad, got)
		}
	}
	for _, text := range []string{"20260101", "2026-01-01", "1767225600", "1767225600000"} {
		if got, err := ParseFrom(text, 0); err != nil || got != 1767225600*secondNs {
			t.Errorf("from %s: %d (%v)", text, got, err)
		}
	}
	if got, err := ParseFrom("10:30:00.5", day+3600*secondNs); err != nil || got != day+37800*secondNs+5e8 {
		t.Errorf("a time of day: %d (%v)", got, err)
	}
}
