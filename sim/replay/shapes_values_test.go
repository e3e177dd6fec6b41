package replay

import (
	"testing"
)

func TestDatesWithoutDashesAreRefused(t *testing.T) {
	t.Parallel()
	mustRefuse(t, []refusal{
		{"trades", "trades", []string{"a.csv\n§20240102,100.5,1,buy\n"}, `"20240102"`, "write 2024-01-02"},
		{
			"the name carries a day", "trades",
			[]string{"a_20240102.csv\ndate,price,amount\n§20240102,100.5,1\n"},
			`"20240102"`, "write 2024-01-02",
		},
		{
			"bars", "trades",
			[]string{"a.csv\ndate,open,high,low,close,volume\n§20240102,1,2,1,2,5\n"},
			`"20240102"`,
			"write 2024-01-02",
		},
		{
			"a number", "trades",
			[]string{"a.jsonl\n" + `{"date":§20240102,"price":1,"amount":1}` + "\n"},
			`"20240102"`,
			"write 2024-01-02",
		},
		{"an early year", "trades", []string{"a.csv\n§18991231,100.5,1,buy\n"}, `"18991231"`, "Unix"},
		{
			"with minutes", "trades",
			[]string{"a.csv\n§202401021030,100.5,1,buy\n"},
			`"202401021030"`,
			"write 2024-01-02T10:30",
		},
		{
			"with seconds", "trades",
			[]string{"a.csv\n§20240102103000,100.5,1,buy\n"},
			`"20240102103000"`,
			"write 2024-01-02T10:30:00",
		},
		{
			"a later row", "trades",
			[]string{"a.csv\n1700000000,100.5,1,buy\n§20240102,100.5,1,buy\n"},
			`"20240102"`,
			"write 2024-01-02",
		},
		{
			"a spreadsheet's day", "trades",
			[]string{"a.csv\ntime,price,amount\n§45292.5,100.5,1\n"},
			"1970-01-01T12:34:52", "Unix",
		},
		{"a row's number", "trades", []string{"a.csv\n§1,1700000000,100.5,1\n"}, "1970-01-01T00:00:01", "Unix"},
		{
			"seconds of the file's day", "trades",
			[]string{"a_2024-01-02.csv\n§34200.5,100.5,1\n"},
			"1970-01-01T09:30:00",
			"milliseconds",
		},
		{
			"a date among numbers", "trades",
			[]string{"a.csv\n1700000000,100.5,1,buy\n§2024-01-02T00:00:00,100.5,1,buy\n"},
			"a written date",
			"one unit",
		},
		{
			"seconds for milliseconds", "bitstamp",
			[]string{"a\n§1430438404 order_book {\"bids\":[],\"asks\":[]}\n"},
			"1970-01-17T13:20:38", "ms",
		},
		{
			"milliseconds for nanoseconds", "binance",
			[]string{"a\n§1723161253937 {\"lastUpdateId\":1,\"bids\":[[\"1\",\"1\"]],\"asks\":[]}\n"},
			"1970-01-01T00:28:43", "ns",
		},
	})
	var numbers []acceptance
	for name, text := range map[string]string{
		"seconds": "1700000000", "seconds with decimals": "1700000000.000", "milliseconds": "1700000000000",
		"microseconds": "1700000000000000",
		"nanoseconds":  "1700000000000000000", "ISO": "2023-11-14T22:13:20Z",
		"ISO with a zone":  "2023-11-15T00:13:20+02:00",
		"ISO with a blank": "2023-11-14 22:13:20", "ISO without a zone": "2023-11-14T22:13:20.000",
	} {
		numbers = append(numbers, acceptance{name, "trades", []string{"a.csv\n" + text + ",100.5,0.25,buy\n"}, oneBuy})
	}
	mustAccept(t, append(numbers, []acceptance{
		{
			"milliseconds of the file's day", "trades",
			[]string{"a_20231114_trade.csv\n0,100.5,0.25,buy\n20231114,100.5,0.25,buy\n"},
			"2023-11-14T00:00:00.000Z 100.5 0.25 buy\n2023-11-14T05:37:11.114Z 100.5 0.25 buy",
		},
		{
			"a date and minutes", "trades",
			[]string{"a.csv\n20231114 00:00,100.5,0.25,buy\n"},
			"2023-11-14T00:00:00.000Z 100.5 0.25 buy",
		},
		{"Unix time in a file with a day", "trades", []string{"a_2023-11-14.csv\n1700000000,100.5,0.25,buy\n"}, oneBuy},
	}...))
}

func TestBarsWithoutVolumeAreRefused(t *testing.T) {
	t.Parallel()
	mustRefuse(t, []refusal{
		{
			"header", "trades",
			[]string{"a.csv\n§time,open,high,low,close\n1700000000,1,2,1,2\n"},
			"bars without a volume", `"volume"`,
		},
		{"five columns", "trades", []string{"a.csv\n§1700000000,1,2,1,2\n"}, "bars without a volume", `"volume"`},
		{
			"members", "trades",
			[]string{"a.jsonl\n§" + `{"time":1700000000,"open":1,"high":2,"low":1,"close":2}` + "\n"},
			"bars without a volume", `"volume"`,
		},
		{
			"null", "trades",
			[]string{"a.jsonl\n§" +
				`{"time":1700000000,"open":1,"high":2,"low":1,"close":2,"volume":null}` + "\n"},
			"bars without a volume",
			`"volume"`,
		},
		{
			"an empty cell", "trades",
			[]string{"a.csv\ntime,open,high,low,close,volume\n1700000000,1,2,1,2,§\n"},
			"a bar without a volume", "give the bar's volume",
		},
		{
			"a quote volume alone", "trades",
			[]string{"a.csv\n§time,open,high,low,close,quote_volume\n1700000000,1,2,1,2,5\n"},
			"bars without a volume",
			`"volume"`,
		},
		{
			"zero everywhere", "trades",
			[]string{"a.csv\n1700000000,1,1,1,1,0\n§1700000060,2,2,2,2,0\n"},
			"no bar has a volume", `"volume"`,
		},
		{
			"a price that moves without a volume", "trades",
			[]string{"a.csv\n1700000000,1,1,1,1,5\n1700000060,1,2,1,2,§0\n"},
			"volume 0", "volume",
		},
		{
			"open above high", "trades",
			[]string{"a.csv\n1700000000,10,§9,9,9,1\n"},
			`high "9" is below open "10" or close "9"`, "columns",
		},
		{
			"low above high", "trades",
			[]string{"a.csv\n1700000000,9,§8,9,9,1\n"},
			`high "8" is below low "9"`, "columns",
		},
		{
			"the same bar twice", "trades",
			[]string{"a.csv\n1700000000,1,1,1,1,5\n§1700000000,1,1,1,1,5\n"},
			"same time as the bar before", "remove",
		},
	})
	mustAccept(t, []acceptance{
		{"bars", "trades", []string{"a.csv\n1700000000,1,1,1,1,5\n"}, "2023-11-14T22:13:20.000Z 1 5 buy"},
		{
			"a flat bar without trades among others", "trades",
			[]string{"a.csv\n1700000000,1,1,1,1,5\n1700000060,1,1,1,1,0\n1700000120,1,1,1,1,3\n"},
			"2023-11-14T22:13:20.000Z 1 5 buy\n2023-11-14T22:15:20.000Z 1 3 buy",
		},
	})
}
