package format

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLinesAreBoundedAndGzipIsToldByContent(t *testing.T) {
	long := strings.Repeat("9", maxLine+1)
	l, err := newLineReader("long", strings.NewReader("1\n"+long+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Next(); err != nil {
		t.Fatal(err)
	}
	var bad *LineError
	if _, err := l.Next(); !errors.As(err, &bad) || bad.Line != 2 {
		t.Errorf("a line of %d bytes: %v", len(long), err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("a\r\n\nb")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	l, err = newLineReader("packed", bytes.NewReader(packed.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	first, _ := l.Next()
	text := string(first)
	second, _ := l.Next()
	if text != "a" || string(second) != "b" || l.N != 3 {
		t.Errorf("read %q and %q, line %d", text, second, l.N)
	}
	l, err = newLineReader("torn", bytes.NewReader(packed.Bytes()[:packed.Len()-6]))
	for err == nil {
		_, err = l.Next()
	}
	if !errors.As(err, &bad) {
		t.Errorf("torn gzip: %v, want a LineError", err)
	}
}

// A few kilobytes that unpack to gigabytes are refused.
func TestAPackedTextIsBoundedByItsSize(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("1\n", 512)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range maxText/1024 + 1 {
		if _, err := z.Write([]byte(zeros)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	size := bomb.Len()
	l, err := newLineReader("bomb", &bomb)
	for err == nil {
		_, err = l.Next()
	}
	var bad *LineError
	if !errors.As(err, &bad) || bad.Line < maxText/4 || !strings.Contains(bad.Reason, "times its packed size") {
		t.Errorf("%d bytes: %v", size, err)
	}
}

func TestCellsKnowTheirPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(rapid.StringMatching(`[ a-z0-9,."\t]{0,40}`).Draw(t, "line"))
		var cells [64]cell
		n := splitRow(line, ',', cells[:])
		parts := bytes.Split(line, []byte{','})
		if n != len(parts) {
			t.Fatalf("%q has %d columns, want %d", line, n, len(parts))
		}
		for i, part := range parts {
			c := cells[i]
			if !bytes.Equal(c.Text, bytes.TrimSpace(part)) || !bytes.HasPrefix(line[c.At:], c.Text) {
				t.Fatalf("%q: column %d is %q at %d, want %q", line, i, c.Text, c.At, part)
			}
		}
	})
}

func TestDatesWithoutDashesAreTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"20240102": "2024-01-02", "19700101": "1970-01-01", "202401021030": "2024-01-02T10:30:00",
		"20240102103059": "2024-01-02T10:30:59", "20240102103059123": "2024-01-02T10:30:59.123",
		"20241302": "", "20240230": "", "18991231": "", "21010101": "", "2024010": "", "202401022530": "",
		"1700000000": "", "1700000000000": "", "17000000000000": "", "34200123": "", "2024.102": "", "": "",
	} {
		if got := undashed([]byte(text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

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
