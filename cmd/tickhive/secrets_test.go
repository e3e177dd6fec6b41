package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts/auth"
)

// The terminal shows the demo's private key once, and no address that would carry it into the
// history of a browser.
func TestTheDemosAddressCarriesNoKey(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &program{out: &out}
	if err := p.showDemoKey("thePublicHalf", auth.NewSecret("thePrivateHalf"), "http://127.0.0.1:8080/"); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "thePublicHalf") != 1 || strings.Count(text, "thePrivateHalf") != 1 {
		t.Errorf("not each half once:\n%s", text)
	}
	if !strings.Contains(text, "page     http://127.0.0.1:8080/\n") {
		t.Errorf("no bare address of the page:\n%s", text)
	}
}
