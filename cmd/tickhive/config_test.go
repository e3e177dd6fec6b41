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

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/test/harness"
)

func TestTheLaterSourceWins(t *testing.T) {
	file := harness.WriteConfig(t,
		"[rate]\nper_minute = 70\nper_second = 7\nallow = [\"10.0.0.1\"]\n[launchpad]\nfee = \"5\"\n")
	env := []string{
		"TICKHIVE_RATE_PER_SECOND=8", "TICKHIVE_RATE_ALLOW=192.0.2.1, 2001:db8::/32",
		"TICKHIVE_SIM_ENABLED=off",
	}
	f := serveFlags{
		ConfigFile: file, Set: []string{"rate.votes_per_minute=3", "sim.enabled=off"}, Sim: "on",
		Backfill: "7d",
	}
	c, err := f.config(&program{environ: env})
	if err != nil {
		t.Fatal(err)
	}
	if c.Rate.PerMinute != 70 || c.Rate.PerSecond != 8 || c.Rate.VotesPerMinute != 3 || !c.Sim.Enabled ||
		!slices.Equal(c.Rate.Allow, []string{"192.0.2.1", "2001:db8::/32"}) || c.Launchpad.Fee != "5" ||
		time.Duration(c.Sim.Backfill) != 168*time.Hour {
		t.Errorf("%+v %+v %+v", c.Rate, c.Sim, c.Launchpad)
	}
}

func TestThePrintedConfigurationReadsBack(t *testing.T) {
	var out, errs bytes.Buffer
	p := &program{out: &out, err: &errs}
	if code := run([]string{"config", "print", "--set", "rate.allow=10.0.0.0/8", "--seed", "7"}, p); code != 0 {
		t.Fatal(code, errs.String())
	}
	want, err := config.Load("", nil, []string{"rate.allow=10.0.0.0/8", "sim.seed=7"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(harness.WriteConfig(t, out.String()), nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var a, b bytes.Buffer
	if want.Print(&a) != nil || got.Print(&b) != nil || a.String() != b.String() {
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

// A key that an earlier program had is refused from every source, with what to do.
func TestARemovedKeyIsRefusedWithARemedy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.toml")
	if err := os.WriteFile(file, []byte("[engine]\nloops = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for where, p := range map[string]*program{
		"--set engine.loops=2": {}, "--config " + file: {}, "": {environ: []string{"TICKHIVE_ENGINE_LOOPS=2"}},
	} {
		var out, errs bytes.Buffer
		p.out, p.err = &out, &errs
		code := run(append([]string{"config", "check"}, strings.Fields(where)...), p)
		if code != 2 || !strings.Contains(errs.String(), "engine.loops is gone") ||
			!strings.Contains(errs.String(), "leave the key out") {
			t.Errorf("%q: exit code %d, %s%s", where, code, out.String(), errs.String())
		}
	}
}

func TestConfigCheckExitsByTheResult(t *testing.T) {
	var out, errs bytes.Buffer
	p := &program{out: &out, err: &errs}
	if code := run([]string{"config", "check"}, p); code != 0 || !strings.Contains(out.String(), "configuration ok") {
		t.Errorf("%d %s%s", code, out.String(), errs.String())
	}
	for _, section := range []string{"tls", "internal"} {
		set := []string{"--set", section + ".cert=/no/cert.pem", "--set", section + ".key=/no/key.pem"}
		if code := run(append([]string{"config", "check"}, set...), p); code != 2 ||
			!strings.Contains(errs.String(), section+".cert /no/cert.pem") {
			t.Errorf("%d %s", code, errs.String())
		}
	}
	if code := run([]string{"config", "check", "--journal-sync", "never"}, p); code != 2 ||
		!strings.Contains(errs.String(), "journal.sync") {
		t.Errorf("%d %s", code, errs.String())
	}
}
