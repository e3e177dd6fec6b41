package accounts

import (
	"tickhive/accounts/auth"
	"tickhive/internal/fixed"
)

// Record is one accepted command. It holds everything that Apply needs, so that Apply decides
// nothing again under another configuration. It holds secrets (Key.Secret).
type Record struct {
	Kind   Kind
	Rules  uint8 // the RulesVersion when it was planned: these rules apply to it for ever
	TimeNs int64 // stamped by the store
	// EnginePos is the engine position that the state had folded when the record was
	// planned. Recovery folds up to it, and no further, before it applies the record,
	// because an accrual depends on the inviters at the time of the fee.
	EnginePos uint64
	User      uint32

	Profile    Profile        // CreateUser, PatchUser: all of it, after the change
	Key        auth.KeyRecord // CreateKey
	PublicKey  string         // DeleteKey
	Currency   string         // Deposit, Withdraw, AddProfit
	Amount     fixed.I128     // Deposit, Withdraw, AddProfit
	Commission fixed.I128     // Withdraw: on top of Amount
	Profit     ProfitType     // AddProfit
	Inviter    uint32         // SetInviter
	HasRate    bool           // SetInviter: by a link, Rate becomes both discounts
	Rate       uint32         // CreateLink, SetInviter by a link: 10^-8
	LinkNumber uint64         // CreateLink: dense from 1
	Config     Config         // Configure

	// staged: the plan took the money of a withdrawal out of the balance, or reserved room for
	// a deposit or a profit. Memory only; a record read from a log is not staged.
	staged bool
}

// RestsOnEngine reports whether the record spends money that fills may have brought. Its
// answer must then wait until the engine's journal is durable up to EnginePos
// (docs/contract/storage.md#recovery).
func (r *Record) RestsOnEngine() bool { return r.Kind == Withdraw }

// Result is the answer to a command. It shares nothing with the state.
type Result struct {
	Kind       Kind
	User       UserView       // CreateUser, PatchUser
	Key        APIKeyView     // CreateKey
	Secret     auth.Secret    // CreateKey: shown once
	Balance    BalanceView    // Deposit, Withdraw
	Commission fixed.I128     // Withdraw
	Accruals   []PaidAccrual  // AddProfit
	Inviter    InviterView    // SetInviter
	Link       AmbassadorLink // CreateLink
}
