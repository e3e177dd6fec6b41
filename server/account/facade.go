package account

import (
	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/refuse"
)

// VerifyPayload checks a request that signs its parameters as one text.
func (d *Service) VerifyPayload(p *auth.Payload) (auth.Principal, *refuse.Refusal) {
	return d.verifier.VerifyPayload(d.opt.Clock.NowNs(), p)
}

// Balances returns the non-zero balances of an account, including those in the ledger, ordered by currency code.
func (d *Service) Balances(account engine.AccountID) []accounts.BalanceView {
	return d.balancesOf(uint32(account))
}

// Terms returns the fee terms of an account.
func (d *Service) Terms(account engine.AccountID) accounts.Terms {
	return d.view.Terms(uint32(account))
}
