package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/test/harness"
)

// wrongConfigurations are sources with a fault each, or with several. A line that begins with
// "[" is a file, one that begins with TICKHIVE_ an environment variable, anything else
// is arguments.
var wrongConfigurations = []string{
	"[rate]\nper_minute = 60\nper_secnd = 5\nclients = 1\nx = 2", "[jurnal]\nsync = \"off\"",
	"[[pairs]]\ncode = \"AA_BB\"\ndigits_prise = 3", "[rate]\nper_minute = \"x\"", "[server]\nlisten = 5",
	"[rate]\nallow = \"10.0.0.1\"", "[sim]\nenabled = \"on\"", "[[pairs]]\ncode = 7", "[rate",
	"[sim]\nbackfill = \"x\"",
	"[sim]\nbackfill = \"-1h\"", "[sim]\nbackfill = -5",
	"[server]\nread_timeout = -5\n[journal]\nsnapshot_every = 5",
	"[launchpad]\nfee = \"1e3\"\n[referral]\nlevels = [\"x\", \"-1\"]\n[hive]\nquorum = \"-1\"",
	"[[assets]]\nsymbol = \"a\"\nmaker_fee = \"x\"\n[[assets]]\nsymbol = \"B\"\n[[pairs]]\ncode = " +
		"\"AA_BB\"\nreference = \"-1\"",
	"[[assets]]\nsymbol = \"a\"\nname = \"\"\nunified_cryptoasset_id = -1\nmaker_fee = \"2\"\ntaker_fee = " +
		"\"1.1\"\nrefill_rate = \"1.5\"\n" +
		"withdraw_rate = \"0.123456789\"\nmin_withdraw = \"2\"\nmax_withdraw = \"1\"\n[[assets]]\nsymbol = \"a\"",
	"[[pairs]]\ncode = \"AA_BB\"\n[[pairs]]\ncode = \"AA_BB\"\nmaker_fee = \"1.5\"\n[[pairs]]\ncode = \"aa_bb\"",
	"[[pairs]]\ncode = \"AA_BB\"\nstate = \"closed\"\n[[pairs]]\ncode = \"AA_CC\"\nmin_quote = \"0.1\"",
	"[[pairs]]\nlisten = 1",
	"--config=/nowhere/tickhive.toml", "--set=rate.allw=1", "--set=rate.per_minute=x", "--set=rate.per_minute",
	"--set=sim.enabled=maybe", "--set=log.format=xml", "--listen=18090",
	"--set=rate.allow=a b", "--set=market.candles_kept=1,x", "--set=market.candles_kept=1,2",
	"--set=referral.levels=1,2", "--set=referral.levels=1,z",
	"--set=referral.staking=0", "--set=sim.backfill=x", "--set=sim.backfill=-1s", "--set=launchpad.fee=-1",
	"--set=launchpad.fee=x",
	"TICKHIVE_RATE_PER_MINUT=5", "TICKHIVE_RATE_PER_MINUTE=x", "TICKHIVE_INTERNAL_TOKE=5",
	"--pairs=all", "--journal-sync=never", "--set=journal.keep=some", "--clock=fake", "--log-level=loud",
	"--seed=x", "--sim=yes",
	"--set=journal.segment_bytes=4095", "--set=journal.segment_bytes=4294967297",
	"--set=journal.snapshot_bytes=1", "--set=journal.snapshot_every=1ms",
	"--set=rate.per_minute=0", "--set=rate.per_second=10001", "--set=rate.votes_per_minute=0",
	"--set=rate.clients=10000001",
	"--set=orders.closed_kept=0", "--set=orders.fills_kept=1", "--set=orders.lists_kept=0",
	"--set=server.connections=-1",
	"--set=server.connections_per_ip=-2",
	"--set=server.connections=1048577", "--set=rate.allow=x,1.2.3.4,y",
	"--set=server.trusted_proxies=10.0.0.0/33", "--clock-start=2026-01-01T00:00:00Z",
	"--clock=virtual; --clock-start=yesterday", "--clock=virtual; --clock-start=1960-01-01T00:00:00Z",
	"--backfill=1h; --sim=off", "--pairs=none; --sim=on",
	"--listen=foo", "--listen=:99999", "--internal-listen=0.0.0.0:1",
	"--set=aggregator.listen=localhost:nothing", "--internal-hosts=*",
	"--set=engine.open_orders=-1", "--set=engine.account_orders=-1", "--set=engine.account_stops=-1",
	"--set=market.trades_min=-1",
	"--set=launchpad.cooldown=1000d", "--set=launchpad.fee=", "--set=launchpad.native_usd=10000000000",
	"--set=hive.quorum=0.001",
	"--set=referral.levels=2,0,0,0,0", "--set=referral.staking=2,0,0,0,0,0,0,0,0", "--set=referral.bonus_share=2",
	"--backfil=1h",
}

// The help, the printed configuration and the errors of a wrong configuration do not change.
func TestGoldenConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tickhive.toml")
	show := func(out *bytes.Buffer, environ []string, args ...string) {
		code := run(args, &program{out: out, err: out, environ: environ})
		fmt.Fprintf(out, "exit %d\n\n", code)
	}
	goldenFile(t, "config_help.txt", func(out *bytes.Buffer) {
		for _, args := range []string{
			"--help", "serve --help", "replay --help", "config --help", "config check --help", "config print --help",
			"journal --help", "journal verify --help", "journal dump --help", "journal skip --help",
			"stats --help", "conformance --help", "version --help",
		} {
			fmt.Fprintf(out, "$ tickhive %s\n", args)
			cmd := harness.Command(t, strings.Fields(args)...) // kong exits the process after --help
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(out, "%s\n", text)
		}
	})
	goldenFile(t, "config_print.txt", func(out *bytes.Buffer) {
		show(out, nil, "config", "print")
		show(out, nil, "config", "check")
		show(out, []string{"TICKHIVE_INTERNAL_TOKEN=secret", "TICKHIVE_RATE_ALLOW=::1", "TICKHIVE_SIM_SEED=2"},
			"config", "print",
			"--seed=3", "--set=journal.segment_bytes=4294967296", "--set=referral.levels=[]",
			"--set=referral.levels=0.1,0,0,0,0")
	})
	goldenFile(t, "config_errors.txt", func(out *bytes.Buffer) {
		for _, source := range wrongConfigurations {
			fmt.Fprintf(out, "%s\n---\n", source)
			args, environ := []string{"config", "check"}, []string(nil)
			switch {
			case strings.HasPrefix(source, "["):
				if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--config="+file)
			case strings.HasPrefix(source, config.EnvPrefix):
				environ = []string{source}
			default:
				args = append(args, strings.Split(source, "; ")...)
			}
			show(out, environ, args...)
		}
		text := strings.ReplaceAll(out.String(), file, "FILE")
		out.Reset()
		out.WriteString(text)
	})
}

// goldenFile compares what write writes with a file of testdata/golden, or updates that file.
func goldenFile(t *testing.T, name string, write func(*bytes.Buffer)) {
	t.Helper()
	var out bytes.Buffer
	write(&out)
	path := filepath.Join(goldenDir, name)
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("%s changed:\n%s", path, d)
	}
}
