package hive

import (
	"encoding/json"

	"tickhive/internal/refuse"
)

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
	return nil
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

// planAct makes its checks in order: the form, whether agent and token exist, and whether the agent's tier may
// make this action.
func (s *State) planAct(cmd Act, rec *Record) *refuse.Refusal {
	if rej := cmd.check(); rej != nil {
		return rej
	}
	source, ok := s.agent(cmd.Source)
	if !ok {
		return refuse.New(refuse.NotFound, "sourceAgentId", "There is no agent %q.", cmd.Source)
	}
	var target uint32
	if cmd.TokenID != 0 {
		w, ok := s.knownWorker(workerOf(cmd.TokenID))
		if !ok {
			return unknownWorker("targetTokenId")
		}
		target = w.ID
	}
	if !cmd.Type.allowed(source.Tier, target) {
		return refuse.New(refuse.Forbidden, "actionType", "A %s may not do %s here.", source.Tier, cmd.Type)
	}
	if rej := s.logFull(len(rec.Entries) + 1); rej != nil {
		return rej
	}
	rec.Kind = RecAct
	rec.add(&s.log, Entry{
		TimeNs: rec.TimeNs, Source: source, Target: target, Type: cmd.Type, Payload: cmd.Payload, Reason: cmd.Reason,
	})
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
		_, ok = s.knownWorker(a.N)
		return a, ok
	}
}

// appendEntry appends an entry to the log and applies its effects. No other function appends entries during
// operation.
func (s *State) appendEntry(e *Entry) {
	s.log.append(e)
	s.all.add(e)
	sec := e.Sec()
	if e.Source.Tier == WorkerTier {
		w := s.edit(e.Source.N)
		w.postings.own.append(e.ID)
		w.LastActionSec = sec
		s.noteActivity(w, sec)
		s.put(w)
	}
	if e.Target == 0 {
		s.untargeted.add(e)
		return
	}
	w := s.edit(e.Target)
	w.postings.aimed.add(e)
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
