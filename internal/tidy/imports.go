package tidy

import "strings"

const module = "github.com/tickhive/tickhive/"

// mayImport lists, for each folder, the folders of this module that its packages may import. A package belongs
// to the longest folder that contains it. Packages of internal without their own row may be imported by every
// folder except client.
var mayImport = map[string][]string{
	"internal":            {},
	"internal/entry":      {"accounts", "engine", "marketdata"},
	"internal/markettest": {"engine", "marketdata"},
	"internal/datadir":    {"engine", "marketdata", "accounts"},
	"internal/machine":    {"engine", "marketdata", "accounts", "launchpad", "hive"},

	"internal/machine/keeper": {"internal/machine", "engine"},
	"internal/machine/audit":  {"internal/machine", "engine", "marketdata", "accounts"},

	"internal/events": {"engine", "internal/stream"},
	"internal/exchange": {
		"engine", "marketdata", "accounts", "launchpad", "hive", "sim", "server", "internal/entry", "internal/datadir",
		"internal/events", "internal/stream", "internal/node", "internal/machine",
	},
	"internal/config": {
		"internal/exchange", "engine", "marketdata", "accounts", "launchpad", "hive", "sim", "server/admin",
		"server/conn", "server/edge", "server/forward", "internal/datadir", "internal/node", "internal/stream",
	},
	"internal/clusterdemo": {
		"internal/stream", "client", "server/admin", "server/edge", "server/forward", "server/json", "server/web",
	},
	"internal/node": {
		"internal/stream", "internal/machine", "engine", "marketdata", "accounts", "launchpad", "hive",
	},
	"internal/stream": {},

	"internal/stream/jet": {"internal/stream"},

	"internal/vopr": {
		"engine", "marketdata", "accounts", "launchpad", "hive", "server/stream", "internal/exchange",
		"internal/machine", "internal/machine/keeper", "internal/machine/audit", "internal/node", "internal/stream",
	},
	"engine":           {},
	"engine/sequencer": {"engine"},
	"marketdata":       {"engine"},
	"aggregator":       {"engine", "marketdata", "server/doc", "server/json"},
	"accounts":         {"engine", "accounts/auth", "accounts/accrual"},
	"accounts/auth":    {},
	"accounts/accrual": {},
	"launchpad":        {},
	"hive":             {},
	"sim":              {"sim", "engine", "marketdata", "client"},
	"sim/residents":    {"launchpad", "hive"},
	"server":           {},
	"server/json":      {},
	"server/objects": {
		"server/doc", "server/edge", "server/json", "engine", "marketdata", "internal/entry",
	},
	"server/conn":    {},
	"server/doc":     {},
	"server/edge":    {"server/conn", "server/doc", "server/json", "server/forward"}, // nothing of the market
	"server/forward": {},
	"server/public": {
		"server/doc", "server/edge", "server/json", "server/objects", "engine", "marketdata",
		"aggregator",
	},
	"server/private": {"engine", "marketdata", "accounts"},
	"server/stream": {
		"server/conn", "server/edge", "server/json", "server/objects", "server/private", "engine", "marketdata",
	},
	"server/account": {
		"server/doc", "server/edge", "server/json", "server/objects", "server/private", "server/stream",
		"engine", "marketdata", "accounts", "internal/entry",
	},
	"server/agents": {
		"server/edge", "server/json", "server/objects", "engine", "marketdata", "accounts", "launchpad", "hive",
	},
	"server/admin": {
		"server/conn", "server/edge", "server/json", "server/objects", "engine", "marketdata",
		"accounts", "internal/entry",
		"internal/machine",
	},
	"server/binance": {
		"server/edge", "server/json", "server/objects", "server/private", "server/stream",
		"engine", "marketdata", "accounts", "internal/entry",
	},
	"server/web": {"docs", "server/edge", "server/json"},
	"server/servertest": {
		"server", "engine", "marketdata", "accounts", "launchpad", "hive", "client", "internal/exchange", "test/nets",
	},
	"docs":      {},
	"client":    {"client"},
	"test":      {"client", "internal/datadir", "internal/stream"},
	"test/nets": {"client"},
	"bench": {
		"bench", "client", "server", "engine", "marketdata", "accounts", "launchpad", "hive", "internal/exchange",
		"internal/stream", "internal/machine",
	},
	"tickhivetest": {"client", "internal/config", "internal/datadir", "internal/exchange", "sim"},
	"bench/limits": {"bench", "engine", "marketdata"},
	"cmd": {
		"cmd", "server", "engine", "marketdata", "aggregator", "accounts", "launchpad", "hive", "sim", "client",
		"bench", "internal/config", "internal/exchange", "internal/machine", "internal/datadir", "internal/stream",
		"internal/node", "internal/clusterdemo",
	},
}

// pure lists packages that a folder must not import because they do I/O, read a clock or draw random numbers, although
// every folder may import internal packages. What a machine applies depends on its state and the record alone.
var pure = map[string][]string{
	// engine may import math/rand, for the secret of a hash table.
	"engine":           {"internal/wal", "internal/vfs", "internal/clock", "os", "crypto/rand"},
	"marketdata":       {"internal/wal", "internal/vfs", "internal/clock", "os", "math/rand", "crypto/rand"},
	"internal/machine": {"internal/wal", "internal/vfs", "internal/clock", "os", "math/rand", "crypto/rand", "time"},
	"accounts":         {"internal/wal", "internal/vfs", "internal/clock", "os", "math/rand", "crypto/rand"},
	"launchpad":        {"internal/wal", "internal/vfs", "internal/clock", "os", "math/rand", "crypto/rand", "time"},
	"hive":             {"internal/wal", "internal/vfs", "internal/clock", "os", "math/rand", "crypto/rand", "time"},
	"accounts/auth":    {"internal/wal", "internal/vfs", "internal/clock", "os", "math/rand", "crypto/rand"},
	"accounts/accrual": {"internal/wal", "internal/vfs", "internal/clock", "os", "math/rand", "crypto/rand", "time"},
	"internal/stream":  {"internal/vfs", "internal/clock"}, // internal/wal: the type of a position
}

// onlyIn lists modules that few folders may import, tests included, so that they can be exchanged.
var onlyIn = map[string][]string{
	// bench has the reference of the stream: loops of nats.go alone
	"github.com/nats-io/":    {"internal/stream/jet", "client/examples/events", "bench"},
	"github.com/parquet-go/": {"sim/replay", "cmd"},
}

// folderOf returns the folder of mayImport to which a package belongs, empty for none.
func folderOf(dir string) (folder string) {
	for in := range mayImport {
		if under(dir, in) && len(in) > len(folder) {
			folder = in
		}
	}
	return folder
}

// Imports reports imports that mayImport does not list. Tests may import everything. client imports nothing of this
// module.
func Imports(f *File) []string {
	folder := folderOf(f.Dir)
	allowed := mayImport[folder]
	if folder == "" {
		return []string{f.at(f.AST.Package) + ": a folder without import arrows; add it to imports.go"}
	}
	var out []string
	for _, s := range f.AST.Imports {
		p, ours := strings.CutPrefix(strings.Trim(s.Path.Value, `"`), module)
		for prefix, in := range onlyIn {
			if strings.HasPrefix(p, prefix) && !under(f.Dir, in...) {
				out = append(out, f.at(s.Pos())+": only "+strings.Join(in, " and ")+" may import "+p)
			}
		}
		switch {
		case !f.Test && under(p, pure[folder]...):
			out = append(out, f.at(s.Pos())+": "+folder+" is pure and must not import "+p)
		case !ours || folderOf(p) == folder || folder != "client" && folderOf(p) == "internal":
		case f.Test:
		case !under(p, allowed...):
			out = append(out, f.at(s.Pos())+": "+folder+" must not import "+p)
		}
	}
	return out
}
