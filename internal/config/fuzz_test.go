package config

import (
	"strings"
	"testing"
)

// No configuration file panics: it is taken whole, or refused with a text that names the file or a key.
func FuzzConfigFile(f *testing.F) {
	for _, text := range []string{
		"[server]\nlisten = \"127.0.0.1:0\"\ntrusted_proxies = [\"10.0.0.0/8\"]\n",
		"[rate]\nper_minute = 0\n", "[server]\nlisten = 5\n", "[sever]\nlisten = \"x\"\n", "[server\n",
		"[clock]\nmode = \"virtual\"\nstart = \"2026-01-01T00:00:00Z\"\n", "[sim]\nbackfill = \"-1h\"\n",
		"[[assets]]\nsymbol = \"X\"\n[[pairs]]\ncode = \"X_Y\"\nmin_quote = \"1e9\"\n", "[hive]\nquorum = \"0x10\"\n",
		"[market]\ncandles_kept = [1,2,3]\n", "[referral]\nlevels = [\"2\"]\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 16<<10 {
			return
		}
		c, err := Load("", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err = c.read("file.toml", text); err == nil {
			err = c.validate()
		} else if !strings.Contains(err.Error(), "file.toml") {
			t.Fatalf("%q: the error does not name the file: %v", text, err)
		}
		if err != nil && err.Error() == "" {
			t.Fatalf("%q: an error without a text", text)
		}
	})
}
