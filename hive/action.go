package hive

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tickhive/tickhive/internal/refuse"
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

func sourceWrong() *refuse.Refusal {
	return refuse.Param("sourceAgentId", "sourceAgentId is required: queen-N, scout-N or worker-N.")
}

func typeWrong() *refuse.Refusal {
	return refuse.Param("actionType", "actionType is not one of the known types.")
}

func reasonWrong() *refuse.Refusal {
	return refuse.Param("reasonCode", "reasonCode is required: 1 to %d printable ASCII characters.", MaxReason)
}

// check applies the rules that depend on the action alone.
func (a *Act) check() *refuse.Refusal {
	if a.Source == "" {
		return sourceWrong()
	}
	if a.Type >= actionTypes {
		return typeWrong()
	}
	if a.Type == Suspension && a.TokenID == 0 {
		return refuse.Param("targetTokenId", "A suspension names a token.")
	}
	if rej := a.checkPayload(); rej != nil {
		return rej
	}
	if len(a.Reason) == 0 || len(a.Reason) > MaxReason {
		return reasonWrong()
	}
	for i := range len(a.Reason) {
		if a.Reason[i] < ' ' || a.Reason[i] > '~' {
			return reasonWrong()
		}
	}
	if _, ok := parseAgent(a.Source); !ok {
		return noAgent("sourceAgentId", a.Source)
	}
	return nil
}

func noAgent(field, id string) *refuse.Refusal {
	return refuse.New(refuse.NotFound, field, "There is no agent %q.", id)
}

func (a *Act) checkPayload() *refuse.Refusal {
	const field = "actionPayload"
	if a.Payload == "" {
		a.Payload = "{}"
	}
	members, rej := parseObject(a.Payload, field)
	if rej != nil {
		return rej
	}
	if a.Type.changesConfig() {
		_, rej := parsePatch(members, field)
		return rej
	}
	if word := string(members["suspended"]); a.Type == Suspension && word != "true" && word != "false" {
		return refuse.Param(field+".suspended", "A suspension says suspended: true or false.")
	}
	return nil
}

// act makes its checks in order: the form, whether agent and token exist, and whether the agent's tier may make this
// action.
func (s *State) act(cmd *Act, res *Result) *refuse.Refusal {
	if rej := cmd.check(); rej != nil {
		return rej
	}
	source, ok := s.agent(cmd.Source)
	if !ok {
		return noAgent("sourceAgentId", cmd.Source)
	}
	var target uint32
	if cmd.TokenID != 0 {
		w, ok := s.workers.Get(workerOf(cmd.TokenID))
		if !ok {
			return unknownWorker("targetTokenId")
		}
		target = w.ID
	}
	if !cmd.Type.allowed(source.Tier, target) {
		return refuse.New(refuse.Forbidden, "actionType", "A %s may not do %s here.", source.Tier, cmd.Type)
	}
	if rej := s.logFull(1); rej != nil {
		return rej
	}
	res.Entry = s.enter(Entry{
		Source: source, Target: target, Type: cmd.Type, Payload: cmd.Payload, Reason: cmd.Reason,
	}).info(s.seed, s.genesisNs)
	return nil
}

func (s *State) logFull(more int) *refuse.Refusal {
	if s.log.n+uint64(more) > MaxEntries {
		return refuse.Later(fullSec, "The action log holds %d entries, its limit.", MaxEntries)
	}
	return nil
}

// agent parses an agent's id and reports whether the agent exists.
func (s *State) agent(id string) (Agent, bool) {
	a, ok := parseAgent(id)
	if !ok {
		return a, false
	}
	switch a.Tier {
	case Queen:
		return a, a.N <= s.opt.Queens
	case Scout:
		return a, a.N <= s.opt.Scouts
	default:
		_, ok = s.workers.Get(a.N)
		return a, ok
	}
}

// enter appends an entry of this moment to the log, applies its effects and returns it. No other function appends
// entries during operation.
func (s *State) enter(e Entry) Entry {
	e.ID, e.TimeNs, e.Prev = s.log.n+1, s.nowNs, s.log.head
	s.log.append(&e)
	s.all.add(&e)
	sec := e.Sec()
	if e.Source.Tier == WorkerTier {
		w := s.edit(e.Source.N)
		w.postings.own.append(e.ID)
		w.LastActionSec = sec
		s.noteActivity(w, sec)
		s.put(w)
	}
	if e.Target == 0 {
		s.untargeted.add(&e)
		return e
	}
	w := s.edit(e.Target)
	w.postings.aimed.add(&e)
	switch e.Type {
	case Signal, Flag:
		s.noteActivity(w, sec)
	case Suspension:
		members, _ := parseObject(e.Payload, "")
		w.Suspended = string(members["suspended"]) == "true"
	case Override:
		w.LastOverrideSec, w.OverridingTier = sec, e.Source.Tier
	default: // the other types at most change the config, below
	}
	if e.Type.changesConfig() {
		w.Config = patched(w.Config, e.Payload)
	}
	s.put(w)
	return e
}

// patched returns cfg with the changes of an accepted payload.
func patched(cfg *Config, payload string) *Config {
	var members map[string]json.RawMessage
	members, rej := parseObject(payload, "")
	p, rej2 := parsePatch(members, "")
	if rej != nil || rej2 != nil {
		panic("BUG: hive: an accepted payload does not parse: " + payload)
	}
	if p.empty() {
		return cfg
	}
	return p.on(cfg)
}

// Limits of a worker's config (docs/contract/hive.md#workers).
const (
	MinSlippageBps     = 50
	MaxSlippageBps     = 200
	DefaultSlippageBps = 100
	MaxSignals         = 16
	MaxSignalBytes     = 64
)

// MEV selects the protection of a worker's swaps against front-running (maximal extractable value).
type MEV uint8

// The values of MEV.
const (
	MEVOff MEV = iota
	MEVStandard
	MEVStrict
	mevs
)

var mevNames = [mevs]string{"off", "standard", "strict"}

func (m MEV) String() string { return mevNames[m] }

// Config holds the settings of a worker. It never changes once a worker refers to it.
type Config struct {
	SlippageCapBps int64
	MEV            MEV
	Signals        []string
}

var defaultConfig = &Config{
	SlippageCapBps: DefaultSlippageBps, MEV: MEVStandard,
	Signals: []string{"scout-token-quality", "scout-trading-pattern"},
}

// The members of a payload that change a config. Proposals have the same names as topics.
const (
	memberSlippage = "slippageCapBps"
	memberMEV      = "mevProtection"
	memberSignals  = "signalSubscriptions"
)

// patch holds the config members that a payload contains.
type patch struct {
	slippage *int64
	mev      *MEV
	signals  []string // nil: the payload does not contain it
}

func (p *patch) empty() bool { return p.slippage == nil && p.mev == nil && p.signals == nil }

// on returns a copy of cfg with the members of the patch.
func (p *patch) on(cfg *Config) *Config {
	c := *cfg
	if p.slippage != nil {
		c.SlippageCapBps = *p.slippage
	}
	if p.mev != nil {
		c.MEV = *p.mev
	}
	if p.signals != nil {
		c.Signals = p.signals
	}
	return &c
}

// parseObject reads a payload, which must be a JSON object of at most MaxPayload bytes.
func parseObject(payload, field string) (map[string]json.RawMessage, *refuse.Refusal) {
	if len(payload) > MaxPayload {
		return nil, refuse.Param(field, "%s is at most %d bytes.", field, MaxPayload)
	}
	var members map[string]json.RawMessage
	if payload == "" || payload[0] != '{' || json.Unmarshal([]byte(payload), &members) != nil {
		return nil, refuse.Param(field, "%s is an object.", field)
	}
	return members, nil
}

// parsePatch reads the config members of a payload and refuses values out of range.
func parsePatch(members map[string]json.RawMessage, field string) (p patch, rej *refuse.Refusal) {
	if raw, ok := members[memberSlippage]; ok {
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n < MinSlippageBps || n > MaxSlippageBps {
			return p, refuse.Param(field+"."+memberSlippage, "%s is an integer from %d to %d.", memberSlippage,
				MinSlippageBps, MaxSlippageBps)
		}
		p.slippage = &n
	}
	if raw, ok := members[memberMEV]; ok {
		var name string
		i := -1
		if raw[0] == '"' && json.Unmarshal(raw, &name) == nil {
			i = slices.Index(mevNames[:], name)
		}
		if i < 0 {
			return p, refuse.Param(field+"."+memberMEV, "%s is off, standard or strict.", memberMEV)
		}
		m := MEV(i)
		p.mev = &m
	}
	if raw, ok := members[memberSignals]; ok {
		if !parseSignals(raw, &p.signals) {
			return p, refuse.Param(field+"."+memberSignals, "%s is an array of at most %d names of 1 to %d bytes.",
				memberSignals, MaxSignals, MaxSignalBytes)
		}
	}
	return p, nil
}

func parseSignals(raw json.RawMessage, out *[]string) bool {
	var items []*string
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil || len(items) > MaxSignals {
		return false
	}
	*out = make([]string, 0, len(items))
	for _, s := range items {
		if s == nil || len(*s) == 0 || len(*s) > MaxSignalBytes {
			return false
		}
		*out = append(*out, *s)
	}
	return true
}

// compact returns payload without white space between its tokens. It returns text that is not JSON unchanged,
// because parseObject refuses it.
func compact(payload string) string {
	var buf bytes.Buffer
	if json.Compact(&buf, []byte(payload)) != nil {
		return payload
	}
	return buf.String()
}
