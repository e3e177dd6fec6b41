package main

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	serverjson "github.com/tickhive/tickhive/server/json"
)

// decimalScale is the number of fractional digits of a decimal in a Parquet file: no value of the exchange has more.
const decimalScale = 18

// decimalBytes holds the 38 digits of a decimal, of which 20 are before the point.
const decimalBytes = 16

// The columns that are no decimals. Every other column is one.
var (
	timeColumns = []string{"date", "dateChanged", "dealDateUtc", "trailingTime"}
	boolColumns = []string{
		"expireUnfilled", "isBid", "isBuy", "isCanceled", "isMaker", "isMarket", "isTriggered", "isUserBuyer",
		"postOnly", "strictTrigger",
	}
	intColumns  = []string{"preventedMatchId", "strategyId", "strategyType", "tradeId", "trailingDelta"}
	textColumns = []string{
		"base_currency", "clientOrderId", "currencyCode", "currencyPairCode", "endReason", "feeCurrencyCode", "id",
		"listId", "orderId", "quote_currency", "selfTradePrevention", "status", "timeInForce", "trading_pairs", "type",
		"userId",
	}
)

// parquetFile writes rows as Parquet: decimals exactly, times in nanoseconds.
type parquetFile struct {
	table *serverjson.Table
	to    *parquet.GenericWriter[any]
	at    []int // index of each column in the file, which has them in alphabetical order
}

func newParquetFile(to io.Writer, t *serverjson.Table) *parquetFile {
	group := parquet.Group{}
	for _, name := range t.Columns {
		group[name] = parquet.Optional(parquetNode(name))
	}
	f := &parquetFile{table: t}
	names := slices.Sorted(slices.Values(t.Columns))
	for _, name := range t.Columns {
		f.at = append(f.at, slices.Index(names, name))
	}
	f.to = parquet.NewGenericWriter[any](to, parquet.NewSchema("rows", group), parquet.Compression(&parquet.Zstd))
	return f
}

func parquetNode(name string) parquet.Node {
	switch {
	case slices.Contains(timeColumns, name):
		return parquet.Timestamp(parquet.Nanosecond)
	case slices.Contains(boolColumns, name):
		return parquet.Leaf(parquet.BooleanType)
	case slices.Contains(intColumns, name):
		return parquet.Int(64)
	case slices.Contains(textColumns, name):
		return parquet.String()
	}
	return parquet.Decimal(decimalScale, 38, parquet.FixedLenByteArrayType(decimalBytes))
}

func (f *parquetFile) row(cells []serverjson.Cell) error {
	row := make(parquet.Row, len(cells))
	for i, c := range cells {
		v, err := parquetValue(f.table.Columns[i], string(c.Text), c.Text == nil)
		if err != nil {
			return fmt.Errorf("export: %s %q: %w", f.table.Columns[i], c.Text, err)
		}
		defined := 1
		if v.IsNull() {
			defined = 0
		}
		row[f.at[i]] = v.Level(0, defined, f.at[i])
	}
	_, err := f.to.WriteRows([]parquet.Row{row})
	return err
}

func parquetValue(name, text string, absent bool) (v parquet.Value, err error) {
	switch {
	case absent:
		return parquet.NullValue(), nil
	case slices.Contains(timeColumns, name):
		var t time.Time
		for _, form := range []string{"2006-01-02T15:04:05.9999999Z", "2006-01-02T15:04:05"} {
			if t, err = time.Parse(form, text); err == nil {
				return parquet.Int64Value(t.UnixNano()), nil
			}
		}
		return v, err
	case slices.Contains(boolColumns, name):
		return parquet.BooleanValue(text == "true"), nil
	case slices.Contains(intColumns, name):
		n, err := strconv.ParseInt(text, 10, 64)
		return parquet.Int64Value(n), err
	case slices.Contains(textColumns, name):
		return parquet.ByteArrayValue([]byte(text)), nil
	}
	return parquetDecimal(text)
}

// parquetDecimal returns a decimal in units of 10^-decimalScale, big-endian in two's complement.
func parquetDecimal(text string) (v parquet.Value, err error) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", max(0, decimalScale-len(fraction))), 10)
	if !ok || len(fraction) > decimalScale || n.BitLen() > 8*decimalBytes-2 {
		return v, fmt.Errorf("is no decimal of at most 20 digits and %d behind the point", decimalScale)
	}
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
	}
	return parquet.FixedLenByteArrayValue(n.FillBytes(make([]byte, decimalBytes))), nil
}

func (f *parquetFile) close() error { return f.to.Close() }
