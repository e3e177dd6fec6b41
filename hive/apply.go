package hive

import "tickhive/internal/refuse"

// Plan validates cmd at nowNs and returns the record that would carry it out. It changes nothing. A refusal is
// a *refuse.Refusal. It panics on a command before Begin, on a second Begin, and on a command while a proposal
// is due to be closed by a Tick: Store prevents all three.
func (s *State) Plan(nowNs int64, cmd Command) (Record, error) {
	nowNs = max(nowNs, s.nowNs)
	if _, begin := cmd.(Begin); begin == s.begun {
		panic("BUG: hive: Begin is the first command, once")
	}
	if _, tick := cmd.(Tick); !tick {
		if key, _, ok := s.closeQueue.Min(); ok && int64(key>>22)*secondNs <= nowNs {
			panic("BUG: hive: a proposal is due")
		}
	}
	rec, rej := s.plan(nowNs, cmd)
	if rej != nil {
		return Record{}, rej
	}
	rec.TimeNs = nowNs
	return rec, nil
}

func (s *State) plan(nowNs int64, cmd Command) (Record, *refuse.Refusal) {
	switch cmd := cmd.(type) {
	case Begin:
		return Record{Kind: RecBegin, Seed: s.opt.Seed, GenesisNs: s.opt.GenesisNs}, nil
	case Act:
		return s.planAct(nowNs, cmd)
	case Propose:
		return s.planPropose(nowNs, cmd)
	case CastVote:
		return s.planVote(nowNs, cmd)
	case Tick:
		rec := Record{Kind: RecTick}
		s.planCloses(nowNs, &rec)
		return rec, nil
	}
	panic("BUG: hive: unknown command")
}

// Apply applies a record in this order: its decision, its log entries, the changes that are due by its time.
// Equal records and facts yield equal states.
func (s *State) Apply(rec *Record) Result {
	s.seq++
	s.nowNs = rec.TimeNs
	var res Result
	switch rec.Kind {
	case RecBegin:
		s.begun, s.seed, s.genesisNs = true, rec.Seed, rec.GenesisNs
	case RecPropose:
		s.applyPropose(rec, &res)
	case RecVote:
		s.applyVote(rec, &res)
	case RecTick:
		s.applyCloses(rec)
	case RecAct:
	default:
		panic("BUG: hive: unknown record")
	}
	for i := range rec.Entries {
		s.appendEntry(&rec.Entries[i])
	}
	s.markIdle(s.nowNs / secondNs)
	if rec.Kind == RecAct {
		res.Entry = rec.Entries[0].info(s.seed, s.genesisNs)
	}
	return res
}
