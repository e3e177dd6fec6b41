package hive

import (
	"strconv"
	"strings"
)

// Tier is the rank of an agent. A tier commands the tiers of higher numbers.
type Tier uint8

// The tiers of docs/contract/api.md.
const (
	NoTier Tier = iota
	Queen
	Scout
	WorkerTier
	tiers = 3
)

var tierNames = [...]string{"", "queen", "scout", "worker"}

func (t Tier) String() string { return tierNames[t] }

// parseTier returns the tier with this wire name.
func parseTier(name string) (Tier, bool) {
	for t := Queen; t <= WorkerTier; t++ {
		if tierNames[t] == name {
			return t, true
		}
	}
	return NoTier, false
}

// Agent identifies a queen, a scout or a worker: queen-N, scout-N or worker-N. The number of a worker is its
// workerId.
type Agent struct {
	Tier Tier
	N    uint32
}

// String returns the agent's id on the wire.
func (a Agent) String() string { return a.Tier.String() + "-" + strconv.FormatUint(uint64(a.N), 10) }

// parseAgent reads an id of the form tier-number. It does not check whether the agent exists.
func parseAgent(id string) (a Agent, ok bool) {
	name, number, _ := strings.Cut(id, "-")
	if a.Tier, ok = parseTier(name); !ok {
		return Agent{}, false
	}
	n, err := strconv.ParseUint(number, 10, 32)
	a.N = uint32(n)
	return a, err == nil && n > 0 && a.String() == id
}

// ActionType is the kind of a log entry.
type ActionType uint8

// The action types of docs/contract/hive.md#action-log.
const (
	ConfigUpdate ActionType = iota
	ParamUpdate
	Override
	Flag
	Directive
	Suspension
	BudgetAllocation
	Observation
	RiskScore
	Signal
	ProposalCreated
	VoteCast
	actionTypes
)

// ActionTypes is the number of action types; the types are numbered from 0.
const ActionTypes = actionTypes

var actionNames = [actionTypes]string{
	"config_update", "param_update", "override", "flag", "directive", "suspension", "budget_allocation",
	"observation", "risk_score", "signal", "proposal_created", "vote",
}

func (t ActionType) String() string { return actionNames[t] }

// parseActionType returns the action type with this wire name.
func parseActionType(name string) (ActionType, bool) {
	for i, n := range actionNames {
		if n == name {
			return ActionType(i), true
		}
	}
	return 0, false
}

// changesConfig reports whether the payload of an action of this type may change the target's config.
func (t ActionType) changesConfig() bool {
	return t == ConfigUpdate || t == ParamUpdate || t == Override
}

// allowed reports whether an agent of tier source may make an action on the worker target (0: the whole hive).
// An override needs a target of a lower rank, a scout may override workers only, and only queens act on the
// whole hive.
func (t ActionType) allowed(source Tier, target uint32) bool {
	switch t {
	case Override:
		return source == Queen || source == Scout && target != 0
	case Suspension, BudgetAllocation:
		return source == Queen
	default:
		return true
	}
}
