package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tickhive.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEveryKeyHasADefaultAndTheBuiltInMarketIsLargeEnough(t *testing.T) {
	c, err := loadConfig("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Assets) < 8 || len(c.Pairs) < 10 {
		t.Errorf("%d assets, %d pairs", len(c.Assets), len(c.Pairs))
	}
	symbols := map[string]bool{}
	for _, a := range c.Assets {
		symbols[a.Symbol] = true
	}
	low, high := 1<<30, 0
	for _, p := range c.Pairs {
		base, quote, _ := strings.Cut(p.Code, "_")
		if !symbols[base] || !symbols[quote] {
			t.Errorf("%s trades a currency that is not configured", p.Code)
		}
		low, high = min(low, p.Weight), max(high, p.Weight)
	}
	if high < 10*low {
		t.Errorf("weights %d to %d: the largest pair is not ten times the smallest", low, high)
	}
}

func TestTheLaterSourceWins(t *testing.T) {
	file := writeConfig(t, "[rate]\nper_minute = 70\nper_second = 7\nallow = [\"10.0.0.1\"]\n[launchpad]\nfee = \"5\"\n")
	env := []string{"TICKHIVE_RATE_PER_SECOND=8", "TICKHIVE_RATE_ALLOW=192.0.2.1, 2001:db8::/32", "TICKHIVE_SIM_ENABLED=on"}
	f := serveFlags{ConfigFile: file, Set: []string{"rate.votes_per_minute=3", "sim.enabled=on"}, Sim: "off", Backfill: "7d"}
	c, err := f.config(&program{environ: env})
	if err != nil {
		t.Fatal(err)
	}
	if c.Rate.PerMinute != 70 || c.Rate.PerSecond != 8 || c.Rate.VotesPerMinute != 3 || c.Sim.Enabled ||
		!slices.Equal(c.Rate.Allow, []string{"192.0.2.1", "2001:db8::/32"}) || c.Launchpad.Fee != "5" ||
		time.Duration(c.Sim.Backfill) != 168*time.Hour {
		t.Errorf("%+v %+v %+v", c.Rate, c.Sim, c.Launchpad)
	}
}

func TestAListOnTheCommandLineMayHaveTheFormOfTheFile(t *testing.T) {
	want := []string{"127.0.0.1", "10.0.0.0/8"}
	for _, text := range []string{`127.0.0.1,10.0.0.0/8`, `["127.0.0.1", "10.0.0.0/8"]`, ` [ '127.0.0.1','10.0.0.0/8' ] `} {
		c, err := loadConfig("", []string{"TICKHIVE_RATE_ALLOW=" + text}, []string{"server.trusted_proxies=" + text})
		if err != nil || !slices.Equal(c.Rate.Allow, want) || !slices.Equal(c.Server.TrustedProxies, want) {
			t.Errorf("%s: %v %v", text, c, err)
		}
	}
	if c, err := loadConfig("", nil, []string{"rate.allow=[]", "referral.levels=[0.1, \"0.2\", 0, 0, 0]"}); err != nil || len(c.Rate.Allow) != 0 {
		t.Errorf("%v", err)
	}
}

func TestWrongConfigurationNamesThePlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[rate]\nper_minute = 60\nper_secnd = 5\n", ":3: unknown key rate.per_secnd; the nearest known key is rate.per_second"},
		{"[jurnal]\nsync = \"off\"\n", "unknown key jurnal; the nearest known key is"},
		{"[[pairs]]\ncode = \"AA_BB\"\ndigits_prise = 3\n", ":3: unknown key pairs.digits_prise; the nearest known key is pairs.digits_price"},
		{"[rate]\nper_minute = \"x\"\n", ":2:"},
		{"[rate\n", ":1:"},
		{"[referral]\nlevels = [\"0.1\", \"x\", \"0\", \"0\", \"0\"]\n", "referral.levels"},
		{"[launchpad]\nfee = \"1e3\"\n", "launchpad.fee"},
		{"[journal]\nsync = \"sometimes\"\n", "journal.sync: \"sometimes\" is not one of always, interval, off"},
		{"[internal]\nlisten = \"0.0.0.0:8081\"\n", "needs --internal-token"},
		{"[[pairs]]\ncode = \"AA_BB\"\ndigits_price = 10\ndigits_amount = 10\n", "would overflow"},
		{"[[pairs]]\ncode = \"aa_bb\"\n", "is not of the form"},
		{"[[pairs]]\ncode = \"AA_BB\"\nmaker_fee = \"1.5\"\n", "rate"},
		{"[clock]\nstart = \"yesterday\"\n", "clock.start"},
	} {
		_, err := loadConfig(writeConfig(t, c.text), nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	for _, s := range []string{"rate.allw=1", "rate.per_minute=x", "rate.per_minute", "sim.enabled=maybe", "rate.allow=a b", "rate.allow={}"} {
		if _, err := loadConfig("", nil, []string{s}); err == nil {
			t.Errorf("--set %s was taken", s)
		}
	}
	_, err := loadConfig("", nil, []string{"rate.allw=1"})
	if err == nil || !strings.Contains(err.Error(), "the nearest known key is rate.allow") {
		t.Errorf("%v", err)
	}
}

func TestThePrintedConfigurationReadsBack(t *testing.T) {
	var out, errs bytes.Buffer
	p := &program{out: &out, err: &errs}
	if code := run([]string{"config", "print", "--set", "rate.allow=10.0.0.0/8", "--seed", "7"}, p); code != 0 {
		t.Fatal(code, errs.String())
	}
	want, err := loadConfig("", nil, []string{"rate.allow=10.0.0.0/8", "sim.seed=7"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := loadConfig(writeConfig(t, out.String()), nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var a, b bytes.Buffer
	if want.print(&a) != nil || got.print(&b) != nil || a.String() != b.String() {
		t.Error(cmp.Diff(a.String(), b.String()))
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	var out, errs bytes.Buffer
	p := &program{out: &out, err: &errs, environ: []string{"TICKHIVE_INTERNAL_TOKEN=very-secret"}}
	if code := run([]string{"config", "print"}, p); code != 0 {
		t.Fatal(code, errs.String())
	}
	if strings.Contains(out.String(), "very-secret") || !strings.Contains(out.String(), `token = "(hidden)"`) {
		t.Error(out.String())
	}
}

func TestConfigCheckExitsByTheResult(t *testing.T) {
	var out, errs bytes.Buffer
	p := &program{out: &out, err: &errs}
	if code := run([]string{"config", "check"}, p); code != 0 || !strings.Contains(out.String(), "configuration ok") {
		t.Errorf("%d %s%s", code, out.String(), errs.String())
	}
	if code := run([]string{"config", "check", "--journal-sync", "never"}, p); code == 0 || !strings.Contains(errs.String(), "journal.sync") {
		t.Errorf("%d %s", code, errs.String())
	}
}
