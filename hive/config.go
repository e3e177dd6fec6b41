package hive

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"tickhive/internal/refuse"
)

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
