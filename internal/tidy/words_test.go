package tidy

import "testing"

func TestBannedWordsAreFound(t *testing.T) {
	for text, found := range map[string]int{
		"It is told of each.":               1,
		"Whoever calls it":                  1,
		"that of the sender":                1,
		"The size is what the caller gave.": 1,
		"A company of orders":               1,
		"`is told`":                         0,
		"The caller is notified.":           0,
		"the hash of the empty string":      0,
	} {
		if got := Words(ParsePage("docs/x.md", text)); len(got) != found {
			t.Errorf("%q: %v, want %d", text, got, found)
		}
	}
}

func TestBannedWordsAreFoundInGoFiles(t *testing.T) {
	for code, found := range map[string]int{
		"// F calls whoever waits.\nfunc F() {}":           1,
		"// F notes what is\n// told to it.\nfunc F() {}":  1,
		"// N is how many orders there are.\nconst N = 1":  1,
		"func f() { // nobody waits\n}":                    1,
		"var e = \"nobody waits\"":                         1,
		"var user = \"nobody\"":                            0,
		"// F returns 1.\n//\n//\twhoever(1)\nfunc F() {}": 0,
		"// F calls `whoever`.\nfunc F() {}":               0,
		"type x struct { n int `a:\"whoever is\"` }":       0,
	} {
		f, err := Parse("engine/x.go", []byte("package x\n"+code+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := Wording(f); len(got) != found {
			t.Errorf("%q: %v, want %d", code, got, found)
		}
	}
}

func TestBannedWordsAreFoundInPagesAndScripts(t *testing.T) {
	for name, found := range map[string]int{
		"Makefile": 1, ".ci/run": 1, "client/x.sh": 1, "server/web/app/x.js": 1, "server/web/app/x.html": 1,
		"server/web/swagger/x.js": 0, "LICENSE": 0, "go.sum": 0,
	} {
		if got := PlainText(name, []byte("a\n# whoever calls it\n")); len(got) != found {
			t.Errorf("%s: %v, want %d", name, got, found)
		}
	}
}
