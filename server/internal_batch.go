package server

import (
	"fmt"

	"tickhive/engine"
	"tickhive/internal/refuse"
)

// maxStampNs bounds `at`: the year 2200, far below the end of int64 nanoseconds.
const maxStampNs = 7_258_118_400 * int64(1e9)

// placeBatch serves POST /orders/batch. It checks the shape of every command before the engine
// applies the first one.
func (s *Internal) placeBatch(c *Ctx) *refuse.Refusal {
	b := s.take()
	defer s.give(b)
	var berr *bodyError
	b.reader.reset(c.PostBody())
	if b.decoded, berr = b.reader.decodeBatch(b.decoded); berr != nil {
		return badBody(berr)
	}
	b.resize(len(b.decoded))
	if err := b.build(); err != nil {
		return err
	}
	if err := b.stamp(); err != nil {
		return err
	}
	if err := b.submit(); err != nil {
		if err.Field == "at" {
			err.Field = b.firstAt()
			err.Message = "The member " + err.Field + " must not be before the clock."
		}
		return err
	}
	out := append(b.rendered[:0], `{"results":[`...)
	for i := range b.answers {
		if i > 0 {
			out = append(out, ',')
		}
		out = b.answers[i].appendResult(out)
	}
	b.rendered = append(out, "]}"...)
	c.sendOwned(b.rendered)
	return nil
}

// sendOwned sends a copy of body, because the caller reuses the memory of body.
func (c *Ctx) sendOwned(body []byte) {
	c.Response.Header.SetCanonical(hdrCacheControl, valNoStore)
	c.Response.Header.SetContentTypeBytes(valJSON)
	c.Response.SetBody(body)
}

// build builds the commands. An unknown pair or order refuses only its own command.
func (b *orderBatch) build() *refuse.Refusal {
	root := b.s.opt.Board.Load()
	var lastCode string
	var last *engine.Instrument
	for i := range b.decoded {
		d, cmd, a := &b.decoded[i], &b.batch.Commands[i], &b.answers[i]
		if d.kind != batchPlace {
			v := root.View(d.order.Pair())
			if v == nil {
				*cmd = engine.Command{Kind: engine.Cancel, Pair: engine.ControlPair, Order: d.order}
				continue
			}
			a.ins = v.Instrument
			if d.kind == batchReplace {
				buildReplace(cmd, d.order, &d.replace, a.ins)
			} else {
				*cmd = engine.Command{Kind: engine.Cancel, Pair: a.ins.ID, Order: d.order, Flags: engine.FlagAllAccount}
			}
			continue
		}
		if string(d.place.pair) != lastCode {
			lastCode, last = string(d.place.pair), b.s.instrument(d.place.pair)
		}
		a.ins, a.request = last, &d.place
		account, err := b.s.account(d.place.account)
		if err != nil {
			err.Field = fmt.Sprintf("commands[%d].place.accountId", i)
			return err
		}
		if last == nil {
			*cmd = engine.Command{Kind: engine.Place, Pair: engine.ControlPair, Account: account}
			continue
		}
		buildPlace(cmd, &d.place, last, account)
	}
	return nil
}

// stamp sets the times of the commands if the request has any. A command without a time gets
// the time of the command before it; the first one gets the clock's time.
func (b *orderBatch) stamp() *refuse.Refusal {
	for i := range b.decoded {
		if b.decoded[i].hasAt {
			b.batch.Stamped = true
			if !b.s.opt.Clock.Virtual() {
				field := fmt.Sprintf("commands[%d].at", i)
				return refuse.Param(field, "The member %s needs a virtual clock; this one is real.", field)
			}
			break
		}
	}
	if !b.batch.Stamped {
		return nil
	}
	last := b.s.opt.Clock.NowNs()
	for i := range b.decoded {
		d := &b.decoded[i]
		if d.hasAt {
			if d.at < last || d.at > maxStampNs {
				field := fmt.Sprintf("commands[%d].at", i)
				return refuse.Param(field, "The member %s must not go back in time nor beyond the year 2200.", field)
			}
			last = d.at
		}
		b.batch.Commands[i].TimeNs = last
	}
	return nil
}

func (b *orderBatch) firstAt() string {
	for i := range b.decoded {
		if b.decoded[i].hasAt {
			return fmt.Sprintf("commands[%d].at", i)
		}
	}
	return "commands"
}
