package format

import (
	"strings"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/sim/replay/format/decimal"
	"tickhive/sim/replay/format/input"
)

// trade reads a row as a trade.
func (r *tradeRows) trade(rec *Record) error {
	f := &r.fields.first
	rec.Kind, rec.At = Trade, r.in.Here(f[colPrice].at)
	price, err := input.Positive("price", f[colPrice].text)
	if err != nil {
		return input.Locate(f[colPrice].at, err)
	}
	amount, err := input.Positive("amount", f[colAmount].text)
	if err != nil {
		return input.Locate(f[colAmount].at, err)
	}
	if rec.Price, err = r.s.Price.units(price, rec.At); err != nil {
		return err
	}
	if rec.Amount, err = r.s.Amount.units(amount, r.in.Here(f[colAmount].at)); err != nil {
		return err
	}
	if rec.Side, rec.Sided, err = readSide(&f[colSide]); err != nil {
		return err
	}
	if r.maker && rec.Sided {
		rec.Side = rec.Side.Opposite()
	}
	if !f[colMaker].set {
		return nil
	}
	side, ok, err := readMaker(&f[colMaker])
	if err == nil && ok && rec.Sided && side != rec.Side {
		err = input.FlawAt(f[colMaker].at, "remove one of the two, so that the side is the taker's",
			"%s %s and %s %s contradict each other",
			f[colSide].name, f[colSide].text, f[colMaker].name, f[colMaker].text)
	}
	if ok && !rec.Sided {
		rec.Side, rec.Sided = side, true
	}
	return err
}

// readSide reads the taker's side.
func readSide(v *field) (side engine.Side, ok bool, err error) {
	switch strings.ToLower(string(v.text)) {
	case "", "unknown", "none", "n", "null", "limit", "market":
		return 0, false, nil
	case "buy", "b", "true":
		return engine.Buy, true, nil
	case "sell", "s", "a", "false":
		return engine.Sell, true, nil
	case "bid", "ask":
		return 0, false, input.FlawAt(v.at, "give a file of trades whose side is the taker's, buy or sell",
			"side %q is a side of an order book", input.Clip(v.text))
	}
	return 0, false, input.FlawAt(v.at, remedySide, "side %q is not buy or sell",
		input.Clip(v.text))
}

// readMaker reads whether the buyer was the maker and returns the taker's side.
func readMaker(v *field) (side engine.Side, ok bool, err error) {
	switch strings.ToLower(string(v.text)) {
	case "":
		return 0, false, nil
	case "true", "1":
		return engine.Sell, true, nil
	case "false", "0":
		return engine.Buy, true, nil
	}
	return 0, false, input.FlawAt(v.at, remedyMaker, "is_buyer_maker %q is not true or false",
		input.Clip(v.text))
}

// bar reads a row as a bar.
func (r *tradeRows) bar(rec *Record) error {
	f := &r.fields.first
	at := f[colOpen].at
	rec.Kind, rec.At, rec.Bar.Trades = Bar, r.in.Here(at), -1
	var prices [4]decimal.Decimal
	var err error
	for i, c := range []column{colOpen, colHigh, colLow, colClose} {
		if prices[i], err = input.Positive(columnNames[c][0], f[c].text); err != nil {
			return input.Locate(f[c].at, err)
		}
	}
	v := &f[colAmount]
	if len(v.text) == 0 {
		return input.FlawAt(v.at, remedyVolume, "bars without a volume: it is empty here")
	}
	volume, err := input.NotNegative("volume", v.text)
	if err != nil {
		return input.Locate(v.at, err)
	}
	if err := r.s.prices(rec, prices, volume, r.in.Here(v.at)); err != nil {
		return err
	}
	switch open, high, low, last := prices[0].V, prices[1].V, prices[2].V, prices[3].V; {
	case low.Cmp(open) > 0 || low.Cmp(last) > 0 || high.Cmp(open) < 0 || high.Cmp(last) < 0:
		return input.FlawAt(at, "check the order of the columns: time,open,high,low,close,volume",
			"open and close are not between low and high")
	case volume.V.Sign() == 0 && low != high:
		return input.FlawAt(v.at, "give the bar's volume, or remove the bar", "a price that moves with a volume 0")
	}
	if volume.V.Sign() > 0 {
		r.s.Amount.takeShared(volume, tradesOf(&prices), r.in.Here(v.at))
	}
	return nil
}

// tradesOf returns the number of trades that Path makes of a bar, for a bar whose digits are not known yet.
func tradesOf(p *[4]decimal.Decimal) int64 {
	open, near, far, last := p[0].V, p[1].V, p[2].V, p[3].V
	if open.Sub(far).Cmp(near.Sub(open)) < 0 {
		near, far = far, near
	}
	n := int64(1)
	for _, step := range [][2]fixed.I128{{open, near}, {near, far}, {far, last}} {
		if step[0] != step[1] {
			n++
		}
	}
	return n
}
