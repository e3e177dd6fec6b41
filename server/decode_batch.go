package server

import (
	"fmt"

	"tickhive/engine"
	"tickhive/internal/entry"
)

// maxOrderID keeps order ids exact in a JSON number.
const maxOrderID = 1<<53 - 1

// decodeBatch reads the body of POST /orders/batch into dst, whose memory it reuses.
func (r *bodyReader) decodeBatch(dst []entry.Command) ([]entry.Command, *bodyError) {
	dst = dst[:0]
	given := false
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			if string(key) != "commands" {
				r.unknown()
				continue
			}
			if r.null() {
				continue
			}
			given = true
			dst = r.readCommands(dst)
		}
	}
	r.require("commands", given)
	if err := r.finish(); err != nil {
		return dst, err
	}
	if len(dst) == 0 {
		return dst, &bodyError{"commands", fmt.Sprintf("The member commands must have 1 to %d elements.", MaxBatch)}
	}
	return dst, nil
}

func (r *bodyReader) readCommands(dst []entry.Command) []entry.Command {
	if !r.array() {
		return dst
	}
	for r.element() {
		if len(dst) == MaxBatch {
			r.err = &bodyError{"commands", fmt.Sprintf("The member commands must have 1 to %d elements.", MaxBatch)}
			return dst
		}
		if len(dst) < cap(dst) {
			dst = dst[:len(dst)+1]
		} else {
			dst = append(dst, entry.Command{})
		}
		r.readCommand(&dst[len(dst)-1])
	}
	return dst
}

func (r *bodyReader) readCommand(c *entry.Command) {
	*c = entry.Command{}
	wrong := len(r.wrong)
	if !r.object() {
		return
	}
	for key, ok := r.member(); ok; key, ok = r.member() {
		switch string(key) {
		case "place":
			if r.pick(c, entry.PlaceOrder) {
				r.readOrder(&c.Place)
			}
		case "cancel":
			if r.pick(c, entry.CancelOrder) {
				r.readCancel(c)
			}
		case "replace":
			if r.pick(c, entry.ReplaceOrder) {
				r.readReplace(c)
			}
		case "at":
			c.AtNs, c.HasAt = r.integer(0, 1<<63-1)
		default:
			r.unknown()
		}
	}
	if r.err == nil && c.Kind == entry.None && len(r.wrong) == wrong {
		r.bad("must have one of place, cancel and replace.")
	}
}

// pick sets the kind of the command. null counts as missing; a second kind is refused.
func (r *bodyReader) pick(c *entry.Command, kind entry.Kind) bool {
	if r.null() || r.err != nil {
		return false
	}
	if c.Kind != entry.None {
		r.fail("stands beside another: a command has one of place, cancel and replace.")
		return false
	}
	c.Kind = kind
	return true
}

func (r *bodyReader) readCancel(c *entry.Command) {
	given := false
	if !r.object() {
		return
	}
	for key, ok := r.member(); ok; key, ok = r.member() {
		if string(key) != "orderId" {
			r.unknown()
			continue
		}
		c.Order, given = r.orderID()
	}
	r.require("orderId", given)
}

func (r *bodyReader) readReplace(c *entry.Command) {
	given := false
	if !r.object() {
		return
	}
	for key, ok := r.member(); ok; key, ok = r.member() {
		switch string(key) {
		case "orderId":
			c.Order, given = r.orderID()
		case "price":
			c.Replace.Price = r.decimal()
		case "amount":
			c.Replace.Amount = r.decimal()
		default:
			r.unknown()
		}
	}
	r.require("orderId", given)
}

func (r *bodyReader) orderID() (engine.OrderID, bool) {
	v, given := r.integer(0, maxOrderID)
	return engine.OrderID(v), given
}
