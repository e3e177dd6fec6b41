package account

import (
	"net/netip"

	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// VerifyPayload checks a request that signs its parameters as one text.
func (s *Service) VerifyPayload(p *auth.Payload) (auth.Principal, *refuse.Refusal) {
	return s.verifier.VerifyPayload(s.opt.Clock.NowNs(), p)
}

// Balances returns the non-zero balances of an account, including those in the ledger, ordered by currency code.
func (s *Service) Balances(account engine.AccountID) []accounts.BalanceView {
	return s.balancesOf(uint32(account))
}

// Terms returns the fee terms of an account.
func (s *Service) Terms(account engine.AccountID) accounts.Terms {
	return s.view.Terms(uint32(account))
}

// Identify returns the principal of an active key that may be used from an address.
func (s *Service) Identify(publicKey string, remote netip.Addr) (auth.Principal, *refuse.Refusal) {
	return s.verifier.Identify(s.opt.Clock.NowNs(), []byte(publicKey), remote)
}

// Settled returns the balances of an account without reservations and without the ledger.
func (s *Service) Settled(account engine.AccountID) []accounts.BalanceView {
	return s.view.Settled(uint32(account))
}

// Listener learns of changed balances. Its methods do not wait.
type Listener interface {
	// BalanceChanged is called for every change of a balance, under the lock of the accounts.
	BalanceChanged(account engine.AccountID)
	// Transferred is called for money from outside or to it, after BalanceChanged, under no lock.
	Transferred(account engine.AccountID, currency string, amount fixed.I128)
}

// Listen registers l beside the private channels. Call it once, before Attach.
func (s *Service) Listen(l Listener) { s.listener = l }

func (s *Service) balanceChanged(account uint32, currency string) {
	s.private.balanceChanged(account, currency)
	if s.listener != nil {
		s.listener.BalanceChanged(engine.AccountID(account))
	}
}
