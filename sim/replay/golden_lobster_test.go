package replay

import "testing"

// The commands, books, checks and notes of small LOBSTER recordings. The files: messages (time, type, id, size, price,
// direction), then the book after each (ask price, ask size, bid price, bid size).
func TestGoldenLobster(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "the first message is a new order behind what was there", format: "lobster", text: `
-- AMZN_2012-06-21_m.csv --
34200.1,1,1,10,1000000,1
34200.2,4,1,4,1000000,1
-- b --
1000500,7,1000000,25
1000500,7,1000000,21
-- then --
pair AMZN_USD 4,0 from 2012-06-21T09:30:00.000Z
09:30:00.100 maker buy 15 @ 100.0000 gtc = #1
09:30:00.100 maker sell 7 @ 100.0500 gtc = #2
09:30:00.100 maker buy 10 @ 100.0000 gtc = #3
09:30:00.200 taker sell 4 @ 100.0000 ioc = #4, trade 4 @ 100.0000 with #1
book 21 @ 100.0000 | 7 @ 100.0500
check book rows 1 of 1
check trades 1 of 1
check executions 1 of 1
check named orders 0 of 1
check sides given by the file 0 of 1
`},
		{name: "the first message is the only order of its level", format: "lobster", text: `
-- F_2012-06-21_m.csv --
34200.1,1,1,10,1000000,1
34200.2,4,1,4,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000000,6
-- then --
pair F_USD 4,0 from 2012-06-21T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 taker sell 4 @ 100.0000 ioc = #3, trade 4 @ 100.0000 with #2
book 6 @ 100.0000 | 7 @ 100.0500
check book rows 1 of 1
check trades 1 of 1
check executions 1 of 1
check named orders 1 of 1
check sides given by the file 0 of 1
`},
		{name: "the first message is a deletion", format: "lobster", text: `
-- m --
34200.1,3,1,10,1000000,1
34200.2,1,2,4,1000000,1
34200.3,3,2,4,1000000,1
-- b --
1000500,7,1000000,25
1000500,7,1000000,29
1000500,7,1000000,25
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker buy 25 @ 100.0000 gtc = #1
09:30:00.100 maker sell 7 @ 100.0500 gtc = #2
09:30:00.200 maker buy 4 @ 100.0000 gtc = #3
09:30:00.300 cancel #3
book 25 @ 100.0000 | 7 @ 100.0500
check book rows 2 of 2
check trades 0 of 0
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 0 of 2
`},
		{name: "a partial cancel keeps its place", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,1,2,10,1000000,1
34200.3,2,1,4,1000000,1
34200.4,4,1,6,1000000,1
34200.5,4,2,10,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000000,20
1000500,7,1000000,16
1000500,7,1000000,10
1000500,7,-9999999999,0
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 maker buy 10 @ 100.0000 gtc = #3
09:30:00.300 replace #2 with 6
09:30:00.400 taker sell 6 @ 100.0000 ioc = #4, trade 6 @ 100.0000 with #2
09:30:00.500 taker sell 10 @ 100.0000 ioc = #5, trade 10 @ 100.0000 with #3
book | 7 @ 100.0500
check book rows 4 of 4
check trades 2 of 2
check executions 2 of 2
check named orders 2 of 2
check sides given by the file 0 of 4
`},
		{name: "a partial cancel of all ends the order", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,1,2,5,999900,1
34200.3,2,2,9,999900,1
-- b --
1000500,7,1000000,10,1000600,1,-9999999999,0
1000500,7,1000000,10,1000600,1,999900,5
1000500,7,1000000,10,1000600,1,-9999999999,0
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker sell 1 @ 100.0600 gtc = #2
09:30:00.100 maker buy 10 @ 100.0000 gtc = #3
09:30:00.200 maker buy 5 @ 99.9900 gtc = #4
09:30:00.300 cancel #4
book 10 @ 100.0000 | 7 @ 100.0500 1 @ 100.0600
check book rows 2 of 2
check trades 0 of 0
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 0 of 2
`},
		{name: "sells mirror buys", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,-1
34200.2,1,2,5,1000100,-1
34200.3,2,1,3,1000000,-1
34200.4,4,1,7,1000000,-1
34200.5,3,2,5,1000100,-1
-- b --
1000000,10,999000,1,9999999999,0,-9999999999,0
1000000,10,999000,1,1000100,5,-9999999999,0
1000000,7,999000,1,1000100,5,-9999999999,0
1000100,5,999000,1,9999999999,0,-9999999999,0
9999999999,0,999000,1,9999999999,0,-9999999999,0
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker buy 1 @ 99.9000 gtc = #1
09:30:00.100 maker sell 10 @ 100.0000 gtc = #2
09:30:00.200 maker sell 5 @ 100.0100 gtc = #3
09:30:00.300 replace #2 with 7
09:30:00.400 taker buy 7 @ 100.0000 ioc = #4, trade 7 @ 100.0000 with #2
09:30:00.500 cancel #3
book 1 @ 99.9000 |
check book rows 4 of 4
check trades 1 of 1
check executions 1 of 1
check named orders 1 of 1
check sides given by the file 0 of 4
`},
		{name: "an execution of an order that was never named", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,4,77,5,1000500,-1
34200.3,4,77,2,1000500,-1
-- b --
1000500,7,1000000,10
1000500,2,1000000,10
9999999999,0,1000000,10
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 taker buy 5 @ 100.0500 ioc = #3, trade 5 @ 100.0500 with #1
09:30:00.300 taker buy 2 @ 100.0500 ioc = #4, trade 2 @ 100.0500 with #1
book 10 @ 100.0000 |
check book rows 2 of 2
check trades 2 of 2
check executions 2 of 2
check named orders 2 of 2
check sides given by the file 0 of 2
`},
		{name: "an execution out of turn", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,1,2,10,1000000,1
34200.3,4,2,10,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000000,20
1000500,7,1000000,10
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 maker buy 10 @ 100.0000 gtc = #3
09:30:00.300 taker sell 10 @ 100.0000 ioc = #4, trade 10 @ 100.0000 with #2
book 10 @ 100.0000 | 7 @ 100.0500
check book rows 2 of 2
check trades 1 of 1
check executions 1 of 1
check named orders 0 of 1
check sides given by the file 0 of 2
`},
		{name: "an execution of more than there is", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,4,1,15,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,-9999999999,0
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 taker sell 15 @ 100.0000 ioc = #3, trade 10 @ 100.0000 with #2
book | 7 @ 100.0500
check book rows 1 of 1
check trades 0 of 1
check executions 0 of 1
check named orders 0 of 1
check sides given by the file 0 of 1
miss trades m:2: ours no such trade; theirs 2000-01-01T09:30:00.200Z sell of 15.0 at 100.0000
`},
		{name: "hidden executions are trades, crosses and halts change nothing", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,5,0,100,1000200,1
34200.3,6,-1,100,1000200,-1
34200.4,7,0,0,-1,-1
34200.5,7,0,0,1,-1
-- b --
1000500,7,1000000,10
1000500,7,1000000,10
1000500,7,1000000,10
1000500,7,1000000,10
1000500,7,1000000,10
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 maker buy 100 @ 100.0200 gtc = #3
09:30:00.200 taker sell 100 @ 100.0200 ioc = #4, trade 100 @ 100.0200 with #3
book 10 @ 100.0000 | 7 @ 100.0500
check book rows 4 of 4
check trades 1 of 1
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 0 of 0
3 crosses and halts: not fed
1 trades with an order that was not displayed: made apart from the book
`},
		{name: "messages about an order at a price without one", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,3,5,10,998000,1
34200.3,2,6,10,998100,1
-- b --
1000500,7,1000000,10
1000500,7,1000000,10
1000500,7,1000000,10
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
book 10 @ 100.0000 | 7 @ 100.0500
check book rows 2 of 2
check trades 0 of 0
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 0 of 0
2 messages name an order that the book does not have, or not with that amount
`},
		{name: "a message about an unknown order takes from the level's first", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,2,50,3,1000000,1
34200.3,3,51,12,1000000,1
-- b --
1000500,7,1000000,25
1000500,7,1000000,22
1000500,7,1000000,10
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker buy 15 @ 100.0000 gtc = #1
09:30:00.100 maker sell 7 @ 100.0500 gtc = #2
09:30:00.100 maker buy 10 @ 100.0000 gtc = #3
09:30:00.200 replace #1 with 12
09:30:00.300 cancel #1
book 10 @ 100.0000 | 7 @ 100.0500
check book rows 2 of 2
check trades 0 of 0
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 0 of 2
`},
		{name: "a start within the day", format: "lobster", from: "09:30:00.3", text: `
-- AMZN_2012-06-21_m.csv --
34200.1,1,1,10,1000000,1
34200.2,1,2,10,1000000,1
34200.3,1,3,5,1000000,1
34200.4,4,1,10,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000000,20
1000500,7,1000000,25
1000500,7,1000000,15
-- then --
pair AMZN_USD 4,0 from 2012-06-21T09:30:00.000Z
09:30:00.300 maker buy 20 @ 100.0000 gtc = #1
09:30:00.300 maker sell 7 @ 100.0500 gtc = #2
09:30:00.300 maker buy 5 @ 100.0000 gtc = #3
09:30:00.400 taker sell 10 @ 100.0000 ioc = #4, trade 10 @ 100.0000 with #1
book 15 @ 100.0000 | 7 @ 100.0500
check book rows 1 of 1
check trades 1 of 1
check executions 1 of 1
check named orders 1 of 1
check sides given by the file 0 of 1
`},
		{name: "a book that is another", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,1,2,10,1000100,1
34200.3,3,2,10,1000100,1
-- b --
1000500,7,1000000,10,1000600,2,999900,1
1000500,7,1000100,11,1000600,2,1000000,10
1000500,7,1000000,10,1000600,2,999900,2
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker buy 1 @ 99.9900 gtc = #1
09:30:00.100 maker sell 7 @ 100.0500 gtc = #2
09:30:00.100 maker sell 2 @ 100.0600 gtc = #3
09:30:00.100 maker buy 10 @ 100.0000 gtc = #4
09:30:00.200 maker buy 10 @ 100.0100 gtc = #5
09:30:00.300 cancel #5
09:30:00.300 cancel #1
09:30:00.300 maker buy 2 @ 99.9900 gtc = #6
book 10 @ 100.0000 2 @ 99.9900 | 7 @ 100.0500 2 @ 100.0600
check book rows 1 of 2
check trades 0 of 0
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 1 of 2
miss book rows m:2: ours bid 1: 10.0 at 100.0100; theirs bid 1: 11.0 at 100.0100
`},
	})
}
