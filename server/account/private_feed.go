package account

import (
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
	"github.com/tickhive/tickhive/server/stream"
)

// maxSnapshotOrders bounds the open orders of one snapshot. GET /api/user/orders returns the older ones.
const maxSnapshotOrders = 10_000

// privateFeed renders the private messages of accounts: it is stream.Accounts.
type privateFeed struct {
	service *Service
	ledger  privateLedger

	onKeyDeleted atomic.Pointer[func(number uint64)]
}

// Private returns the source of the private channels.
func (s *Service) Private() stream.Accounts { return s.private }

// Messages implements stream.Accounts. Of each publication the fills come first, then each order and each list once, as
// the publication shows it: the lists behind the orders that began or ended them. The changed balances come last, each
// once, with its newest value.
func (f *privateFeed) Messages(account engine.AccountID, events []*private.Event) (list []stream.PrivateMessage) {
	rows := map[string]accounts.BalanceView{}
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Part == events[0].Part {
			n++
		}
		list = f.appendPart(list, events[:n])
		for _, e := range events[:n] {
			for _, row := range e.Balances {
				rows[row.CurrencyCode] = row
			}
		}
		events = events[n:]
	}
	f.ledger.addChanges(f, account, rows)
	if len(rows) == 0 {
		return list
	}
	changed := slices.Collect(maps.Values(rows))
	sortBalances(changed)
	return append(list, stream.PrivateMessage{
		Channel: "balances",
		Write:   func(w *json.Writer) { writeBalances(w, changed) },
	})
}

// appendPart appends the messages about the orders of one publication.
func (f *privateFeed) appendPart(list []stream.PrivateMessage, events []*private.Event) []stream.PrivateMessage {
	root := f.service.opt.Board.Load()
	shown := map[engine.OrderID]*marketdata.OrderRecord{}
	var changed []engine.OrderID
	var changedLists []*private.List
	for _, e := range events {
		if e.List != nil {
			changedLists = addList(changedLists, e.List)
		}
		o := e.Order
		if o == nil {
			continue
		}
		if _, known := shown[o.Order.ID]; !known {
			changed = append(changed, o.Order.ID)
		}
		shown[o.Order.ID] = o.Shown
		if o.Event.Kind != engine.EventTrade {
			continue
		}
		ins := root.View(o.Event.Pair).Instrument // a message that waits must not keep the view
		fill := marketdata.FillOf(&o.Event, ins, o.Maker)
		list = append(list, stream.PrivateMessage{
			Channel: "fills",
			Write: func(w *json.Writer) {
				w.Name("fill").Object()
				writeFill(w, &fill, ins)
				w.EndObject()
			},
		})
	}
	for _, id := range changed {
		r, ins := shown[id], root.View(id.Pair()).Instrument
		if r == nil {
			continue // no longer in the history
		}
		list = append(list, stream.PrivateMessage{
			Channel: "orders",
			Write:   func(w *json.Writer) { writeOrderOf(w.Name("order"), r, ins) },
		})
	}
	for _, l := range changedLists {
		view := &entry.OrderList{ListRecord: l.List, Instrument: root.View(l.List.ID.Pair()).Instrument}
		list = append(list, stream.PrivateMessage{
			Channel: "orders",
			Write:   func(w *json.Writer) { writeListOf(w.Name("list"), view) },
		})
	}
	return list
}

// addList adds a list as an event left it, instead of what an earlier event left.
func addList(all []*private.List, l *private.List) []*private.List {
	all = slices.DeleteFunc(all, func(o *private.List) bool { return o.List.ID == l.List.ID })
	return append(all, l)
}

// writeListOf writes a list without its orders, of which only the ids follow: the messages of a stream have the orders.
func writeListOf(w *json.Writer, l *entry.OrderList) {
	w.Object()
	writeListHead(w, l)
	w.Name("orderIds").List()
	for _, id := range l.ListRecord.Orders {
		w.ID(uint64(id))
	}
	w.EndList()
	w.EndObject()
}

// Forget implements stream.Accounts.
func (f *privateFeed) Forget(account engine.AccountID) { delete(f.ledger.sent, account) }

// writeOrderOf writes an order of any user.
func writeOrderOf(w *json.Writer, r *marketdata.OrderRecord, ins *engine.Instrument) {
	w.Object()
	writeOrder(w, r, ins, string(json.AppendUUID(nil, accounts.UserID(uint32(r.Account)))))
	w.EndObject()
}

// Snapshot writes the initial state of a channel: the open orders and lists, no fills, all balances. The open orders
// are read in turns, between which orders may change. The account is watched already, so a message about each of these
// changes follows the snapshot.
func (f *privateFeed) Snapshot(w *json.Writer, channel string, account engine.AccountID) {
	switch channel {
	case "orders":
		f.writeOpenOrders(w, account)
	case "balances":
		f.ledger.recordSnapshot(f, account)
		writeBalances(w, f.service.balancesOf(uint32(account)))
	default:
		w.Name("fills").Words()
	}
}

func (f *privateFeed) writeOpenOrders(w *json.Writer, account engine.AccountID) {
	q := marketdata.Query{
		Account: account, Pair: engine.ControlPair, Status: marketdata.OnlyOpen,
		SinceNs: math.MinInt64, UntilNs: math.MaxInt64, Limit: maxSnapshotOrders,
	}
	// After an error the sequencer has stopped, so the connection will end too.
	open, _ := f.service.opt.History.Orders(q, f.service.opt.Exchange.Query)
	executing, _ := f.service.opt.History.Lists(q, f.service.opt.Exchange.Query)
	root := f.service.opt.Board.Load()
	w.Name("orders").List()
	for i := range open {
		writeOrderOf(w, &open[i], root.View(open[i].ID.Pair()).Instrument)
	}
	w.EndList()
	w.Name("lists").List()
	for i := range executing {
		in := root.View(executing[i].ID.Pair()).Instrument
		writeListOf(w, &entry.OrderList{ListRecord: executing[i], Instrument: in})
	}
	w.EndList()
}

// Verify checks the credentials of a socket.
func (f *privateFeed) Verify(remote netip.Addr, c stream.Credentials) (stream.SocketKey, *refuse.Refusal) {
	return f.service.verifySocket(remote, c)
}

// Join implements stream.Accounts.
func (f *privateFeed) Join(account engine.AccountID) { f.service.canceler.Join(account) }

// Leave implements stream.Accounts.
func (f *privateFeed) Leave(account engine.AccountID, graceNs int64, withdrawn bool) {
	f.service.canceler.Leave(account, graceNs, withdrawn)
}

// OnKeyDeleted implements stream.Accounts.
func (f *privateFeed) OnKeyDeleted(tell func(number uint64)) { f.onKeyDeleted.Store(&tell) }

// keyDeleted notifies the hub of a deleted key, which verifies nothing any more.
func (f *privateFeed) keyDeleted(number uint64) {
	if tell := f.onKeyDeleted.Load(); tell != nil {
		(*tell)(number)
	}
}

// privateLedger holds, for each account with subscribers, the ledger balances that the channel `balances`
// sent last. The ledger does not report which accounts have changed. After each change of the ledger, the
// hub therefore compares the current balances with the last ones sent. Owner: the hub's goroutine.
type privateLedger struct {
	sent map[engine.AccountID]*sentLedger
}

// sentLedger holds the ledger balances of an account that were sent last, and the ledger's seq then.
type sentLedger struct {
	seq  uint64
	rows []accounts.BalanceView
}

// recordSnapshot records the balances of an account's first snapshot. It keeps existing records,
// because the account's other subscribers must still receive the difference.
func (p *privateLedger) recordSnapshot(f *privateFeed, account engine.AccountID) {
	if f.service.opt.Ledger == nil || p.sent[account] != nil {
		return
	}
	if p.sent == nil {
		p.sent = map[engine.AccountID]*sentLedger{}
	}
	seq := f.service.opt.Ledger.Seq() // before reading the balances: the next comparison sees a later change
	p.sent[account] = &sentLedger{seq, f.ledgerBalances(account)}
}

// addChanges adds to rows the balances of an account that differ from the last ones sent.
func (p *privateLedger) addChanges(f *privateFeed, account engine.AccountID, rows map[string]accounts.BalanceView) {
	sent := p.sent[account]
	if sent == nil {
		return
	}
	seq := f.service.opt.Ledger.Seq()
	if seq == sent.seq {
		return
	}
	before, now := sent.rows, f.ledgerBalances(account)
	sent.seq, sent.rows = seq, now
	for _, row := range before { // those that are gone
		rows[row.CurrencyCode] = accounts.BalanceView{CurrencyCode: row.CurrencyCode}
	}
	for _, row := range now {
		if rows[row.CurrencyCode] = row; slices.Contains(before, row) {
			delete(rows, row.CurrencyCode)
		}
	}
}

// ledgerBalances returns the account's ledger balances; never nil.
func (f *privateFeed) ledgerBalances(account engine.AccountID) []accounts.BalanceView {
	_, address := f.service.shown.Level(uint32(account))
	return append([]accounts.BalanceView{}, f.service.opt.Ledger.Balances(address)...)
}
