package accounts

import "tickhive/internal/fixed"

// Record is one accepted command: everything that Apply needs and nothing that it would
// have to decide again under another configuration. It holds secrets (Key.Secret).
type Record struct {
	Kind   Kind
	Rules  uint8 // the RulesVersion of its time: it is applied by those rules for ever
	TimeNs int64 // stamped by the store
	// EnginePos is the engine position that the state had folded when the record was
	// planned. Recovery folds up to it, and no further, before it applies the record:
	// an accrual depends on who was whose inviter when the fee was taken.
	EnginePos uint64
	User      uint32

	Profile    Profile    // CreateUser, PatchUser: all of it, after the change
	Key        KeyRecord  // CreateKey
	PublicKey  string     // DeleteKey
	Currency   string     // Deposit, Withdraw, AddProfit
	Amount     fixed.I128 // Deposit, Withdraw, AddProfit
	Commission fixed.I128 // Withdraw: on top of Amount
	Profit     ProfitType // AddProfit
	Inviter    uint32     // SetInviter
	HasRate    bool       // SetInviter: by a link, Rate becomes both discounts
	Rate       uint32     // CreateLink, SetInviter by a link: 10^-8
	LinkNumber uint64     // CreateLink: dense from 1
	Config     Config     // Configure

	// staged: the money of a withdrawal went out when it was planned, and room was kept for
	// that of a deposit. Memory only; a record read from a log is not staged.
	staged bool
}

// KeyRecord is an API key as it is kept.
type KeyRecord struct {
	PublicKey   string
	Secret      Secret
	Name        string
	CanTrade    bool
	CanWithdraw bool
	IPWhitelist []string
	CreatedNs   int64
	ExpiresNs   int64 // 0: never
}

// RestsOnEngine reports whether the record spends what fills may have brought: its
// answer must wait until the engine's journal is durable up to EnginePos
// (docs/contract/storage.md#recovery).
func (r *Record) RestsOnEngine() bool { return r.Kind == Withdraw }

// Result is what the caller of a command is told. It shares nothing with the state.
type Result struct {
	Kind       Kind
	User       UserView       // CreateUser, PatchUser
	Key        APIKeyView     // CreateKey
	Secret     Secret         // CreateKey: shown once
	Balance    BalanceView    // Deposit, Withdraw
	Commission fixed.I128     // Withdraw
	Accruals   []PaidAccrual  // AddProfit
	Inviter    InviterView    // SetInviter
	Link       AmbassadorLink // CreateLink
}
