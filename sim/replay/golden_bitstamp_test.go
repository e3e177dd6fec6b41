package replay

import "testing"

// The commands, books, checks and notes of small Bitstamp logs: milliseconds, kind and JSON. Amounts are open
// open after the event.
func TestGoldenBitstamp(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "what rested before the first book", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_created {"price":"99","amount":"2","id":1,"order_type":0}
1430438400001 order_created {"price":"99","amount":"1","id":2,"order_type":0}
1430438400002 order_created {"price":"98","amount":"1","id":3,"order_type":0}
1430438400003 order_changed {"price":"99","amount":"1.5","id":1,"order_type":0}
1430438400004 order_deleted {"price":"98","amount":"1","id":3,"order_type":0}
1430438400005 order_book {"bids":[["99","5"],["98","2"]],"asks":[["101","4"]]}
1430438400006 order_deleted {"price":"101","amount":"1","id":0,"order_type":1}
-- then --
pair BTC_USD 0,1 from 2015-05-01T00:00:00.000Z
00:00:00.005 maker buy 2.5 @ 99 gtc post = #1
00:00:00.005 maker buy 2.0 @ 98 gtc post = #2
00:00:00.005 maker sell 3.0 @ 101 gtc post = #3
00:00:00.005 maker sell 1.0 @ 101 gtc post = #4
00:00:00.005 maker buy 1.5 @ 99 gtc post = #5
00:00:00.005 maker buy 1.0 @ 99 gtc post = #6
00:00:00.006 cancel #4
book 5.0 @ 99 2.0 @ 98 | 3.0 @ 101
check book rows 0 of 0
check trades 0 of 0
check sizes given by the file 0 of 0
trades: 0 made
`},
		{name: "what is deleted later rested before, if its id is older", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["99","5"]],"asks":[["101","4"]]}
1430438400001 order_created {"price":"98","amount":"1","id":10,"order_type":0}
1430438400002 order_deleted {"price":"99","amount":"2","id":8,"order_type":0}
1430438400003 order_changed {"price":"101","amount":"1","id":9,"order_type":1}
1430438400004 order_deleted {"price":"101","amount":"1","id":9,"order_type":1}
1430438400005 order_deleted {"price":"99","amount":"1","id":20,"order_type":0}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 3 @ 99 gtc post = #1
00:00:00.000 maker sell 3 @ 101 gtc post = #2
00:00:00.000 maker buy 2 @ 99 gtc post = #3
00:00:00.000 maker sell 1 @ 101 gtc post = #4
00:00:00.001 maker buy 1 @ 98 gtc = #5
00:00:00.002 cancel #3
00:00:00.004 cancel #4
00:00:00.005 replace #1 with 2
book 2 @ 99 1 @ 98 | 3 @ 101
check book rows 0 of 0
check trades 0 of 0
check sizes given by the file 0 of 0
trades: 0 made
`},
		{name: "created, matched by the engine, told of as changed and deleted", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["99","5"]],"asks":[]}
1430438400100 order_created {"price":"101","amount":"3","id":10,"order_type":1}
1430438400200 order_created {"price":"101","amount":"2","id":11,"order_type":0}
1430438400210 order_changed {"price":"101","amount":"1","id":10,"order_type":1}
1430438400211 order_deleted {"price":"101","amount":"0","id":11,"order_type":0}
1430438400212 trade {"price":101.00000000000001,"amount":2.0000000000000001,"id":1}
1430438402000 order_book {"bids":[["99","5"]],"asks":[["101","1"]]}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 5 @ 99 gtc post = #1
00:00:00.100 maker sell 3 @ 101 gtc = #2
00:00:00.200 maker buy 2 @ 101 gtc = #3, trade 2 @ 101 with #2
book 5 @ 99 | 1 @ 101
check book rows 1 of 1
check trades 1 of 1
check sizes given by the file 0 of 2
trades: 1 made
`},
		{name: "a fill that the engine did not make is enforced after a second", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[],"asks":[]}
1430438400100 order_created {"price":"101","amount":"3","id":10,"order_type":1}
1430438400200 order_changed {"price":"101","amount":"2","id":10,"order_type":1}
1430438400300 order_created {"price":"102","amount":"1","id":11,"order_type":1}
1430438400400 order_deleted {"price":"102","amount":"0","id":11,"order_type":1}
1430438401199 order_book {"bids":[],"asks":[["101","3"],["102","1"]]}
1430438401200 order_book {"bids":[],"asks":[["101","2"],["102","1"]]}
1430438401400 order_book {"bids":[],"asks":[["101","2"]]}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.100 maker sell 3 @ 101 gtc = #1
00:00:00.300 maker sell 1 @ 102 gtc = #2
00:00:01.200 replace #1 with 2
00:00:01.400 cancel #2
book | 2 @ 101
check book rows 3 of 3
check trades 0 of 0
check sizes given by the file 2 of 5
trades: 0 made
`},
		{name: "newer news of an order replace older ones", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[],"asks":[]}
1430438400100 order_created {"price":"101","amount":"3","id":10,"order_type":1}
1430438400200 order_changed {"price":"101","amount":"2","id":10,"order_type":1}
1430438400900 order_changed {"price":"101","amount":"1","id":10,"order_type":1}
1430438401300 order_book {"bids":[],"asks":[["101","3"]]}
1430438402000 order_book {"bids":[],"asks":[["101","1"]]}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.100 maker sell 3 @ 101 gtc = #1
00:00:02.000 replace #1 with 1
book | 1 @ 101
check book rows 2 of 2
check trades 0 of 0
check sizes given by the file 1 of 2
trades: 0 made
`},
		{name: "an order that moves to another price", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["99","1"]],"asks":[["105","1"]]}
1430438400100 order_created {"price":"101","amount":"3","id":10,"order_type":1}
1430438400200 order_changed {"price":"102","amount":"2","id":10,"order_type":1}
1430438400300 order_deleted {"price":"102","amount":"2","id":10,"order_type":1}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 1 @ 99 gtc post = #1
00:00:00.000 maker sell 1 @ 105 gtc post = #2
00:00:00.100 maker sell 3 @ 101 gtc = #3
00:00:00.200 replace #3 with 2 @ 102
00:00:00.300 cancel #3
book 1 @ 99 | 1 @ 105
check book rows 0 of 0
check trades 0 of 0
check sizes given by the file 0 of 0
trades: 0 made
`},
		{name: "a market order moves into the other side", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[],"asks":[]}
1430438400050 order_created {"price":"101","amount":"1","id":9,"order_type":1}
1430438400100 order_created {"price":"100","amount":"3","id":10,"order_type":0}
1430438400200 order_changed {"price":"102","amount":"3","id":10,"order_type":0}
1430438400300 trade {"price":101,"amount":1,"id":1}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.050 maker sell 1 @ 101 gtc = #1
00:00:00.100 maker buy 3 @ 100 gtc = #2
00:00:00.200 replace #2 with 3 @ 102, trade 1 @ 101 with #1
book 2 @ 102 |
check book rows 0 of 0
check trades 1 of 1
check sizes given by the file 0 of 0
trades: 1 made
`},
		{name: "a created order of nothing, and one filled by a change to nothing", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[],"asks":[]}
1430438400100 order_created {"price":"101","amount":"0","id":9,"order_type":1}
1430438400200 order_created {"price":"101","amount":"2","id":10,"order_type":1}
1430438400300 order_changed {"price":"101","amount":"0","id":10,"order_type":1}
1430438401400 order_book {"bids":[],"asks":[]}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.200 maker sell 2 @ 101 gtc = #1
00:00:01.400 cancel #1
book |
check book rows 1 of 1
check trades 0 of 0
check sizes given by the file 1 of 0
trades: 0 made
`},
		{name: "a deletion of an unknown order takes from its level", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["99","5"],["98","1"]],"asks":[]}
1430438400100 order_created {"price":"97","amount":"1","id":10,"order_type":0}
1430438400200 order_deleted {"price":"99","amount":"2","id":50,"order_type":0}
1430438400300 order_deleted {"price":"98","amount":"4","id":51,"order_type":0}
1430438400400 order_deleted {"price":"90","amount":"4","id":52,"order_type":0}
1430438400500 order_deleted {"price":"99","amount":"0","id":53,"order_type":0}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 5 @ 99 gtc post = #1
00:00:00.000 maker buy 1 @ 98 gtc post = #2
00:00:00.100 maker buy 1 @ 97 gtc = #3
00:00:00.200 replace #1 with 3
00:00:00.300 cancel #2
book 3 @ 99 1 @ 97 |
check book rows 0 of 0
check trades 0 of 0
check sizes given by the file 0 of 0
trades: 0 made
`},
		{name: "a book gives sizes that the log never told", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["99","5"],["98","1"]],"asks":[["101","1"]]}
1430438400100 order_book {"bids":[["99","6"],["98","1"]],"asks":[["101","1"],["102","2"]]}
1430438400200 order_book {"bids":[["99","2"],["98","1"]],"asks":[["101","1"],["102","2"]]}
1430438400300 order_book {"bids":[["99","2"]],"asks":[["102","2"]]}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 5 @ 99 gtc post = #1
00:00:00.000 maker buy 1 @ 98 gtc post = #2
00:00:00.000 maker sell 1 @ 101 gtc post = #3
00:00:00.100 replace #1 with 6
00:00:00.100 maker sell 2 @ 102 gtc post = #4
00:00:00.200 replace #1 with 2
00:00:00.300 cancel #3
book 2 @ 99 1 @ 98 | 2 @ 102
check book rows 2 of 3
check trades 0 of 0
check sizes given by the file 4 of 10
miss book rows btcusd.log:4: ours no such book within 1 s; theirs a book with bid 1: 2.0 at 99.0, ask 1: 2.0 at 102.0
trades: 0 made
`},
		{name: "a size that was there before comes first in its level", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["99","5"]],"asks":[]}
1430438400100 order_created {"price":"98","amount":"1","id":10,"order_type":0}
1430438400200 order_created {"price":"98","amount":"2","id":11,"order_type":0}
1430438400300 order_book {"bids":[["99","5"],["98","7"]],"asks":[]}
1430438400400 order_deleted {"price":"98","amount":"1","id":10,"order_type":0}
1430438400500 order_book {"bids":[["99","5"],["98","6"]],"asks":[]}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 5 @ 99 gtc post = #1
00:00:00.100 maker buy 1 @ 98 gtc = #2
00:00:00.200 maker buy 2 @ 98 gtc = #3
00:00:00.300 cancel #2
00:00:00.300 cancel #3
00:00:00.300 maker buy 4 @ 98 gtc post = #4
00:00:00.300 maker buy 1 @ 98 gtc post = #5
00:00:00.300 maker buy 2 @ 98 gtc post = #6
00:00:00.400 cancel #5
book 5 @ 99 6 @ 98 |
check book rows 2 of 2
check trades 0 of 0
check sizes given by the file 1 of 4
trades: 0 made
`},
		{name: "a level without a name that a book no longer has", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["99","5"],["98","1"],["97","1"]],"asks":[["101","1"],["102","1"],["103","1"]]}
1430438400100 order_book {"bids":[["99","5"],["97","1"]],"asks":[["102","1"],["103","1"]]}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 5 @ 99 gtc post = #1
00:00:00.000 maker buy 1 @ 98 gtc post = #2
00:00:00.000 maker buy 1 @ 97 gtc post = #3
00:00:00.000 maker sell 1 @ 101 gtc post = #4
00:00:00.000 maker sell 1 @ 102 gtc post = #5
00:00:00.000 maker sell 1 @ 103 gtc post = #6
00:00:00.100 cancel #2
00:00:00.100 cancel #4
book 5 @ 99 1 @ 97 | 1 @ 102 1 @ 103
check book rows 1 of 1
check trades 0 of 0
check sizes given by the file 2 of 4
trades: 0 made
`},
		{name: "a book line counts when it was ours within a second", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["99","1"]],"asks":[]}
1430438400100 order_created {"price":"98","amount":"1","id":10,"order_type":0}
1430438400150 order_book {"bids":[["99","1"]],"asks":[]}
1430438400200 order_book {"bids":[["99","1"],["98","1"],["97","1"]],"asks":[]}
1430438400900 order_created {"price":"97","amount":"1","id":11,"order_type":0}
1430438403000 order_deleted {"price":"97","amount":"1","id":11,"order_type":0}
1430438406000 order_book {"bids":[["99","1"],["98","1"],["96","1"]],"asks":[]}
1430438409000 order_book {"bids":[["99","1"]],"asks":[]}
1430438415000 order_deleted {"price":"98","amount":"1","id":10,"order_type":0}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 1 @ 99 gtc post = #1
00:00:00.100 maker buy 1 @ 98 gtc = #2
00:00:00.200 maker buy 1 @ 97 gtc post = #3
00:00:00.900 maker buy 1 @ 97 gtc = #4
00:00:03.000 cancel #4
00:00:06.000 maker buy 1 @ 96 gtc post = #5
00:00:06.000 cancel #3
00:00:15.000 cancel #2
book 1 @ 99 1 @ 96 |
check book rows 3 of 4
check trades 0 of 0
check sizes given by the file 3 of 8
miss book rows btcusd.log:8: ours no such book within 1 s; theirs a book with bid 1: 1.0 at 99.0, no ask
trades: 0 made
`},
		{name: "trades are rounded to the digits of the orders", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[],"asks":[["235.02","1.5"]]}
1430438400100 order_created {"price":"235.02","amount":"1.25","id":10,"order_type":0}
1430438400101 trade {"price":235.02000000000001,"amount":1.2499999999999999,"id":1}
1430438400102 trade {"price":235.04,"amount":1.25,"id":2}
-- then --
pair BTC_USD 2,2 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker sell 1.50 @ 235.02 gtc post = #1
00:00:00.100 maker buy 1.25 @ 235.02 gtc = #2, trade 1.25 @ 235.02 with #1
book | 0.25 @ 235.02
check book rows 0 of 0
check trades 1 of 2
check sizes given by the file 0 of 0
miss trades btcusd.log:4: ours no such trade; theirs 1.25 at 235.04
trades: 1 made
`},
		{name: "a start within the log", format: "bitstamp", from: "2015-05-01T00:00:00.250Z", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[["90","1"]],"asks":[]}
1430438400100 order_created {"price":"98","amount":"1","id":10,"order_type":0}
1430438400150 order_created {"price":"97","amount":"1","id":11,"order_type":0}
1430438400200 order_deleted {"price":"97","amount":"1","id":11,"order_type":0}
1430438400300 order_created {"price":"95","amount":"1","id":12,"order_type":0}
1430438400400 order_book {"bids":[["98","3"],["95","1"]],"asks":[]}
1430438400500 order_deleted {"price":"97","amount":"1","id":11,"order_type":0}
1430438400600 order_deleted {"price":"98","amount":"1","id":10,"order_type":0}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.400 maker buy 2 @ 98 gtc post = #1
00:00:00.400 maker buy 1 @ 98 gtc post = #2
00:00:00.400 maker buy 1 @ 95 gtc post = #3
00:00:00.600 cancel #2
book 2 @ 98 1 @ 95 |
check book rows 0 of 0
check trades 0 of 0
check sizes given by the file 0 of 0
trades: 0 made
1 deletions of ids that were deleted before: left out
`},
		{name: "duplicates before the start", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_deleted {"price":"98","amount":"1","id":10,"order_type":0}
1430438400001 order_created {"price":"98","amount":"1","id":10,"order_type":0}
1430438400002 order_created {"price":"98","amount":"2","id":11,"order_type":0}
1430438400003 order_changed {"price":"98","amount":"1","id":11,"order_type":0}
1430438400004 order_created {"price":"98","amount":"2","id":11,"order_type":0}
1430438400005 order_book {"bids":[["98","1"]],"asks":[]}
1430438400006 order_deleted {"price":"98","amount":"1","id":10,"order_type":0}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.005 maker buy 1 @ 98 gtc post = #1
book 1 @ 98 |
check book rows 0 of 0
check trades 0 of 0
check sizes given by the file 0 of 0
trades: 0 made
1 deletions of ids that were deleted before: left out
`},
		{name: "changes after the deletion, and of an unknown order", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[],"asks":[]}
1430438400100 order_created {"price":"98","amount":"2","id":10,"order_type":0}
1430438400200 order_deleted {"price":"98","amount":"0","id":10,"order_type":0}
1430438400300 order_changed {"price":"98","amount":"1","id":10,"order_type":0}
1430438400400 order_changed {"price":"98","amount":"1","id":99,"order_type":0}
1430438401500 order_book {"bids":[],"asks":[]}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.100 maker buy 2 @ 98 gtc = #1
00:00:01.500 cancel #1
book |
check book rows 1 of 1
check trades 0 of 0
check sizes given by the file 1 of 0
trades: 0 made
1 changes of ids that were deleted before: left out
1 changes of ids that the log never created: left out
`},
		{name: "times that cross", format: "bitstamp", text: `
-- btcusd.log --
1430438400000 order_book {"bids":[],"asks":[]}
1430438400200 order_created {"price":"98","amount":"2","id":10,"order_type":0}
1430438400100 order_created {"price":"97","amount":"2","id":11,"order_type":0}
1430438400300 order_created {"price":"96","amount":"2","id":12,"order_type":0}
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.200 maker buy 2 @ 98 gtc = #1
00:00:00.200 maker buy 2 @ 97 gtc = #2
00:00:00.300 maker buy 2 @ 96 gtc = #3
book 2 @ 98 2 @ 97 2 @ 96 |
check book rows 0 of 0
check trades 0 of 0
check sizes given by the file 0 of 0
trades: 0 made
1 lines whose time goes back by less than a second: taken at the time before
`},
	})
}
