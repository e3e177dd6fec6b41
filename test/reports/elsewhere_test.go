package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elsewhere has the reports whose test is in another package: it needs a browser, several nodes, or recordings.
var elsewhere = []struct{ file, test, sources string }{
	{
		"sim/replay/reports_test.go", "TestFilesOfPublicBugReports",
		"binance/binance-public-data#386 binance/binance-public-data#387 binance/binance-public-data#283 " +
			"binance/binance-public-data#267 binance/binance-public-data#246 binance/binance-public-data#404 " +
			"nkaz001/hftbacktest#238 crypto-crawler/carbonbot#2 gbeced/pyalgotrade#16 mementum/backtrader#94 " +
			"mementum/backtrader#6 mementum/backtrader#324 Tim55667757/TKSBrokerAPI#123 quantopian/zipline#611 " +
			"HKUDS/Vibe-Trading#619 davidusb-geek/emhass#779 freqtrade/freqtrade#8980 kernc/backtesting.py#11",
	},
	{
		"sim/replay/forms_test.go", "TestFilesThatPeopleHold",
		"nkaz001/hftbacktest#27 QuantConnect/Lean#848 QuantConnect/Lean#7075",
	},
	{
		"sim/replay/testdata/golden/databento.txt", "# an iceberg",
		"nautechsystems/nautilus_trader#4445 stefan-jansen/machine-learning-for-trading#369",
	},
	{"sim/replay/testdata/golden/databento.txt", "# an auction", "nautechsystems/nautilus_trader#1737"},
	{"sim/replay/testdata/golden/databento.txt", "# two levels a side", "nautechsystems/nautilus_trader#4046"},
	{"sim/replay/testdata/golden/tardis.txt", "# one message", "nautechsystems/nautilus_trader#4872"},
	{
		"test/cluster/replica_test.go", "TestReplicaRefusesStaleReads",
		"typesense/typesense#2990 patroni/patroni#3250 cloudnative-pg/cloudnative-pg#6621 bitnami/charts#2360 " +
			"Altinity/clickhouse-operator#1662",
	},
	{
		"test/recipes/starts_test.go", "TestGuideOfTestsRuns",
		"testcontainers/testcontainers-java#286 testcontainers/testcontainers-python#33 " +
			"testcontainers/testcontainers-dotnet#592",
	},
	{"test/browser/chart_test.go", "TestBrowserThePriceTagIsLive", "tradingview/lightweight-charts#203"},
	{"test/browser/chart_test.go", "TestBrowserTheDepthChart", "decred/dcrdex#837"},
	{"test/browser/layout_test.go", "TestSmokeBrowserOnAPhone", "decred/dcrdex#2215"},
	{
		"test/browser/page_test.go", "TestBrowserOpenOrdersKeepTheirOrder",
		"bitshares/bitshares-ui#2110 bitshares/bitshares-ui#505",
	},
	{"test/browser/page_test.go", "TestBrowserCancelAllAsksForOtherPairs", "AugurProject/augur#7780"},
	{"test/browser/trader_test.go", "TestBrowserATraderLooksBack", "hummingbot/hummingbot#2165"},
}

// The tests of reports in other packages are there.
func TestReportsElsewhereAreThere(t *testing.T) {
	t.Parallel()
	for _, e := range elsewhere {
		body, err := os.ReadFile(filepath.Join("../..", e.file))
		if err != nil || !strings.Contains(string(body), e.test) {
			t.Errorf("%s has no %s: %v", e.file, e.test, err)
		}
	}
}
