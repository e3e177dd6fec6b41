package server

import (
	"slices"

	"tickhive/accounts"
	"tickhive/engine"
)

// privateLedger is what the channel balances has told of the ledger's currencies. The
// ledger names no accounts: those with listeners are looked at when it has changed. Of
// the hub's goroutine.
type privateLedger struct {
	seq  uint64
	told map[engine.AccountID][]accounts.BalanceView
}

// begin notes what a snapshot of an account is about to tell. What was noted before
// stands: other listeners have to hear of the difference.
func (p *privateLedger) begin(f *privateFeed, account engine.AccountID) {
	if f.desk.opt.Ledger == nil || p.told[account] != nil {
		return
	}
	if p.told == nil {
		p.told = map[engine.AccountID][]accounts.BalanceView{}
	}
	p.told[account] = f.ledgerBalances(account)
}

// changes adds the rows that differ from those told to rows.
func (p *privateLedger) changes(f *privateFeed, rows map[engine.AccountID][]accounts.BalanceView) {
	ledger := f.desk.opt.Ledger
	if ledger == nil || len(p.told) == 0 {
		return
	}
	seq := ledger.Seq() // first: a change after it is looked at the next time
	if seq == p.seq {
		return
	}
	p.seq = seq
	for account, before := range p.told {
		if !f.Watched(account) {
			delete(p.told, account)
			continue
		}
		now := f.ledgerBalances(account)
		p.told[account] = now
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

// ledgerBalances is never nil.
func (f *privateFeed) ledgerBalances(account engine.AccountID) []accounts.BalanceView {
	_, address := f.desk.view.Level(uint32(account))
	return append([]accounts.BalanceView{}, f.desk.opt.Ledger.Balances(address)...)
}
