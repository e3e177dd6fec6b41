package accounts

// The limits of the package. Each bounds something that a caller could otherwise grow.
const (
	// MaxUsers bounds the directory; a search walks it in steps.
	MaxUsers = 1_000_000
	// MaxKeysPerUser bounds the API keys of a user (docs/contract/accounts.md#api-keys).
	MaxKeysPerUser = 30
	// MaxKeyName is the longest name of a key, in code points.
	MaxKeyName = 64
	// MaxLinksPerUser bounds the ambassador links of one user.
	MaxLinksPerUser = 100
	// MaxNickname and MinNickname bound a nickname, in code points.
	MaxNickname = 32
	// MinNickname is the shortest nickname.
	MinNickname = 2
	// MaxRealName bounds name and secondName, in code points.
	MaxRealName = 64
	// MaxLevel is the highest user level.
	MaxLevel = 30
	// StakingLevels is the number of staking levels, R0 to R8.
	StakingLevels = 9
	// MaxLevelChanges bounds the history of staking levels of one user.
	MaxLevelChanges = 10_000
	// MaxDealAccruals bounds the accruals from trades that are retained one by one, over all users;
	// the oldest beyond it move to the archive of their day. 2,000,000 of 72 bytes are 144 MB.
	MaxDealAccruals = 2_000_000
	// MaxCommandAccruals bounds the accruals of commands (staking, withdrawals, other
	// profits), which are never archived; beyond it AddProfit commands are refused.
	MaxCommandAccruals = 4_000_000
	// MaxReservations bounds the orders on their way to the engine.
	MaxReservations = 1_000_000
	// MaxSearchResults bounds the inviters that a search finds
	// (docs/contract/accounts.md#inviters).
	MaxSearchResults = 20
	// MaxSearchQuery is the longest search text, in code points.
	MaxSearchQuery = 64

	searchStep = 4096 // users checked under one read lock
)

// RateOne is the rate 1.0; rates and discounts are integers in units of 10^-8.
const RateOne = 100_000_000
