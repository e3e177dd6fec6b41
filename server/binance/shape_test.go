package binance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// shape returns the members of a JSON value in their order: s of a text, n of a number, b of a boolean, 0 of null.
func shape(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	out := value(t, d)
	if d.More() {
		t.Fatalf("more than one value: %s", text)
	}
	return out
}

func value(t *testing.T, d *json.Decoder) string {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch v := token.(type) {
	case string:
		return "s"
	case json.Number:
		return "n"
	case bool:
		return "b"
	case json.Delim:
		var list []string
		for d.More() {
			name := ""
			if v == '{' {
				token, err := d.Token()
				if err != nil {
					t.Fatal(err)
				}
				name = fmt.Sprint(token) + ":"
			}
			list = append(list, name+value(t, d))
		}
		end, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		return v.String() + strings.Join(list, " ") + fmt.Sprint(end)
	}
	return "0"
}

// shaped checks the members of an answer.
func shaped(t *testing.T, what, text, want string) {
	t.Helper()
	if got := shape(t, text); got != want {
		t.Errorf("%s: %s\ngot  %s\nwant %s", what, text, got, want)
	}
}
