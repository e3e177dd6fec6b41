package account

import (
	"slices"

	"tickhive/accounts"
	"tickhive/engine"
)

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
	_, address := f.service.view.Level(uint32(account))
	return append([]accounts.BalanceView{}, f.service.opt.Ledger.Balances(address)...)
}
