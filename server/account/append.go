package account

import (
	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/marketdata"
	"tickhive/server/json"
)

// What private_feed.go appends, until it writes with a json.Writer.

func appendUserOrder(b []byte, r *marketdata.OrderRecord, ins *engine.Instrument, userID string) []byte {
	w := json.On(b)
	writeOrder(&w, r, ins, userID)
	return w.Bytes()
}

func appendFill(b []byte, f *marketdata.Fill, ins *engine.Instrument) []byte {
	w := json.On(b)
	writeFill(&w, f, ins)
	return w.Bytes()
}

func appendBalance(b []byte, row *accounts.BalanceView) []byte {
	w := json.On(b)
	w.Object()
	writeBalance(&w, row)
	w.EndObject()
	return w.Bytes()
}

func appendList[T any](dst []byte, list []T, f func(dst []byte, v *T) []byte) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f(dst, &list[i])
	}
	return append(dst, ']')
}
