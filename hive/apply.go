package hive

import "tickhive/internal/refuse"

// Plan validates cmd at nowNs and returns the record that would carry it out. It changes nothing. A refusal is
// a *refuse.Refusal. It panics on a command before Begin and on a second Begin: Store prevents both.
//
// The record first closes the proposals that are due, so the command is planned for the state after them: what a command
// does never depends on when a Tick comes. When more are due than one record closes, only a Tick is accepted.
func (s *State) Plan(nowNs int64, cmd Command) (Record, error) {
	nowNs = max(nowNs, s.nowNs)
	if _, begin := cmd.(Begin); begin == s.begun {
		panic("BUG: hive: Begin is the first command, once")
	}
	rec := Record{TimeNs: nowNs}
	all := s.planCloses(&rec)
	if _, tick := cmd.(Tick); !tick && !all {
		return Record{}, refuse.Later(1, "More than %d proposals close first; try again.", MaxDue)
	}
	if rej := s.plan(cmd, &rec); rej != nil {
		return Record{}, rej
	}
	return rec, nil
}

func (s *State) plan(cmd Command, rec *Record) *refuse.Refusal {
	switch cmd := cmd.(type) {
	case Begin:
		rec.Kind, rec.Seed, rec.GenesisNs = RecBegin, s.opt.Seed, s.opt.GenesisNs
	case Act:
		return s.planAct(cmd, rec)
	case Propose:
		return s.planPropose(cmd, rec)
	case CastVote:
		return s.planVote(cmd, rec)
	case Tick:
		rec.Kind = RecTick
	default:
		panic("BUG: hive: unknown command")
	}
	return nil
}

// Apply applies a record in this order: what is due by its time, its decision, its log entry. It closes the proposals
// that the record names, and marks workers idle, at most MaxDue together; the rest waits for the next record. Equal
// records and facts yield equal states.
func (s *State) Apply(rec *Record) Result {
	s.seq++
	s.nowNs = rec.TimeNs
	closed := s.applyCloses(rec)
	s.markIdle(s.nowNs/secondNs, MaxDue-len(rec.Closes))
	var res Result
	switch rec.Kind {
	case RecBegin:
		s.begun, s.seed, s.genesisNs = true, rec.Seed, rec.GenesisNs
	case RecPropose:
		s.applyPropose(rec, &res)
	case RecVote:
		s.applyVote(rec, &res)
	case RecAct, RecTick:
	default:
		panic("BUG: hive: unknown record")
	}
	for i := range rec.Entries[closed:] {
		s.appendEntry(&rec.Entries[closed+i])
	}
	if rec.Kind == RecAct {
		res.Entry = rec.own().info(s.seed, s.genesisNs)
	}
	return res
}
