package main

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/test/harness"
)

// referencePage lists every command, flag and key. The program's own descriptions are its only source.
const referencePage = harness.SourceTree + "/docs/contract/commands.md"

const referenceHead = "# Commands, flags and keys\n\n" +
	"The program's own descriptions, as `--help` and `config print` show them. Do not edit this page: a test writes\n" +
	"it (`go test -pgo=off ./cmd/tickhive -run TestGoldenReference -update`), and `make drift` compares it.\n" +
	"[configuration.md](configuration.md) says how sources combine, and what a start, a stop and an exit code mean.\n" +
	"`tickhive-bench` is a program of its own (`make bench`); `tickhive bench` only names it and exits with 2.\n"

// keyNotes holds what the contract adds to the description of a key: bounds that another package checks, and where the
// contract says more.
var keyNotes = map[string]string{
	"server.console":            "[console](internal.md#console)",
	"server.trusted_proxies":    "[rate limits](limits.md#rate-limits)",
	"server.connections_per_ip": "[connections](limits.md#connections)",
	"server.connections":        "[open files](limits.md#open-files)",
	"aggregator.host":           "[addresses](listing.md#addresses)",
	"binance.listen":            "[Binance's interface](binance.md)",
	"tls.cert":                  "[TLS](configuration.md#tls)",
	"internal.listen":           "[token and socket](internal.md#token-and-socket)",
	"internal.token":            "[token and socket](internal.md#token-and-socket)",
	"internal.cert":             "[TLS](internal.md#tls)",
	"internal.hosts":            "[web pages](internal.md#web-pages)",
	"rate.per_minute":           "[rate limits](limits.md#rate-limits)",
	"market.trades_min":         "[retention](market-data.md#deals)",
	"journal.sync":              "[sync policies](storage.md#sync-policies)",
	"journal.snapshot_every":    "else 1s or more; [snapshots](storage.md#snapshots)",
	"journal.scrub_every":       "else 1s or more; [scrubs](storage.md#scrubs)",
	"journal.stream":            "`serve --journal`; [replicas](cluster.md#replicas)",
	"journal.ack":               "`serve --ack`",
	"stream.ca":                 "servers on other machines need it and credentials",
	"stream.credentials": "`--credentials`; with `embedded` empty: `stream.nk` in the data directory; " +
		"[credentials](cluster.md#credentials-of-the-stream)",
	"stream.monitor":         "at most 64",
	"stream.trust_lazy_sync": "`--trust-lazy-sync`",
	"replica.from":           "`--from`",
	"replica.snapshot_from": "`--snapshot-from`, at most 64; then come the nodes that announce themselves, " +
		"and the archive; [snapshots of nodes](storage.md#snapshots-of-nodes)",
	"replica.events":    "`--events`: 1 GiB; [events](events.md)",
	"cluster.advertise": "`--advertise`; [forwarding](cluster.md#forwarding)",
	"cluster.key_file": "`--cluster-key`; empty: `cluster.key` beside `stream.credentials`, else in the data " +
		"directory; [cluster key](cluster.md#cluster-key)",
	"cluster.takeover_after": "at most 1h; [standbys](cluster.md#standbys)",
	"sim.scenario":           "[scenarios](configuration.md#scenarios)",
	"launchpad.fee":          "[spawn](launchpad.md#spawn)",
	"referral.levels":        "[accruals](accounts.md#accruals)",
	"auth.legacy":            "needs `auth.public_url`; [legacy scheme](signing.md#legacy-scheme)",
	"auth.secret_key_file":   "[sealed secrets](storage.md#sealed-secrets)",
	"faults.rules":           "[rules](faults.md#rules)",
	"faults.scenario":        "[scenarios](faults.md#scenarios)",
}

// TestGoldenReference compares the page of commands, flags and keys with the program.
func TestGoldenReference(t *testing.T) {
	parser, err := new(program).line(&cli{}).Parser()
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	page.WriteString(referenceHead)
	writeCommands(&page, parser.Model.Node)
	writeKeys(t, &page)
	if *update {
		if err := os.WriteFile(referencePage, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(string(want), page.String()); d != "" {
		t.Errorf("%s is not what the program says:\n%s", referencePage, d)
	}
}

// writeCommands writes a table of all commands, then the arguments and flags of each.
func writeCommands(w *bytes.Buffer, root *kong.Node) {
	leaves := slices.DeleteFunc(root.Leaves(true), func(n *kong.Node) bool { return n.Hidden })
	w.WriteString("\n## Commands\n\n| Command | What it does |\n|---|---|\n")
	for _, n := range leaves {
		usage := n.FullPath()
		for _, a := range n.Positional {
			usage += " " + a.Summary()
		}
		fmt.Fprintf(w, "| [`%s`](#%s) | %s |\n", cell(usage), strings.ReplaceAll(n.FullPath(), " ", "-"), cell(n.Help))
	}
	w.WriteString("| `tickhive help [COMMAND]` | Show the commands, or the flags of one. |\n")
	serve := flagsOf(leaves[slices.IndexFunc(leaves, func(n *kong.Node) bool { return n.Name == "serve" })])
	for _, n := range leaves {
		fmt.Fprintf(w, "\n### %s\n\n", n.FullPath())
		rest := flagsOf(n)
		if n.Name != "serve" {
			rest = slices.DeleteFunc(rest, func(f *kong.Flag) bool { return has(serve, f) })
		}
		shared := len(flagsOf(n)) - len(rest)
		if shared > len(serve)/2 { // a command that runs an exchange, or reads its configuration
			var missing []string
			for _, f := range serve {
				if !has(flagsOf(n), f) {
					missing = append(missing, "`--"+f.Name+"`")
				}
			}
			fmt.Fprintf(w, "Takes the flags of [`tickhive serve`](#tickhive-serve) but %s.\n",
				strings.Join(missing, ", "))
		} else {
			rest = flagsOf(n)
		}
		if shared > len(serve)/2 && len(n.Positional)+len(rest) > 0 {
			w.WriteString("\n")
		}
		switch {
		case len(n.Positional)+len(rest) > 0:
			writeArguments(w, n.Positional, rest)
		case shared == 0:
			w.WriteString("No arguments.\n")
		}
		w.WriteString("\n")
		for line := range strings.Lines(strings.TrimPrefix(n.Detail, cmdline.ExamplesHead)) {
			w.WriteString("  " + line)
		}
	}
}

// writeArguments writes a table of the arguments and flags of a command.
func writeArguments(w *bytes.Buffer, positional []*kong.Positional, flags []*kong.Flag) {
	w.WriteString("| Argument | Meaning |\n|---|---|\n")
	for _, a := range positional {
		fmt.Fprintf(w, "| `%s` | %s |\n", cell(a.Summary()), cell(a.Help))
	}
	for _, f := range flags {
		help := f.Help
		if f.Required {
			help += " Required."
		}
		fmt.Fprintf(w, "| `%s` | %s |\n", cell(flagUsage(f)), cell(help))
	}
}

// has reports whether flags contains a flag of the same name and meaning.
func has(flags []*kong.Flag, f *kong.Flag) bool {
	return slices.ContainsFunc(flags, func(g *kong.Flag) bool { return g.Name == f.Name && g.Help == f.Help })
}

// writeKeys writes a table of the keys of each section.
func writeKeys(t *testing.T, w *bytes.Buffer) {
	t.Helper()
	w.WriteString("\n## Keys\n\nA key of a file is also `--set KEY=VALUE` and an environment variable.\n" +
		"Assets and pairs are tables of a file alone.\n")
	section, noted := "", 0
	for _, k := range config.Default().Keys() {
		if s, _, _ := strings.Cut(k.Name, "."); s != section {
			section = s
			fmt.Fprintf(w, "\n### %s\n\n| Key | Default | Values | Meaning |\n|---|---|---|---|\n", s)
		}
		name, meaning := "`"+k.Name+"`", k.Tag.Get("help")
		if flag := flagOf(k.Name); flag != "" {
			name += " `" + flag + "`"
		}
		if note := keyNotes[k.Name]; note != "" {
			noted++
			meaning += "; " + note
		}
		values := k.Tag.Get("oneof")
		if low, high, ok := strings.Cut(k.Tag.Get("range"), " "); ok {
			values = low + " to " + high
		}
		builtin := strings.ReplaceAll(k.Tag.Get("default"), ",", ", ")
		switch kind := k.Value.Kind(); {
		case builtin != "":
		case kind == reflect.Bool:
			builtin = "false"
		case kind == reflect.Int, kind == reflect.Int64:
			builtin = "0"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", name, cell(builtin), cell(values), cell(meaning))
	}
	writeTable(w, "assets", setting.Keys("", reflect.ValueOf(config.AssetConfig{})))
	writeTable(w, "pairs", setting.Keys("", reflect.ValueOf(config.PairConfig{})))
	if noted != len(keyNotes) {
		t.Errorf("keyNotes names %d keys that do not exist", len(keyNotes)-noted)
	}
}

// writeTable writes the members of a table that a file may repeat.
func writeTable(w *bytes.Buffer, name string, keys []setting.Key) {
	fmt.Fprintf(w, "\n### %s\n\nRules: [configuration.md](configuration.md#assets-and-pairs).\n\n"+
		"| Member of `[[%s]]` | Meaning |\n|---|---|\n", name, name)
	for _, k := range keys {
		fmt.Fprintf(w, "| `%s` | %s |\n", k.Name, cell(k.Tag.Get("help")))
	}
}

// cell escapes a text for a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
