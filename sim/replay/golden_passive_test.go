package replay

import (
	"strings"
	"testing"
)

// The passive mode fills the order that the file names, and trades with orders that were not displayed are made apart
// from the book. In both cases our orders that would trade first are placed again in their order.
func TestGoldenPassive(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "an execution out of turn", format: "lobster", passive: true, text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,1,2,10,1000000,1
34200.3,1,3,10,1000000,1
34200.4,4,2,4,1000000,1
34200.5,4,1,10,1000000,1
34200.6,4,2,6,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000000,20
1000500,7,1000000,30
1000500,7,1000000,26
1000500,7,1000000,16
1000500,7,1000000,10
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 maker buy 10 @ 100.0000 gtc = #3
09:30:00.300 maker buy 10 @ 100.0000 gtc = #4
09:30:00.400 cancel #2
09:30:00.400 cancel #4
09:30:00.400 taker sell 4 @ 100.0000 ioc = #5, trade 4 @ 100.0000 with #3
09:30:00.400 cancel #3
09:30:00.400 maker buy 10 @ 100.0000 gtc = #6
09:30:00.400 maker buy 6 @ 100.0000 gtc = #7
09:30:00.400 maker buy 10 @ 100.0000 gtc = #8
09:30:00.500 taker sell 10 @ 100.0000 ioc = #9, trade 10 @ 100.0000 with #6
09:30:00.600 taker sell 6 @ 100.0000 ioc = #10, trade 6 @ 100.0000 with #7
book 10 @ 100.0000 | 7 @ 100.0500
check book rows 5 of 5
check trades 3 of 3
check executions 3 of 3
check named orders 3 of 3
check sides given by the file 0 of 5
`},
		{name: "an execution behind a better price", format: "lobster", passive: true, text: `
-- m --
34200.1,1,1,10,1000000,-1
34200.2,1,2,10,1000100,-1
34200.3,4,2,10,1000100,-1
-- b --
1000000,10,999900,7,9999999999,0,-9999999999,0
1000000,10,999900,7,1000100,10,-9999999999,0
1000000,10,999900,7,9999999999,0,-9999999999,0
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker buy 7 @ 99.9900 gtc = #1
09:30:00.100 maker sell 10 @ 100.0000 gtc = #2
09:30:00.200 maker sell 10 @ 100.0100 gtc = #3
09:30:00.300 cancel #2
09:30:00.300 taker buy 10 @ 100.0100 ioc = #4, trade 10 @ 100.0100 with #3
09:30:00.300 maker sell 10 @ 100.0000 gtc = #5
book 7 @ 99.9900 | 10 @ 100.0000
check book rows 2 of 2
check trades 1 of 1
check executions 1 of 1
check named orders 1 of 1
check sides given by the file 0 of 2
`},
		{name: "an execution of too much, and of an unknown order", format: "lobster", passive: true, text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,4,1,15,1000000,1
34200.3,4,77,3,1000100,1
-- b --
1000500,7,1000000,10
1000500,7,-9999999999,0
1000500,7,-9999999999,0
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 maker buy 5 @ 100.0000 gtc = #3
09:30:00.200 taker sell 15 @ 100.0000 ioc = #4, trade 10 @ 100.0000 with #2, trade 5 @ 100.0000 with #3
09:30:00.300 maker buy 3 @ 100.0100 gtc = #5
09:30:00.300 taker sell 3 @ 100.0100 ioc = #6, trade 3 @ 100.0100 with #5
book | 7 @ 100.0500
check book rows 2 of 2
check trades 1 of 2
check executions 1 of 2
check named orders 0 of 2
check sides given by the file 0 of 1
miss trades m:2: ours no such trade; theirs 2000-01-01T09:30:00.200Z sell of 15.0 at 100.0000
2 messages name an order that the book does not have, or not with that amount
`},
		{name: "a hidden execution at prices of displayed orders", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,1,2,5,1000000,1
34200.3,5,0,100,1000000,1
34200.4,5,0,50,1000500,1
34200.5,4,1,10,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000000,15
1000500,7,1000000,15
1000500,7,1000000,15
1000500,7,1000000,5
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 maker buy 5 @ 100.0000 gtc = #3
09:30:00.300 cancel #2
09:30:00.300 cancel #3
09:30:00.300 maker buy 100 @ 100.0000 gtc = #4
09:30:00.300 taker sell 100 @ 100.0000 ioc = #5, trade 100 @ 100.0000 with #4
09:30:00.300 maker buy 10 @ 100.0000 gtc = #6
09:30:00.300 maker buy 5 @ 100.0000 gtc = #7
09:30:00.400 cancel #1
09:30:00.400 maker buy 50 @ 100.0500 gtc = #8
09:30:00.400 taker sell 50 @ 100.0500 ioc = #9, trade 50 @ 100.0500 with #8
09:30:00.400 maker sell 7 @ 100.0500 gtc = #10
09:30:00.500 taker sell 10 @ 100.0000 ioc = #11, trade 10 @ 100.0000 with #6
book 5 @ 100.0000 | 7 @ 100.0500
check book rows 4 of 4
check trades 3 of 3
check executions 1 of 1
check named orders 1 of 1
check sides given by the file 0 of 2
2 trades with an order that was not displayed: made apart from the book
`},
		{name: "the first message is a hidden execution", format: "lobster", text: `
-- m --
34200.1,5,0,100,1000200,1
34200.2,1,2,5,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000000,15
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker buy 10 @ 100.0000 gtc = #1
09:30:00.100 maker sell 7 @ 100.0500 gtc = #2
09:30:00.100 maker buy 100 @ 100.0200 gtc = #3
09:30:00.100 taker sell 100 @ 100.0200 ioc = #4, trade 100 @ 100.0200 with #3
09:30:00.200 maker buy 5 @ 100.0000 gtc = #5
book 15 @ 100.0000 | 7 @ 100.0500
check book rows 1 of 1
check trades 1 of 1
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 0 of 1
1 trades with an order that was not displayed: made apart from the book
`},
	})
}

func TestOnlyNamedOrdersCanBeFollowed(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Format: "trades", Files: []string{"x"}, Passive: true})
	if err == nil || !strings.Contains(err.Error(), "passive is an option of lobster") {
		t.Errorf("passive trades: %v", err)
	}
}
