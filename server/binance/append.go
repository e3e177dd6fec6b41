package binance

import (
	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/json"
)

// What the files of the sockets append, until they write with a json.Writer.

func trimComma(b []byte) []byte {
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return b
}

func appendQuoted(b []byte, name string, v int64, digits int) []byte {
	w := json.Quoted(b)
	w.Name(name).Units(v, digits)
	return w.Bytes()
}

func appendQuoted128(b []byte, name string, v fixed.U128, digits int) []byte {
	w := json.Quoted(b)
	w.Name(name).Sum(v, digits)
	return w.Bytes()
}

// AppendLevel appends a level.
func AppendLevel(b []byte, in *engine.Instrument, l marketdata.Level) []byte {
	w := json.Quoted(b)
	writeLevel(&w, in, l)
	return w.Bytes()
}

// AppendAggregate appends an aggregate.
func AppendAggregate(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte {
	w := json.Quoted(b)
	writeAggregate(&w, in, id, t)
	return w.Bytes()
}

// AppendBalance appends a balance.
func AppendBalance(b []byte, asset, free, locked string, row *accounts.BalanceView) []byte {
	w := json.Quoted(b)
	w.Object()
	writeBalance(&w, asset, free, locked, row)
	w.EndObject()
	return w.Bytes()
}

func appendMoney(b []byte, v fixed.I192, digits int) []byte {
	b = fixed.AppendI192(b, v, fixed.Scale)
	return b[:len(b)-fixed.Scale+max(digits, 1)]
}

func appendCommission(b []byte, in *engine.Instrument, fill *marketdata.Fill, amount, asset string) []byte {
	w := json.Quoted(b)
	writeCommission(&w, in, fill, amount, asset)
	return w.Bytes()
}

func (f *window) appendAverage(b []byte, name string, in *engine.Instrument) []byte {
	w := json.Quoted(b)
	f.writeAverage(w.Name(name), in)
	return w.Bytes()
}
