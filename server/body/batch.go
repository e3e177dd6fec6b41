package body

import (
	"fmt"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// MaxOrderID is the largest order id that a JSON number (a float64) holds exactly.
const MaxOrderID = 1<<53 - 1

var orderIDField = edge.Field{Name: "orderId", Kind: edge.KindInt64, Required: true, Range: []int64{0, MaxOrderID}}

// BatchMembers describes the body of POST /orders/batch.
var BatchMembers = []edge.Field{{
	Name: "commands", Kind: edge.KindArray, Required: true, Range: []int64{1, MaxBatch},
	Element: &edge.Field{Kind: edge.KindObject, Fields: []edge.Field{
		{Name: "place", Kind: edge.KindObject, Schema: "PlaceOrder", Fields: OrderMembers},
		{Name: "cancel", Kind: edge.KindObject, Fields: []edge.Field{orderIDField}},
		{Name: "replace", Kind: edge.KindObject, Fields: append([]edge.Field{orderIDField}, ReplaceForm.fields...)},
		{Name: "at", Kind: edge.KindInt64, Range: []int64{0}},
	}},
}}

// batchForm holds the differences between the two batch routes.
type batchForm struct {
	most    int // commands
	place   func(r *Reader, p *entry.Place)
	orderID func(r *Reader) (engine.OrderID, bool)
	at      bool // a command may have a time
}

var (
	internalBatch = batchForm{MaxBatch, readOrder, orderID, true}
	tradingBatch  = batchForm{MaxTradingBatch, readTradingOrder, textOrderID, false}
)

// DecodeBatch reads the body of POST /orders/batch into dst, whose memory it reuses.
func DecodeBatch(text []byte, dst []entry.Command) ([]entry.Command, *refuse.Refusal) {
	return pooledBatch(text, dst, &internalBatch)
}

func pooledBatch(text []byte, dst []entry.Command, f *batchForm) ([]entry.Command, *refuse.Refusal) {
	refusal := decode(text, func(r *Reader) (err *Error) {
		dst, err = decodeBatch(r, dst, f)
		return err
	})
	return dst, refusal
}

func decodeBatch(r *Reader, dst []entry.Command, f *batchForm) ([]entry.Command, *Error) {
	dst = dst[:0]
	given := false
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			if string(key) != "commands" {
				r.Unknown()
				continue
			}
			if r.Null() {
				continue
			}
			given = true
			dst = readCommands(r, dst, f)
		}
	}
	r.Require("commands", given)
	if err := r.Finish(); err != nil {
		return dst, err
	}
	if len(dst) == 0 {
		return dst, f.size()
	}
	return dst, nil
}

// size returns the error of a batch without commands or with too many.
func (f *batchForm) size() *Error {
	return &Error{"commands", fmt.Sprintf("The member commands must have 1 to %d elements.", f.most)}
}

func readCommands(r *Reader, dst []entry.Command, f *batchForm) []entry.Command {
	if !r.Array() {
		return dst
	}
	for r.Element() {
		if len(dst) == f.most {
			r.Err = f.size()
			return dst
		}
		if len(dst) < cap(dst) {
			dst = dst[:len(dst)+1]
		} else {
			dst = append(dst, entry.Command{})
		}
		readCommand(r, &dst[len(dst)-1], f)
	}
	return dst
}

func readCommand(r *Reader, c *entry.Command, f *batchForm) {
	*c = entry.Command{}
	wrong := len(r.Wrong)
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		switch string(key) {
		case "place":
			if pick(r, c, entry.PlaceOrder) {
				f.place(r, &c.Place)
			}
		case "cancel":
			if pick(r, c, entry.CancelOrder) {
				readCancel(r, c, f)
			}
		case "replace":
			if pick(r, c, entry.ReplaceOrder) {
				readReplace(r, c, f)
			}
		case "at":
			if !f.at {
				r.Unknown()
				continue
			}
			c.AtNs, c.HasAt = r.Integer(0, 1<<63-1)
		default:
			r.Unknown()
		}
	}
	if r.Err == nil && c.Kind == entry.None && len(r.Wrong) == wrong {
		r.Bad("must have one of place, cancel and replace.")
	}
}

// pick sets the kind of the command. It treats null as missing and refuses a second kind.
func pick(r *Reader, c *entry.Command, kind entry.Kind) bool {
	if r.Null() || r.Err != nil {
		return false
	}
	if c.Kind != entry.None {
		r.Fail("must not be given with another: a command has one of place, cancel and replace.")
		return false
	}
	c.Kind = kind
	return true
}

func readCancel(r *Reader, c *entry.Command, f *batchForm) {
	given := false
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		if string(key) != "orderId" {
			r.Unknown()
			continue
		}
		c.Order, given = f.orderID(r)
	}
	r.Require("orderId", given)
}

func readReplace(r *Reader, c *entry.Command, f *batchForm) {
	given := false
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		switch string(key) {
		case "orderId":
			c.Order, given = f.orderID(r)
		case "price":
			c.Replace.Price = r.Decimal()
		case "amount":
			c.Replace.Amount = r.Decimal()
		default:
			r.Unknown()
		}
	}
	r.Require("orderId", given)
}

func orderID(r *Reader) (engine.OrderID, bool) {
	v, given := r.Integer(0, MaxOrderID)
	return engine.OrderID(v), given
}
