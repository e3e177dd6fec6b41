package accounts

import "tickhive/internal/fixed"

// Kind is the kind of a Command and of its Record.
type Kind uint8

// The commands. The comment names the members of Command that are read.
const (
	CreateUser Kind = iota + 1 // Profile
	PatchUser                  // User, Profile
	CreateKey                  // User, Key
	DeleteKey                  // User, PublicKey
	Deposit                    // User, Currency, Amount
	Withdraw                   // User, Currency, Amount
	AddProfit                  // User, Profit, Currency, Amount
	SetInviter                 // User, Code
	CreateLink                 // User, DiscountPercent
	Configure                  // Config: the referral rates from here on
)

// Command is one decoded request that changes accounts. User is the number of the account that
// it changes.
type Command struct {
	Kind            Kind
	User            uint32
	Profile         ProfilePatch
	Key             KeyRequest
	PublicKey       string
	Currency        string
	Amount          fixed.I128 // 10^-18
	Profit          ProfitType
	Code            string
	DiscountPercent fixed.I128 // human percent, 10^-18
	Config          Config
}

// OptionalName is a name that may be set, or set to nothing (nil).
type OptionalName struct {
	Set   bool
	Value *string
}

// ProfilePatch holds the members of POST and PATCH /users that were sent
// (docs/contract/internal.md#users-and-money); nil: not sent.
type ProfilePatch struct {
	Nickname           *string
	Name               OptionalName
	SecondName         OptionalName
	Level              *int64
	StakingLevel       *string
	IsAmbassador       *bool
	SecondLevelPercent *fixed.I128 // human percent
	Unlimited          *bool       // POST only
	AvatarID           *string     // PATCH only, as are the next three
	NoTradeCommissions *bool
	DealBidDiscount    *fixed.I128 // fraction
	DealAskDiscount    *fixed.I128 // fraction
}

// KeyRequest is ApiKeyPairCreationRequestViewModel (docs/contract/accounts.md#api-keys).
type KeyRequest struct {
	Name        string
	CanTrade    bool
	CanWithdraw bool
	IPWhitelist []string
	ExpiresNs   int64 // Unix ns; 0: never
}

// ProfitType is the source of an accrual (docs/contract/accounts.md#accruals), with the values of
// the wire.
type ProfitType uint8

// The profit types.
const (
	DealCommission        ProfitType = 1
	WithdrawalCommission  ProfitType = 2
	CurrencyListing       ProfitType = 40
	APITradeProfitPayment ProfitType = 50
	StakeAccrual          ProfitType = 100
)

// profitTypes holds every type, ascending.
var profitTypes = [...]ProfitType{
	DealCommission, WithdrawalCommission, CurrencyListing, APITradeProfitPayment, StakeAccrual,
}

// String returns the type's name on the wire, empty for an unknown value.
func (t ProfitType) String() string {
	switch t {
	case DealCommission:
		return "DealCommission"
	case WithdrawalCommission:
		return "WithdrawalCommission"
	case CurrencyListing:
		return "CurrencyListing"
	case APITradeProfitPayment:
		return "ApiTradeProfitPayment"
	case StakeAccrual:
		return "StakeAccrual"
	}
	return ""
}

// ParseProfitType parses a name or a number, because queries may use either.
func ParseProfitType(s string) (ProfitType, bool) {
	for _, t := range profitTypes {
		if s == t.String() || s == t.number() {
			return t, true
		}
	}
	return 0, false
}

func (t ProfitType) number() string {
	switch t {
	case DealCommission:
		return "1"
	case WithdrawalCommission:
		return "2"
	case CurrencyListing:
		return "40"
	case APITradeProfitPayment:
		return "50"
	case StakeAccrual:
		return "100"
	}
	return ""
}
