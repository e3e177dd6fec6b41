package main

import "github.com/tickhive/tickhive/internal/cmdline"

// commandExamples holds at least two command lines of each command, by its path. --help and the reference of commands
// show them.
var commandExamples = map[string][]cmdline.Example{
	"tickhive": {
		{
			About: "Start an exchange with a simulated market; its page is http://127.0.0.1:8080.",
			Text:  "tickhive serve",
		},
		{About: "Show the flags of a command.", Text: "tickhive help serve"},
	},
	"tickhive serve": {
		{
			About: "A market with a day of history; the data stay in the directory.",
			Text:  "tickhive serve --data-dir data --backfill 25h",
		},
		{
			About: "An exchange without trades of its own, for a test suite.",
			Text:  "tickhive serve --ephemeral --sim off",
		},
	},
	"tickhive replica": {
		{
			About: "Follow a writer on this machine, which runs with --journal embedded.",
			Text:  "tickhive replica --from nats://127.0.0.1:4222 --credentials data/stream.nk",
		},
		{
			About: "Stand by, and become the writer when it falls silent.",
			Text: "tickhive replica --from nats://h1:4222,nats://h2:4222,nats://h3:4222 --credentials stream.nk " +
				"--cluster-key cluster.key --promote --data-dir standby",
		},
	},
	"tickhive stream status": {
		{
			About: "The writer, its term and the end of the log.",
			Text:  "tickhive stream status --from nats://127.0.0.1:4222 --credentials data/stream.nk",
		},
		{
			About: "The same as one JSON object, with the addresses of a configuration.",
			Text:  "tickhive stream status --config tickhive.toml --json",
		},
	},
	"tickhive stream verify": {
		{
			About: "Check every message from the first one on.",
			Text:  "tickhive stream verify --from nats://127.0.0.1:4222 --credentials data/stream.nk",
		},
		{
			About: "Begin with a backup, when the stream has been trimmed.",
			Text:  "tickhive stream verify --config tickhive.toml --snapshot before.snap",
		},
	},
	"tickhive stream restore": {
		{
			About: "A new data directory from a stream whose writer is lost.",
			Text:  "tickhive stream restore restored --from nats://127.0.0.1:4222 --credentials stream.nk",
		},
		{
			About: "From the copy of a stopped standby.",
			Text:  "tickhive stream restore restored --from-dir standby",
		},
	},
	"tickhive cluster certificate": {
		{
			About: "Let Prometheus trust the internal listeners.",
			Text:  "tickhive cluster certificate data/cluster.key > tickhive.pem",
		},
		{
			About: "Look at the certificate.",
			Text:  "tickhive cluster certificate data/cluster.key | openssl x509 -noout -text",
		},
	},
	"tickhive cluster demo": {
		{About: "Watch a standby take over; q ends the demo.", Text: "tickhive cluster demo"},
		{About: "Keep a record of what it printed.", Text: "tickhive cluster demo | tee demo.log"},
	},
	"tickhive replay": {
		{
			About: "Play an hour that is part of the program, sixty times as fast.",
			Text:  "tickhive replay --sample --speed 60",
		},
		{
			About: "A recorded day, compared with the recording; the page stays open.",
			Text:  "tickhive replay day.csv.gz --format bitstamp --pair BTC_USD --check --hold",
		},
	},
	"tickhive player show": {
		{About: "Where the replay is.", Text: "tickhive player show"},
		{About: "Of a replay on another port.", Text: "tickhive player show --internal 127.0.0.1:9081"},
	},
	"tickhive player play": {
		{About: "Go on.", Text: "tickhive player play"},
		{About: "Go on, a minute in a second.", Text: "tickhive player play --speed 60"},
	},
	"tickhive player pause": {
		{About: "Stop, and trade while the market stands.", Text: "tickhive player pause"},
		{About: "Of a replay on another port.", Text: "tickhive player pause --internal 127.0.0.1:9081"},
	},
	"tickhive player step": {
		{About: "The next ten records.", Text: "tickhive player step 10"},
		{About: "All up to a time of the first day.", Text: "tickhive player step --to 10:30"},
	},
	"tickhive player speed": {
		{About: "A minute in a second.", Text: "tickhive player speed 60"},
		{About: "As fast as possible.", Text: "tickhive player speed max"},
	},
	"tickhive player seek": {
		{About: "Go to a time of the first day.", Text: "tickhive player seek 10:30"},
		{About: "Go back by a quarter of an hour.", Text: "tickhive player seek -15m"},
	},
	"tickhive player leave": {
		{About: "End the replay.", Text: "tickhive player leave"},
		{About: "Of a replay on another port.", Text: "tickhive player leave --internal 127.0.0.1:9081"},
	},
	"tickhive export": {
		{About: "The trades of a pair as a table.", Text: "tickhive export trades --pair BTC_USDT --out trades.csv"},
		{About: "The orders of the user of a key.", Text: "tickhive export orders --key key.json --out orders.parquet"},
	},
	"tickhive journal verify": {
		{About: "Check every record of a directory.", Text: "tickhive journal verify data"},
		{
			About: "The state hash at a point, to compare it with another program's.",
			Text:  "tickhive journal verify data --at 1000",
		},
	},
	"tickhive journal dump": {
		{About: "Page through the records.", Text: "tickhive journal dump data | less"},
		{About: "Ten records.", Text: "tickhive journal dump data --from 100 --to 109"},
	},
	"tickhive journal skip": {
		{About: "Go on without a record that a start could not apply.", Text: "tickhive journal skip data --at 4711"},
		{
			About: "The same of a service, as its user.",
			Text:  "sudo -u tickhive tickhive journal skip /var/lib/tickhive --at 4711",
		},
	},
	"tickhive top": {
		{About: "Watch the exchange on this machine; q ends it.", Text: "tickhive top"},
		{About: "One reading for a script.", Text: "tickhive top --once --json | jq .requests.perSecond"},
	},
	"tickhive stats": {
		{About: "Spread, volume and trades of every pair.", Text: "tickhive stats"},
		{About: "Is the simulated market like recorded ones?", Text: "tickhive stats --realism --pairs BTC_USDT"},
	},
	"tickhive sim": {
		{About: "A flash crash, now.", Text: "tickhive sim --scenario flash-crash"},
		{About: "Hold the market, and let it go on.", Text: "tickhive sim --pause\ntickhive sim --resume"},
	},
	"tickhive clock": {
		{About: "Move a virtual clock on by a day.", Text: "tickhive clock --advance 1d"},
		{
			About: "A minute in each second, until it is stopped.",
			Text:  "tickhive clock --speed 60\ntickhive clock --speed 0",
		},
	},
	"tickhive faults apply": {
		{About: "A network that loses and delays, for a minute.", Text: "tickhive faults apply flaky-network --for 1m"},
		{
			About: "Answers that are lost although the order was placed.",
			Text:  "tickhive faults apply lost-ack --seed 7",
		},
	},
	"tickhive faults add": {
		{About: "Delay one response in ten.", Text: `tickhive faults add "latency probability=0.1 delay=250ms"`},
		{
			About: "Two rules at once.",
			Text:  `tickhive faults add "status status=503 probability=0.05" "latency delay=1s"`,
		},
	},
	"tickhive faults list": {
		{About: "What is in force, and how often it has matched.", Text: "tickhive faults list"},
		{About: "Of an exchange on another port.", Text: "tickhive faults list --internal 127.0.0.1:9081"},
	},
	"tickhive faults clear": {
		{About: "Behave again.", Text: "tickhive faults clear"},
		{About: "Remove one rule, by the number that list shows.", Text: "tickhive faults clear 2"},
	},
	"tickhive config check": {
		{
			About: "Would serve start with this file?",
			Text:  "tickhive config check --config /etc/tickhive/tickhive.toml",
		},
		{
			About: "And with a key that differs?",
			Text:  "tickhive config check --config tickhive.toml --set journal.sync=always",
		},
	},
	"tickhive config print": {
		{About: "Every key and its default.", Text: "tickhive config print"},
		{About: "What a file and the environment make of them.", Text: "tickhive config print --config tickhive.toml"},
	},
	"tickhive backup": {
		{About: "A backup of the exchange on this machine.", Text: "tickhive backup before.snap"},
		{
			About: "From another machine.",
			Text:  "tickhive backup night.snap --internal h1:8081 --cluster-key cluster.key",
		},
	},
	"tickhive restore": {
		{About: "A data directory from a backup.", Text: "tickhive restore before.snap restored"},
		{About: "From a snapshot of a directory.", Text: "tickhive restore data/engine/000000000001.snap restored"},
	},
	"tickhive load": {
		{
			About: "A thousand requests a second; exit code 4 when one in a hundred takes 5 ms.",
			Text: "tickhive load --target 'http://127.0.0.1:8080/api/orderbook?currencyPairCode=BTC_USDT' --rps 1000 " +
				"--max-p99 5ms",
		},
		{
			About: "Signed orders and cancels, with a report as a page.",
			Text:  "tickhive load --target http://127.0.0.1:8080 --mix orders --signed key.json --html load.html",
		},
	},
	"tickhive demo-key": {
		{About: "A user with money and a key.", Text: "tickhive demo-key key.json"},
		{About: "Another user, and the old key is gone.", Text: "tickhive demo-key key.json --replace"},
	},
	"tickhive deposit": {
		{About: "Money for the user of a key.", Text: "tickhive deposit key.json USDT=1000 BTC=0.5"},
		{
			About: "For a user by nickname, at an exchange with a token.",
			Text:  "tickhive deposit bob USDT=1000 --internal-token-file /etc/tickhive/token",
		},
	},
	"tickhive binance-hosts": {
		{
			About: "Certificates and a hosts file for programs that know Binance's names alone.",
			Text:  "tickhive binance-hosts binance",
		},
		{About: "In a folder for the tests of a bot.", Text: "tickhive binance-hosts test/binance"},
	},
	"tickhive conformance": {
		{About: "Check this exchange.", Text: "tickhive conformance http://127.0.0.1:8080/listing"},
		{
			About: "Check another one against one standard, every pair.",
			Text:  "tickhive conformance https://api.example.com --standard coingecko --pairs 0",
		},
	},
	"tickhive ready": {
		{About: "Wait until the exchange serves.", Text: "tickhive ready --wait 1m"},
		{About: "A health check of a container: any listener of this machine.", Text: "tickhive ready 127.0.0.1:8081"},
	},
	"tickhive version": {
		{About: "The version, the commit and the toolchain.", Text: "tickhive version"},
		{About: "The same, as other programs have it.", Text: "tickhive --version"},
	},
	"tickhive completion": {
		{About: "Complete commands in this bash.", Text: "source <(tickhive completion -c bash)"},
		{
			About: "For every fish to come.",
			Text:  "tickhive completion -c fish > ~/.config/fish/completions/tickhive.fish",
		},
	},
	"tickhive man": {
		{About: "Read the manual.", Text: "tickhive man | man -l -"},
		{About: "Install it.", Text: "tickhive man > tickhive.1"},
	},
}
