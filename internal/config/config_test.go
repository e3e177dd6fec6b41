package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim"
	"github.com/tickhive/tickhive/test/harness"
)

func TestEveryKeyHasADefaultAndTheBuiltInMarketIsLargeEnough(t *testing.T) {
	c, err := Load("", nil, nil)
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

// What `config print` shows of a key that no source sets is what a component does without the key.
func TestThePrintedDefaultsAreInForce(t *testing.T) {
	c := Default()
	for _, d := range []struct {
		section          string
		printed, inForce any
	}{
		{"engine", c.Engine, engine.Options{}.EffectiveLimits()},
		{"market and orders", c.Market.Retention(c.Orders).WithDefaults(), marketdata.Retention{}.WithDefaults()},
		{"launchpad", meant(c.Launchpad.Options()), launchpad.DefaultOptions()},
		{"hive", meant(c.Hive.Options()), hive.DefaultOptions()},
		{"referral", meant(c.Referral.Rates()), accounts.DefaultConfig()},
		{"journal.segment_bytes", c.Journal.SegmentBytes, int64(wal.DefaultSegmentBytes)},
		{"journal.snapshot_bytes", c.Journal.SnapshotBytes, int64(keeper.DefaultSnapshotBytes)},
	} {
		if !reflect.DeepEqual(d.printed, d.inForce) {
			t.Errorf("%s: config print shows %+v, without the keys %+v is in force", d.section, d.printed, d.inForce)
		}
	}
}

func TestAListOnTheCommandLineMayHaveTheFormOfTheFile(t *testing.T) {
	want := []string{"127.0.0.1", "10.0.0.0/8"}
	for _, text := range []string{
		`127.0.0.1,10.0.0.0/8`, `["127.0.0.1", "10.0.0.0/8"]`,
		` [ '127.0.0.1','10.0.0.0/8' ] `,
	} {
		c, err := Load("", []string{"TICKHIVE_RATE_ALLOW=" + text}, []string{"server.trusted_proxies=" + text})
		if err != nil || !slices.Equal(c.Rate.Allow, want) || !slices.Equal(c.Server.TrustedProxies, want) {
			t.Errorf("%s: %v %v", text, c, err)
		}
	}
	if c, err := Load("", nil, []string{
		"rate.allow=[]",
		"referral.levels=[0.1, \"0.2\", 0, 0, 0]",
	}); err != nil || len(c.Rate.Allow) != 0 {
		t.Errorf("%v", err)
	}
}

// A later source replaces the token of an earlier one, or the file of one; two of one source contradict each other.
func TestALaterSourceReplacesTheToken(t *testing.T) {
	t.Parallel()
	const file, inFile = "[internal]\ntoken_file = \"t\"\n", "[internal]\ntoken = \"one\"\n"
	env, envFile := "TICKHIVE_INTERNAL_TOKEN=two", "TICKHIVE_INTERNAL_TOKEN_FILE=u"
	for _, c := range []struct {
		text           string
		environ, set   []string
		token, inToken string // the token and its file; both empty: refused
	}{
		{text: file, inToken: "t"},
		{text: file, environ: []string{env}, token: "two"},
		{text: inFile, environ: []string{envFile}, inToken: "u"},
		{text: file, environ: []string{env}, set: []string{"internal.token_file=v"}, inToken: "v"},
		{text: file, set: []string{"internal.token=three"}, token: "three"},
		{text: file + "token = \"one\"\n"},
		{environ: []string{env, envFile}},
		{set: []string{"internal.token=three", "internal.token_file=v"}},
	} {
		cfg, err := Load(harness.WriteConfig(t, c.text), c.environ, c.set)
		if c.token == c.inToken {
			if err == nil || !strings.Contains(err.Error(), "both set; keep one") {
				t.Errorf("%+v: %v", c, err)
			}
		} else if err != nil || string(cfg.Internal.Token) != c.token || cfg.Internal.TokenFile != c.inToken {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestWrongConfigurationNamesThePlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[rate]\nper_minute = 60\nper_secnd = 5\n", ":3: unknown key rate.per_secnd; did you mean rate.per_second?"},
		{"[jurnal]\nsync = \"off\"\n", "unknown key jurnal; did you mean"},
		{
			"[[pairs]]\ncode = \"AA_BB\"\ndigits_prise = 3\n",
			":3: unknown key pairs.digits_prise; did you mean pairs.digits_price?",
		},
		{"[rate]\nper_minute = \"x\"\n", ":2: rate.per_minute: must be an integer, not a TOML string"},
		{"[server]\nlisten = 5\n", ":2: server.listen: must be text in quotes, not a TOML integer"},
		{"[rate]\nallow = \"10.0.0.1\"\n", ":2: rate.allow: must be a list, not a TOML string"},
		{"[sim]\nenabled = \"on\"\n", ":2: sim.enabled: must be true or false, not a TOML string"},
		{"[[pairs]]\ncode = 7\n", ":2: pairs.code: must be text in quotes, not a TOML integer"},
		{"[rate\n", ":1:"},
		{"[referral]\nlevels = [\"0.1\", \"x\", \"0\", \"0\", \"0\"]\n", "referral.levels"},
		{"[launchpad]\nfee = \"1e3\"\n", "launchpad.fee"},
		{"[journal]\nsync = \"sometimes\"\n", "journal.sync: \"sometimes\" must be one of always, interval, off"},
		{"[internal]\nlisten = \"0.0.0.0:8081\"\n", "requires --internal-token"},
		{"[[pairs]]\ncode = \"AA_BB\"\ndigits_price = 10\ndigits_amount = 10\n", "would overflow"},
		{"[[pairs]]\ncode = \"aa_bb\"\n", "is not of the form"},
		{"[[pairs]]\ncode = \"AA_BB\"\nmaker_fee = \"1.5\"\n", "rate"},
		{"[clock]\nstart = \"yesterday\"\n", "clock.start"},
		{"[auth]\nlegacy = true\n", "set auth.public_url"},
		{"[sim]\nenabled = false\nscenario = \"trend\"\n", "sim.scenario, sim.intensity: the simulated market is off"},
		{"[sim]\nintensity = 200\n[market]\npairs = \"none\"\n", "the simulated market is off"},
	} {
		_, err := Load(harness.WriteConfig(t, c.text), nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	for setting, want := range map[string]string{
		"sim.intensity=5":    "config: sim.intensity: 5 must be from 10 to 1000",
		"sim.intensity=0":    "config: sim.intensity: 0 must be from 10 to 1000",
		"sim.scenario=crash": `config: sim.scenario: "crash" must be one of none, flash-crash, trend, halt, thin-night`,
	} {
		if _, err := Load("", nil, []string{setting}); err == nil || err.Error() != want {
			t.Errorf("--set %s: %v, want %s", setting, err, want)
		}
	}
	// The limits of the keys are those of the market.
	for _, s := range []string{
		"sim.intensity=10", "sim.intensity=1000", "sim.scenario=none", "sim.scenario=flash-crash", "sim.scenario=trend",
		"sim.scenario=halt", "sim.scenario=thin-night",
	} {
		c, err := Load("", nil, []string{s})
		if err == nil {
			o := sim.Options{Core: engine.NewCore(engine.Options{}), Config: c.Sim.Config}
			err = o.Validate()
		}
		if err != nil {
			t.Errorf("--set %s: %v", s, err)
		}
	}
	for _, s := range []string{
		"rate.allw=1", "rate.per_minute=x", "rate.per_minute", "sim.enabled=maybe",
		"rate.allow=a b", "rate.allow={}",
	} {
		if _, err := Load("", nil, []string{s}); err == nil {
			t.Errorf("--set %s was taken", s)
		}
	}
	_, err := Load("", nil, []string{"rate.allw=1"})
	if err == nil || !strings.Contains(err.Error(), "did you mean rate.allow?") {
		t.Errorf("%v", err)
	}
}

// A value that serve cannot run with is refused with its key when the configuration is read.
func TestACheckedConfigurationCanBeServed(t *testing.T) {
	for _, s := range []string{
		"engine.open_orders=-1", "engine.account_orders=-1", "engine.account_stops=-1", "market.trades_min=-1",
		"market.trades_max=-1",
		"market.candles_kept=-1,1,1,1,1,1,1,1,1,1", "orders.closed_kept=-1", "orders.fills_kept=-1",
		"orders.lists_kept=-1",
		"launchpad.cooldown=1000d", "launchpad.fee=", "launchpad.native_usd=10000000000",
		"hive.quorum=0.001", "hive.quorum=10000000000", "referral.levels=1,1,1,1,1", "referral.levels=2,0,0,0,0",
		"referral.staking=2,0,0,0,0,0,0,0,0", "referral.staking=0.2,0.1,0,0,0,0,0,0,0",
		"referral.bonus_share=2", "referral.bonus_share=0.123456789", "server.trusted_proxies=foo",
		"server.trusted_proxies=10.0.0.0/33",
		"server.connections=-5", "server.connections_per_ip=-2", "rate.allow=1.2.3.4.5", "rate.allow=abc",
		"journal.snapshot_every=1ms", "journal.snapshot_every=-5m", "journal.snapshot_every=5",
		"journal.snapshot_bytes=4095", "journal.scrub_every=1ms", "journal.scrub_every=-1h",

		"server.listen=foo", "server.listen=:99999", "aggregator.listen=localhost:nothing", "internal.listen=foo",
		"internal.listen=127.0.0.1:8080", "aggregator.listen=127.0.0.1:8080", "binance.listen=127.0.0.1:8081",
		"internal.hosts=*", "internal.hosts=ops.example:8081", "internal.hosts=ops.example,http://x",
		"internal.hosts=10.0.0.0/8", "internal.hosts=fe80::1%eth0",
	} {
		name, _, _ := strings.Cut(s, "=")
		if _, err := Load("", nil, []string{s}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("--set %s: %v", s, err)
		}
	}
	for _, s := range []string{
		"engine.open_orders=0", "market.candles_kept=0,1,1,1,1,1,1,1,1,1", "server.connections=1",
		"server.connections_per_ip=-1",
		"rate.allow=fe80::1%eth0,::1/128," + strings.Repeat("aZ", 19), "server.trusted_proxies=10.0.0.1,10.0.0.0/8",
		"server.listen=:8080", "server.listen=[::1]:0", "aggregator.listen=localhost:http", "hive.quorum=0",
		"launchpad.cooldown=366d",
		"internal.hosts=", "internal.hosts=ops.example", `internal.hosts=["ops.example", "10.0.0.5"]`,
		"internal.hosts=fd00::5,box_2.",
		"journal.snapshot_every=0", "journal.snapshot_every=1s", "journal.snapshot_every=1d",
		"journal.scrub_every=0", "journal.scrub_every=1s",
	} {
		if _, err := Load("", nil, []string{s}); err != nil {
			t.Errorf("--set %s: %v", s, err)
		}
	}
	const market = "[[assets]]\nsymbol = \"AA\"\n%s\n[[assets]]\nsymbol = \"BB\"\n[[pairs]]\ncode = " +
		"\"AA_BB\"\ndigits_price = 2\ndigits_amount = 2\n%s\n"
	for _, c := range []struct{ asset, pair, want string }{
		{`refill_rate = "1.5"`, "", "assets: AA: refill_rate"},
		{`withdraw_rate = "0.123456789"`, "", "assets: AA: withdraw_rate"},
		{`maker_fee = "2"`, "", "assets: AA: maker_fee"},
		{`taker_fee = "1.1"`, "", "assets: AA: taker_fee"},
		{"unified_cryptoasset_id = -1", "", "assets: AA: unified_cryptoasset_id"},
		{"min_withdraw = \"2\"\nmax_withdraw = \"1\"", "", "assets: AA: min_withdraw"},
		{"", `reference = "0.001"`, "pairs: AA_BB: reference"},
		{"", `reference = "0.01"`, "pairs: sim: pair AA_BB"},
		{"", "reference = \"100\"\nweight = 1001", "pairs: sim: pair AA_BB"},
		{`refill_rate = "1"`, `reference = "100"`, ""},
		{"digits = 19", "", "assets: AA: digits: 19 must be from 0 to 18"},
		{"digits = -1", "", "assets: AA: digits: -1 must be from 0 to 18"},
		{"digits = 1", "", "pairs: AA_BB: digitsAmount 2 is more than the 1 digits of AA"},
		{"digits = 2", `reference = "100"`, ""},
		{"", `max_price = "0"`, "pairs: AA_BB: max_price"},
		{"", `max_price = "0.001"`, "pairs: AA_BB: max_price"},
		{"", `max_amount = "92233720368547758.08"`, "pairs: AA_BB: max_amount"},
		{"", "max_price = \"1000.5\"\nmax_amount = \"1\"\nreference = \"100\"", ""},
	} {
		_, err := Load(harness.WriteConfig(t, fmt.Sprintf(market, c.asset, c.pair)), nil, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, want %q", c.asset, c.pair, err, c.want)
		}
	}
	if _, err := Load(harness.WriteConfig(t, "[server]\nread_timeout = -5\n"), nil, nil); err == nil ||
		!strings.Contains(err.Error(), "server.read_timeout") {
		t.Errorf("a number below zero: %v", err)
	}
}

// Every text of the configuration that is journaled can be decoded from its record.
func TestTextsOfTheConfigurationFitIntoARecord(t *testing.T) {
	longest, symbol := strings.Repeat("\U0001f41d", maxAssetName), strings.Repeat("A", engine.MaxCurrencyCode)
	quote := strings.Repeat("B", engine.MaxCurrencyCode)
	text := fmt.Sprintf("[[assets]]\nsymbol = %[1]q\nname = \"%[2]s\"\n[[assets]]\nsymbol = %[3]q\n"+
		"[[pairs]]\ncode = \"%[1]s_%[3]s\"\n", symbol, longest, quote)
	c, err := Load(harness.WriteConfig(t, text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ins, err := c.Pairs[0].Instrument()
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []engine.Command{
		{Kind: engine.SetAsset, Pair: engine.ControlPair, Control: &engine.ControlRecord{Asset: c.Assets[0].asset()}},
		{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins},
	} {
		var back engine.Command
		if err := engine.DecodeCommand(engine.AppendCommand(nil, &cmd), &back); err != nil {
			t.Errorf("%v: %v", cmd.Kind, err)
		}
	}
	for _, wrong := range []string{
		strings.Replace(text, longest, longest+"x", 1),
		strings.Replace(text, longest, strings.Repeat("x", 300), 1),
		strings.ReplaceAll(text, symbol, symbol+"A"),
	} {
		if _, err := Load(harness.WriteConfig(t, wrong), nil, nil); err == nil ||
			!strings.Contains(err.Error(), "assets: A") {
			t.Errorf("%.80s: %v", wrong, err)
		}
	}
}

// A variable with the program's prefix that belongs to no key is refused. Variables that
// Kubernetes derives from a service's name, and those of other programs, are not.
func TestAnUnknownVariableIsRefused(t *testing.T) {
	for name, nearest := range map[string]string{
		"TICKHIVE_RATE_PER_MINUT": "TICKHIVE_RATE_PER_MINUTE", "TICKHIVE_JURNAL_SYNC": "TICKHIVE_JOURNAL_SYNC",
		"TICKHIVE_LISTEN": "TICKHIVE_",
	} {
		_, err := Load("", []string{"PATH=/bin", name + "=5"}, nil)
		if err == nil || !strings.Contains(err.Error(), "environment "+name+": no key") ||
			!strings.Contains(err.Error(), nearest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	others := []string{
		"TICKHIVE_BINARY=bin/tickhive",
		"TICKHIVE_SERVICE_HOST=10.0.0.1", "TICKHIVE_SERVICE_PORT=8080", "TICKHIVE_SERVICE_PORT_HTTP=8080",
		"TICKHIVE_PORT=tcp://10.0.0.1:8080",
		"TICKHIVE_PORT_8080_TCP_ADDR=10.0.0.1", "TICKHIVE_INTERNAL_PORT_8081_TCP=tcp://10.0.0.1:8081", "TICKHIVES=1",
		"tickhive_rate=1",
	}
	if _, err := Load("", others, nil); err != nil {
		t.Error(err)
	}
}
