package entry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/refuse"
)

// MaxStampNs bounds the times of commands: the year 2200, far below the end of int64 nanoseconds.
const MaxStampNs = 7_258_118_400 * int64(1e9)

// Request holds the commands of one request and their outcomes. It is pooled: Acquire it, fill
// Commands, submit, read Answers, Release it.
//
// Owner: one request at a time; the slices are reused.
type Request struct {
	Commands []Command
	Answers  []Answer // one for each command, after Submit or SubmitOne

	// Records makes the answers of a signed request hold new orders too, which costs a copy of their fills. An
	// operator's answers always do. Acquire sets it to false.
	Records bool

	// Together makes Submit carry out the commands with no command of another request between them. They are of one
	// pair, and all but the last are cancels. Acquire sets it to false.
	Together bool

	e      *Entry
	caller engine.AccountID // 0: an operator
	batch  sequencer.Batch  // its commands are those of the engine, one for each of Commands
}

func newRequest(e *Entry) *Request {
	r := &Request{e: e}
	r.batch.Collect = func(i int, cmd *engine.Command, events []engine.Event) {
		r.Answers[i].collect(e.opt.History, r.caller, r.Records, cmd, events)
	}
	return r
}

// Acquire returns an empty request. caller is the account of a signed request, which reaches its
// own orders only; 0 is an operator, who names the account of each new order and may change
// every order.
func (e *Entry) Acquire(caller engine.AccountID) *Request {
	r := e.requests.Get().(*Request)
	r.caller, r.Records, r.Together = caller, false, false
	return r
}

// Release drops the request's references and returns it to the pool. Its answers are invalid afterwards.
func (e *Entry) Release(r *Request) {
	clear(r.Commands)
	clear(r.Answers)
	clear(r.batch.Commands)
	r.Commands, r.Answers, r.batch.Commands = r.Commands[:0], r.Answers[:0], r.batch.Commands[:0]
	r.batch.Stamped, r.batch.Together = false, false
	e.requests.Put(r)
}

// One returns the only command of the request; the caller sets its members.
func (r *Request) One() *Command {
	r.Commands = append(r.Commands[:0], Command{})
	return &r.Commands[0]
}

// SubmitOne carries out the request's only command. It returns a refusal if the pair is unknown or the engine refuses
// the command. The one exception is an operator's new order that the engine refuses: SubmitOne returns nil, and the
// order's answer has the reason.
func (r *Request) SubmitOne() *refuse.Refusal {
	if code, _, places := r.Commands[0].places(); places && r.e.Instrument(code) == nil {
		return refuse.Missing("currencyPairCode", "There is no pair %s.", code)
	}
	if refusal := r.build(); refusal != nil {
		refusal.Field = refusal.Field[strings.LastIndex(refusal.Field, ".")+1:] // not of a batch
		return refusal
	}
	if refusal := r.run(); refusal != nil {
		return refusal
	}
	a, cmd := &r.Answers[0], &r.batch.Commands[0]
	if a.Reason == engine.NotRejected || r.caller == 0 && cmd.Kind == engine.Place {
		return nil
	}
	if a.faulty == 0 {
		return r.e.refusalOf(a.Reason, cmd, r.caller)
	}
	refusal := r.e.refusalOf(a.Reason, &cmd.List.Orders[a.faulty-1], r.caller)
	refusal.Field = strings.TrimSuffix(fmt.Sprintf("orders[%d].%s", a.faulty-1, refusal.Field), ".")
	return refusal
}

// places returns the code of the pair and the account of a new order or list.
func (c *Command) places() (pair []byte, account [16]byte, places bool) {
	switch c.Kind {
	case PlaceOrder:
		return c.Place.Pair, c.Place.Account, true
	case PlaceOrderList:
		return c.List.Pair, c.List.Account, true
	case None, CancelOrder, ReplaceOrder:
	}
	return nil, account, false
}

// Submit carries out all commands, in order. An unknown pair or order, and an order that the
// engine refuses, refuses only its own command, whose answer has the reason.
func (r *Request) Submit() *refuse.Refusal {
	if refusal := r.build(); refusal != nil {
		return refusal
	}
	if refusal := r.stamp(); refusal != nil {
		return refusal
	}
	if r.batch.Together = r.Together; r.Together {
		for i := range r.batch.Commands {
			if r.batch.Commands[i].Pair != r.batch.Commands[0].Pair {
				return refuse.Param("currencyPairCode",
					"The new order must be of the pair of the order that it follows.")
			}
		}
	}
	refusal := r.run()
	if refusal != nil && refusal.Field == "at" {
		refusal.Field = r.firstAt()
		refusal.Message = "The member " + refusal.Field + " must not be before the clock."
	}
	return refusal
}

// run submits the built commands.
func (r *Request) run() *refuse.Refusal {
	err := r.e.opt.Exchange.Submit(&r.batch)
	if err == nil {
		return nil
	}
	what, then := r.unknown()
	refusal := Unconfirmed(err, what, then)
	if n := r.batch.AppliedCount(); n > 0 && refusal.Code != refuse.OutcomeUnknown {
		refusal.Message = fmt.Sprintf("The first %d commands were applied, the others were not: %s", n, refusal.Message)
	}
	return refusal
}

// unknown returns the texts for a request whose outcome is unknown: what may have been recorded, and what the client
// should do then.
func (r *Request) unknown() (what, then string) {
	const same = "repeat the request with the same clientOrderId"
	switch cmd := &r.batch.Commands[0]; {
	case len(r.batch.Commands) > 1:
		return "The commands, or some of them,", same + " in each order that has one, " +
			"which is never placed twice; look at the others before you repeat them."
	case cmd.Kind == engine.PlaceList && cmd.Client.Named():
		return "The order list", "repeat the request with the same clientOrderId: a list that was recorded is " +
			"answered and not placed again."
	case cmd.Kind == engine.PlaceList:
		return "The order list", "look for it among the order lists before you place it again; " +
			"a list with a clientOrderId can be repeated safely."
	case cmd.Kind != engine.Place:
		return "The change", "look at the order before you repeat the request."
	case cmd.Client.Named():
		return "The order", same + ": an order that was recorded is answered and not placed again."
	}
	return "The order", "look for it among the orders and deals before you place it again; " +
		"an order with a clientOrderId can be repeated safely."
}

// build converts the request's commands to the engine's commands.
func (r *Request) build() *refuse.Refusal {
	r.Answers = slices.Grow(r.Answers[:0], len(r.Commands))[:len(r.Commands)]
	r.batch.Commands = slices.Grow(r.batch.Commands[:0], len(r.Commands))[:len(r.Commands)]
	root := r.e.opt.Board.Load()
	var lastCode string
	var last *engine.Instrument
	for i := range r.Commands {
		c, cmd, a := &r.Commands[i], &r.batch.Commands[i], &r.Answers[i]
		code, id, places := c.places()
		if !places {
			*cmd = engine.Command{Kind: engine.Cancel, Pair: engine.ControlPair, Order: c.Order, Account: r.caller}
			if v := root.View(c.Order.Pair()); v != nil {
				a.Instrument = v.Instrument
				r.buildChange(cmd, c, v.Instrument)
			}
			continue
		}
		if string(code) != lastCode {
			lastCode, last = string(code), r.e.Instrument(code)
		}
		a.Instrument = last
		account, refusal := r.caller, (*refuse.Refusal)(nil)
		if account == 0 {
			if account, refusal = r.e.account(id); refusal != nil {
				refusal.Field = fmt.Sprintf("commands[%d].%s.accountId", i, placeMembers[c.Kind])
				return refusal
			}
		}
		switch {
		case last == nil:
			*cmd = engine.Command{Kind: engine.Place, Pair: engine.ControlPair, Account: account}
		case c.Kind == PlaceOrderList:
			buildList(cmd, &c.List, last, account)
			if order, what := cmd.List.Fault(); what != "" {
				field := fmt.Sprintf("commands[%d].%s.orders", i, placeMembers[c.Kind])
				if order > 0 {
					field += fmt.Sprintf("[%d]", order-1)
				}
				return refuse.Param(field, "%s", what)
			}
		default:
			buildPlace(cmd, &c.Place, last, account)
		}
		if c.Kind == PlaceOrder {
			a.Place = &c.Place
		}
	}
	return nil
}

// placeMembers names the members of a batch that place.
var placeMembers = map[Kind]string{PlaceOrder: "place", PlaceOrderList: "placeList"}

// buildChange fills cmd from a cancel or replace of an order of the pair.
func (r *Request) buildChange(cmd *engine.Command, c *Command, ins *engine.Instrument) {
	cmd.Pair = ins.ID
	if r.caller == 0 {
		cmd.Flags = engine.FlagAllAccount
	}
	if c.Kind == ReplaceOrder {
		buildReplace(cmd, &c.Replace, ins)
		if c.Replace.Client != nil {
			cmd.Client = r.newName(c)
		}
		return
	}
	if c.Client != "" {
		cmd.Client = &engine.ClientID{Text: c.Client}
	}
	if r.caller == 0 {
		cmd.Flags |= engine.FlagOperator
	}
	if c.ByList {
		cmd.Flags |= engine.FlagList
	}
	cmd.Flags |= [...]uint8{AnyState: 0, OnlyNew: engine.FlagOnlyNew, OnlyPartial: engine.FlagOnlyPartial}[c.Only]
}

// newName returns the client id that an amendment gives an order: one of the order's account, also by an operator.
func (r *Request) newName(c *Command) *engine.ClientID {
	account := r.caller
	if account == 0 { // an order keeps its account; a loop that ends takes no commands either
		_ = r.e.opt.Exchange.Query(func() {
			if o, open := r.e.opt.Core.Order(c.Order); open {
				account = o.Account
			}
		})
	}
	text := string(c.Replace.Client)
	return &engine.ClientID{
		Text: text, Hash: clientHash(account, c.Order.Pair(), text), Reusable: c.Replace.ClientReusable,
	}
}

// stamp sets the times of the commands if any of them has one. A command without a time gets the time of the
// command before it, the first one the clock's time.
func (r *Request) stamp() *refuse.Refusal {
	stamped := false
	for i := range r.Commands {
		if r.Commands[i].HasAt {
			if !r.e.opt.Clock.Virtual() {
				field := fmt.Sprintf("commands[%d].at", i)
				return refuse.Param(field, "The member %s needs a virtual clock; this one is real.", field)
			}
			stamped = true
			break
		}
	}
	if !stamped {
		return nil
	}
	r.batch.Stamped = true
	last := r.e.opt.Clock.NowNs()
	for i := range r.Commands {
		c := &r.Commands[i]
		if c.HasAt {
			if c.AtNs < last || c.AtNs > MaxStampNs {
				field := fmt.Sprintf("commands[%d].at", i)
				return refuse.Param(field, "The member %s must not go back in time nor beyond the year 2200.", field)
			}
			last = c.AtNs
		}
		r.batch.Commands[i].TimeNs = last
	}
	return nil
}

func (r *Request) firstAt() string {
	for i := range r.Commands {
		if r.Commands[i].HasAt {
			return fmt.Sprintf("commands[%d].at", i)
		}
	}
	return "commands"
}
