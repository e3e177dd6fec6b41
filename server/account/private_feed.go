package account

import (
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/encode"
	"tickhive/server/stream"
)

// maxSnapshotOrders bounds the open orders of one snapshot. GET /api/user/orders returns the older ones.
const maxSnapshotOrders = 10_000

// privateFeed produces the private messages of accounts that have subscribers. The
// sequencer's goroutine, which owns the order history, records orders and fills.
// The goroutine that shows a balance records its name; the hub renders all of them.
type privateFeed struct {
	stream.PrivateQueue
	service *Service

	// The changes since the last publication. Owner: the sequencer's goroutine.
	orders   []engine.OrderID
	recorded map[engine.OrderID]bool
	fills    []recordedFill

	mu      sync.Mutex
	changed map[balanceKey]bool

	ledger privateLedger

	onKeyDeleted atomic.Pointer[func(number uint64)]
}

// recordedFill is a side of a trade. Its fee needs the pair, which is shown with the publication.
type recordedFill struct {
	trade engine.Event
	maker bool
}

type balanceKey struct {
	account  engine.AccountID
	currency string
}

func newPrivateFeed(d *Service) *privateFeed {
	return &privateFeed{service: d, recorded: map[engine.OrderID]bool{}, changed: map[balanceKey]bool{}}
}

// Private returns the feed of the private channels.
func (s *Service) Private() stream.PrivateFeed { return s.private }

// Fold records the orders and fills of watched accounts.
func (f *privateFeed) Fold(events []engine.Event) {
	if f.Idle() {
		return
	}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case engine.EventAccepted, engine.EventCanceled, engine.EventReplaced,
			engine.EventReduced, engine.EventTriggered:
			f.recordOrder(e.Account, e.Order)
		case engine.EventTrade:
			f.recordOrder(e.Account, e.Order)
			f.recordOrder(e.MakerAccount, e.Maker)
			f.recordFill(e, false)
			f.recordFill(e, true)
		default: // no order of an account has changed
		}
	}
}

func (f *privateFeed) recordOrder(account engine.AccountID, order engine.OrderID) {
	if !f.Watched(account) || f.recorded[order] {
		return
	}
	f.recorded[order] = true
	f.orders = append(f.orders, order)
}

func (f *privateFeed) recordFill(e *engine.Event, maker bool) {
	account := e.Account
	if maker {
		account = e.MakerAccount
	}
	if f.Watched(account) {
		f.fills = append(f.fills, recordedFill{*e, maker})
	}
}

// Publish queues the recorded changes: each order once, in its current state. The hub renders them.
func (f *privateFeed) Publish() {
	f.Release()
	if len(f.orders) == 0 && len(f.fills) == 0 {
		return
	}
	root := f.service.opt.Board.Load()
	for i := range f.fills {
		trade := &f.fills[i].trade
		if v := root.View(trade.Pair); v != nil {
			ins := v.Instrument // a message that waits must not keep the view
			fill := marketdata.FillOf(trade, ins, f.fills[i].maker)
			f.PutOf(fill.Pair, stream.PrivateMessage{
				Account: fill.Account, Channel: "fills", Seq: uint64(trade.Seq),
				Append: func(dst []byte) []byte {
					return append(appendFill(append(dst, `"fill":{`...), &fill, ins), '}')
				},
			})
		}
	}
	for _, id := range f.orders {
		r, ok := f.service.opt.History.Summary(id)
		v := root.View(id.Pair())
		if !ok || v == nil {
			continue
		}
		ins := v.Instrument
		f.PutOf(id.Pair(), stream.PrivateMessage{
			Account: r.Account, Channel: "orders", Seq: uint64(r.Seq),
			Append: func(dst []byte) []byte {
				return append(f.service.appendOrderOf(append(dst, `"order":{`...), &r, ins), '}')
			},
		})
	}
	clear(f.recorded)
	f.orders, f.fills = f.orders[:0], f.fills[:0]
}

func (s *Service) appendOrderOf(b []byte, r *marketdata.OrderRecord, ins *engine.Instrument) []byte {
	return appendUserOrder(b, r, ins, string(encode.AppendUUID(nil, accounts.UserID(uint32(r.Account)))))
}

// balanceChanged records a balance whose new value is shown.
func (f *privateFeed) balanceChanged(account uint32, currency string) {
	if !f.Watched(engine.AccountID(account)) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed[balanceKey{engine.AccountID(account), currency}] = true
}

// Take returns the queued messages, and the current values of the balances that changed.
func (f *privateFeed) Take() ([]stream.PrivateMessage, bool) {
	messages, all := f.PrivateQueue.Take()
	changed := f.takeChanged()
	rows := map[engine.AccountID][]accounts.BalanceView{}
	for name := range changed {
		rows[name.account] = append(rows[name.account], f.service.shown.Balance(uint32(name.account), name.currency))
	}
	f.ledger.addChanges(f, rows)
	for account, list := range rows {
		sortBalances(list)
		messages = append(messages, stream.PrivateMessage{
			Account: account, Channel: "balances", Seq: f.service.shown.Pos(),
			Append: func(dst []byte) []byte { return appendList(append(dst, `"balances":`...), list, appendBalance) },
		})
	}
	return messages, all
}

// takeChanged returns the names of the balances that changed; nil if there are none.
func (f *privateFeed) takeChanged() map[balanceKey]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changed) == 0 {
		return nil
	}
	changed := f.changed
	f.changed = map[balanceKey]bool{}
	return changed
}

// Snapshot appends the initial state of a channel: the open orders, no fills, all balances. The open orders are read
// in turns, between which orders may change. The account is watched already, so a message about each of these
// changes follows the snapshot.
func (f *privateFeed) Snapshot(dst []byte, channel string, account engine.AccountID) []byte {
	switch channel {
	case "orders":
		return f.openOrders(append(dst, `"orders":`...), account)
	case "balances":
		f.ledger.recordSnapshot(f, account)
		return appendList(append(dst, `"balances":`...), f.service.balancesOf(uint32(account)), appendBalance)
	}
	return append(dst, `"fills":[]`...)
}

func (f *privateFeed) openOrders(dst []byte, account engine.AccountID) []byte {
	open, err := f.service.opt.History.Orders(marketdata.Query{
		Account: account, Pair: engine.ControlPair, Status: marketdata.OnlyOpen,
		SinceNs: math.MinInt64, UntilNs: math.MaxInt64, Limit: maxSnapshotOrders,
	}, f.service.opt.Exchange.Query)
	if err != nil {
		open = nil // the sequencer has stopped, so the connection will end too
	}
	root := f.service.opt.Board.Load()
	return appendList(dst, open, func(b []byte, r *marketdata.OrderRecord) []byte {
		return append(f.service.appendOrderOf(append(b, '{'), r, root.View(r.ID.Pair()).Instrument), '}')
	})
}

// Verify checks the credentials of a socket.
func (f *privateFeed) Verify(remote netip.Addr, publicKey, timestamp, nonce,
	signature string,
) (stream.SocketKey, *refuse.Refusal) {
	return f.service.verifySocket(remote, publicKey, timestamp, nonce, signature)
}

// Join implements stream.PrivateFeed.
func (f *privateFeed) Join(account engine.AccountID) { f.service.canceler.Join(account) }

// Leave implements stream.PrivateFeed.
func (f *privateFeed) Leave(account engine.AccountID, graceNs int64, withdrawn bool) {
	f.service.canceler.Leave(account, graceNs, withdrawn)
}

// OnKeyDeleted implements stream.PrivateFeed.
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
	seq  uint64
	sent map[engine.AccountID][]accounts.BalanceView
}

// recordSnapshot records the balances of an account's first snapshot. It keeps existing records,
// because the account's other subscribers must still receive the difference.
func (p *privateLedger) recordSnapshot(f *privateFeed, account engine.AccountID) {
	if f.service.opt.Ledger == nil || p.sent[account] != nil {
		return
	}
	if p.sent == nil {
		p.sent = map[engine.AccountID][]accounts.BalanceView{}
	}
	p.sent[account] = f.ledgerBalances(account)
}

// addChanges adds to rows the balances that differ from the last ones sent.
func (p *privateLedger) addChanges(f *privateFeed, rows map[engine.AccountID][]accounts.BalanceView) {
	ledger := f.service.opt.Ledger
	if ledger == nil || len(p.sent) == 0 {
		return
	}
	seq := ledger.Seq() // before reading the balances: the next call sees a later change
	if seq == p.seq {
		return
	}
	p.seq = seq
	for account, before := range p.sent {
		if !f.Watched(account) {
			delete(p.sent, account)
			continue
		}
		now := f.ledgerBalances(account)
		p.sent[account] = now
		for _, row := range now {
			if !slices.Contains(before, row) {
				rows[account] = append(rows[account], row)
			}
		}
		for _, row := range before {
			gone := func(r accounts.BalanceView) bool { return r.CurrencyCode == row.CurrencyCode }
			if !slices.ContainsFunc(now, gone) {
				rows[account] = append(rows[account], accounts.BalanceView{CurrencyCode: row.CurrencyCode})
			}
		}
	}
}

// ledgerBalances returns the account's ledger balances; never nil.
func (f *privateFeed) ledgerBalances(account engine.AccountID) []accounts.BalanceView {
	_, address := f.service.shown.Level(uint32(account))
	return append([]accounts.BalanceView{}, f.service.opt.Ledger.Balances(address)...)
}
