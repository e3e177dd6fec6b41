package format

import (
	"strings"
	"testing"
)

func TestBybitRefusesWhatItWouldMisread(t *testing.T) {
	t.Parallel()
	const whole = `{"topic":"orderbook.500.XRPUSDT","type":"snapshot","ts":1733011200691,` +
		`"data":{"s":"XRPUSDT","b":[["1.9531","6203"]],"a":[],"u":20,"seq":1}}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"a change first": {
			strings.Replace(whole, "snapshot", "delta", 1), "a change of the book before a complete one",
		},
		"another symbol": {whole + strings.ReplaceAll(whole, "XRPUSDT", "BTCUSDT"), `symbol "BTCUSDT"`},
		"an inverse contract": {
			strings.ReplaceAll(whole, "XRPUSDT", "BTCUSD"),
			`"BTCUSD" is an inverse contract: its sizes are dollars; replay its trades alone`,
		},
		"another type":   {strings.Replace(whole, "snapshot", "x", 1), `type "x" is neither snapshot nor delta`},
		"another topic":  {strings.Replace(whole, "orderbook", "publicTrade", 1), "no message of an order book"},
		"trades alone":   {bybitTrades + "x\n1733011200.8,XRPUSDT,Sell,3,1.9531,x\n", "no complete book"},
		"no side":        {bybitTrades + "x\n1733011200.8,XRPUSDT,N,3,1.9531,x\n", `side "N" is neither Buy nor Sell`},
		"time goes back": {whole + strings.Replace(whole, "1733011200691", "1733011100691", 1), "time goes back"},
	} {
		if _, _, err := learnText(t, "bybit", "", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// The amounts of a COIN-M future count contracts: its stream is refused.
func TestBinanceRefusesContracts(t *testing.T) {
	t.Parallel()
	_, _, err := learnText(t, "binance", "", `1723161254000000002 {"stream":"btcusd_perp@trade","data":{"e":"trade",`+
		`"s":"BTCUSD_PERP","p":"1","q":"1","m":true}}`+"\n")
	const want = "BTCUSD_PERP is a COIN-M future: its amounts count contracts, not BTC; "
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}
