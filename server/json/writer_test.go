package json_test

import (
	stdjson "encoding/json"
	"strconv"
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/server/json"
)

// same fails unless the writer's text is want, which must be JSON.
func same(t *testing.T, w *json.Writer, want string) {
	t.Helper()
	if got := string(w.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !stdjson.Valid([]byte(want)) {
		t.Errorf("the wanted text is no JSON: %s", want)
	}
}

func TestEveryKindOfValue(t *testing.T) {
	text := "a \"quoted\" text"
	for name, c := range map[string]struct {
		write func(w *json.Writer)
		want  string
	}{
		"null":                   {func(w *json.Writer) { w.Null() }, `null`},
		"true":                   {func(w *json.Writer) { w.Bool(true) }, `true`},
		"false":                  {func(w *json.Writer) { w.Bool(false) }, `false`},
		"a bool or null":         {func(w *json.Writer) { w.BoolOrNull(true, true) }, `true`},
		"a bool not given":       {func(w *json.Writer) { w.BoolOrNull(true, false) }, `null`},
		"an average or null":     {func(w *json.Writer) { w.AverageOrNull(fixed.U128{Lo: 2}, 1, 2) }, `0.02000000`},
		"the average of nothing": {func(w *json.Writer) { w.AverageOrNull(fixed.U128{}, 0, 2) }, `null`},
		"below zero":             {func(w *json.Writer) { w.Int(-12) }, `-12`},
		"the largest number":     {func(w *json.Writer) { w.Uint(1<<64 - 1) }, `18446744073709551615`},
		"an id":                  {func(w *json.Writer) { w.ID(1<<64 - 1) }, `"18446744073709551615"`},
		"a word":                 {func(w *json.Writer) { w.Word("BTC_USDT") }, `"BTC_USDT"`},
		"words":                  {func(w *json.Writer) { w.Words("a", "b") }, `["a","b"]`},
		"a text":                 {func(w *json.Writer) { w.Text(text) }, `"a \"quoted\" text"`},
		"a backslash":            {func(w *json.Writer) { w.Text(`a\b`) }, `"a\\b"`},
		"control characters":     {func(w *json.Writer) { w.Text("\n\x00\x7f") }, `"\u000a\u0000\u007f"`},
		"beyond ASCII":           {func(w *json.Writer) { w.Text("Ж<&>") }, `"Ж<&>"`},
		"no UTF-8":               {func(w *json.Writer) { w.Text("a\xffb") }, "\"a\ufffdb\""},
		"a text or null":         {func(w *json.Writer) { w.TextOrNull("a") }, `"a"`},
		"an empty text or null":  {func(w *json.Writer) { w.TextOrNull("") }, `null`},
		"the text at":            {func(w *json.Writer) { w.TextAt(&text) }, `"a \"quoted\" text"`},
		"no text at":             {func(w *json.Writer) { w.TextAt(nil) }, `null`},
		"ready JSON":             {func(w *json.Writer) { w.Raw([]byte(`{"a":[]}`)) }, `{"a":[]}`},
		"units":                  {func(w *json.Writer) { w.Units(-100, 2) }, `-1.00`},
		"units without digits":   {func(w *json.Writer) { w.Units(7, 0) }, `7.0`},
		"given units":            {func(w *json.Writer) { w.UnitsOrNull(5, 1, true) }, `0.5`},
		"units not given":        {func(w *json.Writer) { w.UnitsOrNull(5, 1, false) }, `null`},
		"a sum":                  {func(w *json.Writer) { w.Sum(fixed.U128{Hi: 1}, 4) }, `1844674407370955.1616`},
		"a given sum":            {func(w *json.Writer) { w.SumOrNull(fixed.U128{Lo: 5}, 1, true) }, `0.5`},
		"a sum not given":        {func(w *json.Writer) { w.SumOrNull(fixed.U128{Lo: 5}, 1, false) }, `null`},
		"a sum below zero":       {func(w *json.Writer) { w.Signed(fixed.FromI64(-5), 2) }, `-0.05`},
		"an average, rounded half to even": {
			func(w *json.Writer) { w.Average(fixed.U128{Lo: 2}, fixed.U128{Lo: 3}, 0) }, `0.66666667`,
		},
		"a rate":                {func(w *json.Writer) { w.Rate(1500, 4) }, `0.15`},
		"the shortest decimal":  {func(w *json.Writer) { w.Shortest(fixed.FromI64(-30), 1) }, `-3.0`},
		"the shortest or null":  {func(w *json.Writer) { w.ShortestOrNull(fixed.FromI64(30), 1, true) }, `3.0`},
		"no shortest decimal":   {func(w *json.Writer) { w.ShortestOrNull(fixed.FromI64(30), 1, false) }, `null`},
		"a number or null":      {func(w *json.Writer) { w.IntOrNull(3, true) }, `3`},
		"a number not given":    {func(w *json.Writer) { w.IntOrNull(3, false) }, `null`},
		"money":                 {func(w *json.Writer) { w.Money(fixed.FromI64(1e17).Wide()) }, `0.1`},
		"a time":                {func(w *json.Writer) { w.ISO(1_999_999, 3) }, `"1970-01-01T00:00:00.001Z"`},
		"a time before 1970":    {func(w *json.Writer) { w.ISO(-1, 7) }, `"1969-12-31T23:59:59.9999999Z"`},
		"a time or null":        {func(w *json.Writer) { w.ISOOrNull(1e9, 3) }, `"1970-01-01T00:00:01.000Z"`},
		"the time zero or null": {func(w *json.Writer) { w.ISOOrNull(0, 3) }, `null`},
		"a second":              {func(w *json.Writer) { w.Second(86_400) }, `"1970-01-02T00:00:00"`},
		"ms":                    {func(w *json.Writer) { w.Ms(1_999_999) }, `1`},
		"ms before 1970":        {func(w *json.Writer) { w.Ms(-1) }, `-1`},
		"a UUID": {
			func(w *json.Writer) { w.UUID([16]byte{0: 0x0a, 6: 0x40, 15: 0xff}) },
			`"0a000000-0000-4000-0000-0000000000ff"`,
		},
		"an empty object": {func(w *json.Writer) { w.Object(); w.EndObject() }, `{}`},
		"an empty list":   {func(w *json.Writer) { w.List(); w.EndList() }, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			var alone, listed, member json.Writer
			c.write(&alone)
			same(t, &alone, c.want)

			listed.List()
			c.write(&listed)
			c.write(&listed)
			listed.EndList()
			same(t, &listed, "["+c.want+","+c.want+"]")

			member.Object()
			c.write(member.Name("a"))
			c.write(member.Name("b"))
			member.EndObject()
			same(t, &member, `{"a":`+c.want+`,"b":`+c.want+`}`)
		})
	}
}

func TestObjectsAndListsNest(t *testing.T) {
	w := json.Quoted(nil)
	w.Object()
	w.Name("levels").List()
	for _, price := range []int64{650, 640} {
		w.List()
		w.Units(price, 1)
		w.Units(10, 1)
		w.EndList()
	}
	w.EndList()
	w.Name("none").List()
	w.EndList()
	w.Name("inner").Object()
	w.Name("empty").Object()
	w.EndObject()
	w.EndObject()
	w.Name("last").Word("{[,")
	w.EndObject()
	same(t, &w, `{"levels":[["65.0","1.0"],["64.0","1.0"]],"none":[],"inner":{"empty":{}},"last":"{[,"}`)
}

// A text that ends in what the writer itself puts is left as it is.
func TestTheLastCharacterOfATextIsNoComma(t *testing.T) {
	for _, text := range []string{",", "{", "[", ":", `"`} {
		var w json.Writer
		w.List()
		w.Word("a")
		w.Text(text)
		w.EndList()
		var got []string
		if err := stdjson.Unmarshal(w.Bytes(), &got); err != nil || len(got) != 2 || got[1] != text {
			t.Errorf("%q became %s", text, w.Bytes())
		}
	}
}

// Rows that are rendered apart become one list, empty ones too.
func TestRowsFollowEachOther(t *testing.T) {
	row := func(b []byte, numbers ...int64) []byte {
		w := json.On(b)
		for _, v := range numbers {
			w.Int(v)
		}
		return w.Rows()
	}
	for _, c := range []struct {
		pieces [][]int64
		want   string
	}{
		{[][]int64{{1, 2}, {}, {3}}, "[1,2,3]"},
		{[][]int64{{}, {1}}, "[1]"},
		{[][]int64{{}, {}}, "[]"},
	} {
		var apart, behind json.Writer
		apart.List()
		behind.List()
		for _, piece := range c.pieces {
			apart.RawRows(row(nil, piece...))
			behind = json.On(row(behind.Rows(), piece...))
		}
		apart.EndList()
		behind.EndList()
		same(t, &apart, c.want)
		same(t, &behind, c.want)
	}
}

func TestDecimalsInQuotes(t *testing.T) {
	w := json.Quoted(nil)
	w.List()
	w.Units(650, 2)
	w.UnitsOrNull(650, 2, false)
	w.Sum(fixed.U128{Lo: 650}, 2)
	w.Signed(fixed.FromI64(-650), 2)
	w.Average(fixed.U128{Lo: 3}, fixed.U128{Lo: 2}, 1)
	w.Shortest(fixed.FromI64(650), 2)
	w.Rate(650, 2)
	w.Money(fixed.FromI64(1e17).Wide())
	w.Int(7)
	w.Uint(7)
	w.Bool(true)
	w.EndList()
	same(t, &w, `["6.50",null,"6.50","-6.50","0.15000000","6.5","6.5","0.1",7,7,true]`)
}

func TestWritingAllocatesNothing(t *testing.T) {
	buffer := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		w := json.On(buffer)
		writeRow(&w, &row)
	}); n != 0 {
		t.Errorf("a row takes %v allocations, want none", n)
	}
}

// orderRow has the figures of an order of docs/contract/trading.md#order-view.
type orderRow struct {
	id, timeNs, price, amount, open, filled int64
	client, pair, user, status              string
	total                                   fixed.U128
}

var row = orderRow{
	id: 4294967297, timeNs: 1_790_000_000_123_456_700, price: 6_500_000, amount: 150_000_000, open: 50_000_000,
	filled: 100_000_000, client: "grid-17", pair: "BTC_USDT", user: "5f0c3f1e-3b7a-4a57-9c1b-2d0f4e6a8b9c",
	status: "PartiallyExecuted", total: fixed.Mul64(6_500_000, 100_000_000),
}

func writeRow(w *json.Writer, r *orderRow) {
	w.Object()
	w.Name("id").ID(uint64(r.id))
	w.Name("clientOrderId").TextOrNull(r.client)
	w.Name("isMarket").Bool(false)
	w.Name("currencyPairCode").Word(r.pair)
	w.Name("isBid").Bool(true)
	w.Name("price").UnitsOrNull(r.price, 2, true)
	w.Name("initialAmount").UnitsOrNull(r.amount, 8, true)
	w.Name("amount").UnitsOrNull(r.open, 8, true)
	w.Name("decrementedAmount").UnitsOrNull(0, 8, true)
	w.Name("quoteAmount").SumOrNull(r.total, 10, true)
	w.Name("date").ISO(r.timeNs, 7)
	w.Name("userId").Word(r.user)
	w.Name("isCanceled").Bool(false)
	w.Name("status").Word(r.status)
	w.Name("type").Word("Limit")
	w.Name("timeInForce").Word("GTC")
	w.Name("postOnly").Bool(false)
	w.Name("selfTradePrevention").Word("CancelNewest")
	w.Name("stopPrice").UnitsOrNull(0, 2, false)
	w.Name("isTriggered").Null()
	w.Name("displayAmount").UnitsOrNull(0, 8, false)
	w.Name("initialQuoteAmount").Null()
	w.Name("filledAmount").Units(r.filled, 8)
	w.Name("filledQuoteAmount").Sum(r.total, 10)
	w.Name("averagePrice").AverageOrNull(r.total, r.filled, 2)
	w.Name("fee").Shortest(fixed.FromI64(r.filled), 18)
	w.Name("feeCurrencyCode").Word("BTC")
	w.Name("dateChanged").ISO(r.timeNs, 7)
	w.EndObject()
}

// appendRow writes the same by literals, as the reference of the benchmark.
func appendRow(b []byte, r *orderRow) []byte {
	b = strconv.AppendUint(append(b, `{"id":"`...), uint64(r.id), 10)
	b = json.AppendText(append(b, `","clientOrderId":`...), r.client)
	b = strconv.AppendBool(append(b, `,"isMarket":`...), false)
	b = append(append(b, `,"currencyPairCode":"`...), r.pair...)
	b = strconv.AppendBool(append(b, `","isBid":`...), true)
	b = fixed.AppendI64(append(b, `,"price":`...), r.price, 2)
	b = fixed.AppendI64(append(b, `,"initialAmount":`...), r.amount, 8)
	b = fixed.AppendI64(append(b, `,"amount":`...), r.open, 8)
	b = fixed.AppendI64(append(b, `,"decrementedAmount":`...), 0, 8)
	b = fixed.AppendU128(append(b, `,"quoteAmount":`...), r.total, 10)
	b = json.AppendISO(append(b, `,"date":"`...), r.timeNs, 7)
	b = append(append(b, `","userId":"`...), r.user...)
	b = strconv.AppendBool(append(b, `","isCanceled":`...), false)
	b = append(append(b, `,"status":"`...), r.status...)
	b = append(append(b, `","type":"`...), "Limit"...)
	b = append(append(b, `","timeInForce":"`...), "GTC"...)
	b = strconv.AppendBool(append(b, `","postOnly":`...), false)
	b = append(append(b, `,"selfTradePrevention":"`...), "CancelNewest"...)
	b = append(b, `","stopPrice":null,"isTriggered":null,"displayAmount":null,"initialQuoteAmount":null`...)
	b = fixed.AppendI64(append(b, `,"filledAmount":`...), r.filled, 8)
	b = fixed.AppendU128(append(b, `,"filledQuoteAmount":`...), r.total, 10)
	b = fixed.AppendAverageHalfEven(append(b, `,"averagePrice":`...), r.total, fixed.FromU64(uint64(r.filled)), 2)
	b = fixed.AppendShortest(append(b, `,"fee":`...), fixed.FromI64(r.filled), 18)
	b = append(append(append(b, `,"feeCurrencyCode":"`...), "BTC"...), '"')
	return append(json.AppendISO(append(b, `,"dateChanged":"`...), r.timeNs, 7), `"}`...)
}

// BenchmarkOrder writes a row of 28 members: with the writer, and with appends of literals.
func BenchmarkOrder(b *testing.B) {
	buffer := make([]byte, 0, 1024)
	b.Run("writer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w := json.On(buffer)
			writeRow(&w, &row)
		}
	})
	b.Run("literals", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			appendRow(buffer, &row)
		}
	})
}

func TestTheReferenceOfTheBenchmarkWritesTheSame(t *testing.T) {
	var w json.Writer
	writeRow(&w, &row)
	same(t, &w, string(appendRow(nil, &row)))
}
