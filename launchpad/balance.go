package launchpad

import (
	"encoding/binary"

	"tickhive/internal/refuse"
)

// asset identifies what an account can hold: NATIVE, USBI, or a token, whose number is its workerId + 1.
type asset uint32

const (
	nativeAsset = asset(NATIVE)
	usbiAsset   = asset(USBICoin)
)

func (c Currency) asset() asset { return asset(c) }

// key returns an address as the key of a tree.
func key(a Address) string { return string(a[:]) }

// balanceKey returns the key that sorts balances by account, then by asset.
func balanceKey(a Address, as asset) string {
	var b [24]byte
	copy(b[:], a[:])
	binary.BigEndian.PutUint32(b[20:], uint32(as))
	return string(b[:])
}

// Total holds the sums of one currency since the data directory began. Held + Pooled + Fees = Deposited -
// Withdrawn, always.
type Total struct {
	Currency                                 Currency
	Held, Pooled, Fees, Deposited, Withdrawn Amount
}

func (s *State) balance(a Address, as asset) Amount {
	v, _ := s.balances.Get(balanceKey(a, as))
	return v
}

// credit adds to a balance, debit subtracts from one; no other function changes balances. They remove a balance
// of zero, so that an account exists exactly while it holds something, they keep the tokens' counts of holders, and
// they remember a holding that a checkpoint needs.
func (s *State) credit(a Address, as asset, amount Amount) {
	if amount.IsZero() {
		return
	}
	k := balanceKey(a, as)
	had, ok := s.balances.Get(k)
	s.balances.Set(k, had.Add(amount))
	if as <= usbiAsset {
		s.totals[as].Held = s.totals[as].Held.Add(amount)
		return
	}
	s.remember(as, a, had)
	if !ok {
		s.countHolder(as, 1)
	}
}

func (s *State) debit(a Address, as asset, amount Amount) {
	if amount.IsZero() {
		return
	}
	k := balanceKey(a, as)
	had, _ := s.balances.Get(k)
	left := had.Sub(amount)
	if !left.IsZero() {
		s.balances.Set(k, left)
	} else {
		s.balances.Delete(k)
	}
	if as <= usbiAsset {
		s.totals[as].Held = s.totals[as].Held.Sub(amount)
		return
	}
	s.remember(as, a, had)
	if left.IsZero() {
		s.countHolder(as, -1)
	}
}

func (s *State) countHolder(as asset, by int64) {
	t := s.edit(as.token())
	t.Holders += by
	s.put(t)
}

func amountWrong(field string) *refuse.Refusal {
	return refuse.Param(field, "%s must be above 0.", field)
}

func insufficient(field, currency string) *refuse.Refusal {
	return refuse.New(refuse.InsufficientFunds, field, "The balance of %s does not cover the amount.", currency)
}

func (s *State) planDeposit(cmd Deposit) (Record, *refuse.Refusal) {
	if cmd.Currency >= currencies {
		return Record{}, refuse.Param("currencyCode", "The ledger holds NATIVE and USBI.")
	}
	if cmd.Amount.IsZero() {
		return Record{}, amountWrong("amount")
	}
	if maxBalance.Less(cmd.Amount) || maxBalance.Less(s.balance(cmd.To, cmd.Currency.asset()).Add(cmd.Amount)) {
		return Record{}, refuse.Param("amount", "No balance may pass 10^20.")
	}
	return Record{Kind: RecDeposit, To: cmd.To, Currency: cmd.Currency, In: cmd.Amount}, nil
}

func (s *State) applyDeposit(rec *Record, res *Result) {
	s.nextTxHash()
	t := &s.totals[rec.Currency]
	t.Deposited = t.Deposited.Add(rec.In)
	s.credit(rec.To, rec.Currency.asset(), rec.In)
	res.Balance = s.balance(rec.To, rec.Currency.asset())
}

func (s *State) planWithdraw(cmd Withdraw) (Record, *refuse.Refusal) {
	if cmd.Currency >= currencies {
		return Record{}, refuse.Param("currencyCode", "The ledger holds NATIVE and USBI.")
	}
	if cmd.Amount.IsZero() {
		return Record{}, amountWrong("amount")
	}
	if s.balance(cmd.From, cmd.Currency.asset()).Less(cmd.Amount) {
		return Record{}, insufficient("amount", cmd.Currency.String())
	}
	return Record{Kind: RecWithdraw, From: cmd.From, Currency: cmd.Currency, In: cmd.Amount}, nil
}

func (s *State) applyWithdraw(rec *Record, res *Result) {
	s.nextTxHash()
	t := &s.totals[rec.Currency]
	t.Withdrawn = t.Withdrawn.Add(rec.In)
	s.debit(rec.From, rec.Currency.asset(), rec.In)
	res.Balance = s.balance(rec.From, rec.Currency.asset())
}

func (s *State) planTransfer(cmd Transfer) (Record, *refuse.Refusal) {
	if cmd.Amount.IsZero() {
		return Record{}, amountWrong("amount")
	}
	t, ok := s.tokens.Get(cmd.Token)
	if !ok {
		return Record{}, unknownToken()
	}
	if s.balance(cmd.From, t.asset()).Less(cmd.Amount) {
		return Record{}, insufficient("amount", t.Symbol)
	}
	if rej := s.mayMove(t.No); rej != nil {
		return Record{}, rej
	}
	return Record{Kind: RecTransfer, Token: cmd.Token, From: cmd.From, To: cmd.To, In: cmd.Amount}, nil
}

func (s *State) applyTransfer(rec *Record, res *Result) {
	t, _ := s.tokens.Get(rec.Token)
	// Credit first, so that an account that sends everything to itself remains a holder throughout.
	s.credit(rec.To, t.asset(), rec.In)
	s.debit(rec.From, t.asset(), rec.In)
	res.TxHash = s.nextTxHash()
}
