package replay

import "testing"

func TestGoldenLevelsInView(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "a level slides into view, and out of it", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,3,1,10,1000000,1
34200.3,1,2,5,1000100,1
34200.4,3,2,5,1000100,1
-- b --
1000500,7,1000000,10
1000500,7,999500,30
1000500,7,1000100,5
1000500,7,999500,30
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 cancel #2
09:30:00.200 maker buy 30 @ 99.9500 gtc = #3
09:30:00.300 maker buy 5 @ 100.0100 gtc = #4
09:30:00.400 cancel #4
09:30:00.400 cancel #3
09:30:00.400 maker buy 30 @ 99.9500 gtc = #5
book 30 @ 99.9500 | 7 @ 100.0500
check book rows 3 of 3
check trades 0 of 0
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 1 of 3
sides given by the file: 1 more came into view as we had them
`},
		{name: "a level out of view comes back with another size", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,1,2,5,1000100,1
34200.3,3,2,5,1000100,1
34200.4,4,1,8,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000100,5
1000500,7,1000000,8
1000500,7,999900,4
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 maker buy 5 @ 100.0100 gtc = #3
09:30:00.300 cancel #3
09:30:00.300 cancel #2
09:30:00.300 maker buy 8 @ 100.0000 gtc = #4
09:30:00.400 taker sell 8 @ 100.0000 ioc = #5, trade 8 @ 100.0000 with #4
09:30:00.400 maker buy 4 @ 99.9900 gtc = #6
book 4 @ 99.9900 | 7 @ 100.0500
check book rows 3 of 3
check trades 1 of 1
check executions 1 of 1
check named orders 1 of 1
check sides given by the file 2 of 3
`},
		{name: "a new order at a price out of view finds it empty", format: "lobster", text: `
-- m --
34200.1,1,1,10,1000000,1
34200.2,1,2,5,1000100,1
34200.3,3,2,5,1000100,1
34200.4,1,3,5,1000050,1
34200.5,1,4,6,1000100,1
34200.6,1,5,7,1000000,1
-- b --
1000500,7,1000000,10
1000500,7,1000100,5
1000500,7,999900,8
1000500,7,1000050,5
1000500,7,1000100,6
1000500,7,1000100,6
-- then --
pair BASE_QUOTE 4,0 from 2000-01-01T09:30:00.000Z
09:30:00.100 maker sell 7 @ 100.0500 gtc = #1
09:30:00.100 maker buy 10 @ 100.0000 gtc = #2
09:30:00.200 maker buy 5 @ 100.0100 gtc = #3
09:30:00.300 cancel #3
09:30:00.300 maker buy 8 @ 99.9900 gtc = #4
09:30:00.300 cancel #2
09:30:00.400 maker buy 5 @ 100.0050 gtc = #5
09:30:00.500 maker buy 6 @ 100.0100 gtc = #6
09:30:00.600 maker buy 7 @ 100.0000 gtc = #7
book 6 @ 100.0100 5 @ 100.0050 7 @ 100.0000 8 @ 99.9900 | 7 @ 100.0500
check book rows 5 of 5
check trades 0 of 0
check executions 0 of 0
check named orders 0 of 0
check sides given by the file 1 of 4
`},
	})
}
