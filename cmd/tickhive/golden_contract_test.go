package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/server/edge"

	"github.com/tickhive/tickhive/test/harness"
)

// contract returns the text of the pages of docs/contract, by file name.
func contract(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob(harness.SourceTree + "/docs/contract/*.md")
	if err != nil || len(names) < 15 {
		t.Fatalf("%d pages: %v", len(names), err)
	}
	pages := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(name)] = string(text)
	}
	return pages
}

// routesDocumented fails for every route that no page of the contract names.
func (g *golden) routesDocumented() {
	g.t.Helper()
	pages := contract(g.t)
	var all strings.Builder
	for _, text := range pages {
		all.WriteString(text)
	}
	file := regexp.MustCompile(`^/(app|swagger)/`)
	parameter := regexp.MustCompile(`\\\{[^}]*\\\}`)
	for _, routes := range [][]string{
		routesOf(g.rig.Opened.Public().RouteStats()),
		routesOf(g.rig.Opened.Internal().RouteStats()),
	} {
		for _, path := range routes {
			switch {
			case file.MatchString(path) && !strings.HasPrefix(path, "/swagger/v1/"):
				continue // files of the pages
			case strings.HasPrefix(path, "/debug/pprof"):
				path = "/debug/pprof/"
			}
			for _, prefix := range []string{"/internal/v1", "/api/marketdata/getaggregator", "/v1/spot/market"} {
				path = strings.TrimPrefix(path, prefix)
			}
			like := parameter.ReplaceAllString(regexp.QuoteMeta(path), `(\{[^}]*\}|:[A-Za-z]+)`)
			if !regexp.MustCompile("[` (]" + like + "[`?. ]").MatchString(all.String()) {
				g.t.Errorf("docs/contract names no route %s", path)
			}
		}
	}
}

// Every key, reason and message kind of the program appears in the contract.
func TestTheContractNamesWhatTheProgramHas(t *testing.T) {
	pages := contract(t)
	has := func(page, word string) {
		if !strings.Contains(pages[page], "`"+word+"`") {
			t.Errorf("docs/contract/%s does not name `%s`", page, word)
		}
	}
	for _, k := range config.Default().Keys() {
		has("commands.md", k.Name)
	}
	for r := engine.NotRejected + 1; r <= engine.TooManyOrders; r++ {
		has("errors.md", r.String())
	}
	for _, kind := range streamKinds {
		has("streams.md", kind)
	}
	parser, err := kong.New(&cli{}, kong.Bind(&program{}))
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, cmd := range parser.Model.Children {
		if !strings.Contains(pages["commands.md"], "`tickhive "+cmd.Name) &&
			!strings.Contains(pages["commands.md"], "`"+cmd.Name+" ") {
			t.Errorf("docs/contract/commands.md does not name the command %s", cmd.Name)
		}
		if cmd.Name != "serve" && cmd.Name != "replay" {
			continue
		}
		for _, f := range cmd.Flags {
			flags++
			if f.Name != "help" && !strings.Contains(pages["commands.md"], "--"+f.Name) {
				t.Errorf("docs/contract/commands.md does not name --%s of %s", f.Name, cmd.Name)
			}
		}
	}
	if flags < 20 {
		t.Errorf("only %d flags were found", flags)
	}
}

func routesOf(stats []edge.RouteStat) (paths []string) {
	for i := range stats {
		if stats[i].Path != "" {
			paths = append(paths, stats[i].Path)
		}
	}
	return paths
}
