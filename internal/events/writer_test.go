package events

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

var update = flag.Bool("update", false, "write testdata/messages.txt")

func accountName(n engine.AccountID) string { return fmt.Sprint("account ", n) }

// The messages of every kind of event, member by member.
func TestMessages(t *testing.T) {
	w := NewWriter("e1", accountName)
	w.Fold([]engine.Event{
		{Kind: engine.EventAsset, Pair: engine.ControlPair},
		{Kind: engine.EventPair, Seq: 1, Instrument: &engine.Instrument{
			Code: "AA_USDT", Base: "AA", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 1,
		}},
	})
	if out := w.Take(); len(out) != 0 {
		t.Errorf("a pair and an asset gave %d messages", len(out))
	}
	id := engine.MakeOrderID
	w.Fold([]engine.Event{
		{
			Kind: engine.EventAccepted, Seq: 2, TimeNs: 5, Order: id(0, 1), Account: 1,
			Client: &engine.ClientID{Text: `a"b`}, Side: engine.Sell, Price: 10050, Amount: 30, OpenAmount: 30,
		},
		{Kind: engine.EventLevel, Seq: 3, TimeNs: 5, Side: engine.Sell, Price: 10050, Amount: 30},
		{
			Kind: engine.EventAccepted, Seq: 4, TimeNs: 6, Order: id(0, 2), Type: engine.Market, TIF: engine.IOC,
			Flags: engine.FlagQuote, Quote: fixed.U128{Lo: 100_500},
		},
		{
			Kind: engine.EventTrade, Seq: 5, TimeNs: 6, Trade: 1, Order: id(0, 2), Maker: id(0, 1), MakerAccount: 1,
			Price: 10050, Amount: 10, MakerOpen: 20, Flags: engine.FlagQuote, Status: engine.PartiallyCompleted,
		},
		{Kind: engine.EventLevel, Seq: 6, TimeNs: 6, Side: engine.Sell, Price: 10050, Amount: 20},
		{
			Kind: engine.EventCanceled, Seq: 7, TimeNs: 6, Order: id(0, 2), Status: engine.Completed,
			Cause: engine.CauseRemainder,
		},
		{
			Kind: engine.EventAccepted, Seq: 8, TimeNs: 7, Order: id(0, 3), Account: 1, Type: engine.StopLimit,
			Price: 9900, MakerOpen: 10000, Amount: 5, OpenAmount: 5,
		},
		{
			Kind: engine.EventTriggered, Seq: 9, TimeNs: 8, Order: id(0, 3), Account: 1, Type: engine.StopLimit,
			Price: 9900, MakerOpen: 10000, OpenAmount: 5,
		},
		{
			Kind: engine.EventReplaced, Seq: 10, TimeNs: 9, Order: id(0, 1), Account: 1, Side: engine.Sell,
			Price: 10060, Amount: 40, OpenAmount: 30, MakerOpen: 10050, Display: 20, // before it
		},
		{
			Kind: engine.EventReduced, Seq: 11, TimeNs: 9, Order: id(0, 1), Account: 1, Side: engine.Sell,
			Price: 10060, Amount: 1, OpenAmount: 29, Display: 10060,
		},
		{
			Kind: engine.EventRefilled, Seq: 12, TimeNs: 9, Order: id(0, 1), Account: 1, Side: engine.Sell,
			Price: 10060, Amount: 10, OpenAmount: 29,
		},
		{
			Kind: engine.EventRejected, Seq: 13, TimeNs: 9, Account: 1, Reason: engine.NoLiquidity,
			Status: engine.Rejected,
		},
		{Kind: engine.EventLevel, Seq: 14, TimeNs: 9, Side: engine.Sell, Price: 10050},
		{Kind: engine.EventLevel, Seq: 15, TimeNs: 9, Side: engine.Sell, Price: 10060, Amount: 29},
		{Kind: engine.EventLevel, Seq: 16, TimeNs: 9, Side: engine.Buy, Price: 9900, Amount: 5},
		{Kind: engine.EventNothing, Seq: 17, TimeNs: 9, Account: 1},
		{ // what it holds is not what it asked for
			Kind: engine.EventAccepted, Seq: 18, TimeNs: 9, Order: id(0, 4), Account: 1, Type: engine.StopMarket,
			TIF: engine.IOC, MakerOpen: 10000, Amount: 5, OpenAmount: 5, Quote: fixed.U128{Lo: 50_000},
		},
		{ // it holds money at the price 100.10, and has none itself
			Kind: engine.EventReplaced, Seq: 19, TimeNs: 9, Order: id(0, 4), Account: 1, Type: engine.StopMarket,
			Price: 10010, Amount: 6, OpenAmount: 6, MakerOpen: 10000, Display: 5, Quote: fixed.U128{Lo: 10010},
		},
		{
			Kind: engine.EventCanceled, Seq: 20, TimeNs: 9, Order: id(0, 4), Account: 1, Amount: 2,
			Quote: fixed.U128{Lo: 70}, Status: engine.PartiallyExecutedAndCanceled, Cause: engine.CauseFunds,
		},
	})
	var text strings.Builder
	for _, m := range w.Take() {
		fmt.Fprintf(&text, "%s %s\n%s\n", m.Subject, m.ID, m.Data)
	}
	if out := w.Take(); len(out) != 0 {
		t.Errorf("the batch was given out twice: %d messages", len(out))
	}
	path := filepath.Join("testdata", "messages.txt")
	if *update {
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("the messages are\n%s\nwant\n%s", &text, want)
	}
}

// A second batch tells its own changes of the book alone.
func TestABatchTellsItsOwnChanges(t *testing.T) {
	w := NewWriter("e1", accountName)
	w.Fold([]engine.Event{{Kind: engine.EventPair, Seq: 1, Instrument: &engine.Instrument{Code: "AA_BB"}}})
	for n := range 3 {
		w.Fold([]engine.Event{{Kind: engine.EventLevel, Seq: engine.Seq(n + 2), Price: int64(n + 1), Amount: 1}})
		out := w.Take()
		want := fmt.Sprintf(`{"type":"book","epoch":"e1","currencyPairCode":"AA_BB","seq":%d,"timeNs":0,`+
			`"firstSeq":%d,"bids":[[%d.0,1.0]],"asks":[]}`, n+2, n+2, n+1)
		if len(out) != 1 || string(out[0].Data) != want {
			t.Errorf("batch %d: %+v, want %s", n, out, want)
		}
	}
}
