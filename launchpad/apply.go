package launchpad

import "tickhive/internal/refuse"

// Plan validates cmd at nowNs and returns the record that would carry it out. It changes nothing. A refusal is
// a *refuse.Refusal. It panics on a command before Begin and on a second Begin, because Store sends Begin once
// and first.
func (s *State) Plan(nowNs int64, cmd Command) (Record, error) {
	nowNs = max(nowNs, s.nowNs)
	if _, begin := cmd.(Begin); begin == s.begun {
		panic("BUG: launchpad: Begin is the first command, once")
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
		return Record{Kind: RecBegin, Seed: s.opt.Seed}, nil
	case Spawn:
		return s.planSpawn(nowNs, cmd)
	case Deposit:
		return s.planDeposit(cmd)
	case Withdraw:
		return s.planWithdraw(cmd)
	case Transfer:
		return s.planTransfer(cmd)
	case AddLiquidity:
		return s.planLiquidity(cmd)
	case Swap:
		return s.planSwap(nowNs, cmd)
	case BuyBoost:
		return s.planBoost(nowNs, cmd)
	case InjectFault:
		if cmd.Count == 0 || cmd.Count > MaxFaults || s.faults+cmd.Count > MaxFaults {
			return Record{}, refuse.Param("count", "count is 1 to %d, those still to fail included.", MaxFaults)
		}
		return Record{Kind: RecInject, Count: cmd.Count}, nil
	case Checkpoint:
		return s.planCheckpoint(cmd)
	case Tick:
		return Record{Kind: RecTick}, nil
	}
	panic("BUG: launchpad: unknown command")
}

// Apply first makes the changes that are due by the record's time, at most maxDue of them, then applies the record.
// Equal records yield equal states.
func (s *State) Apply(rec *Record) Result {
	s.seq++
	s.nowNs = rec.TimeNs
	s.carryOutDue(floorSec(s.nowNs))
	var res Result
	switch rec.Kind {
	case RecBegin:
		s.begun, s.seed, s.genesisNs = true, rec.Seed, rec.TimeNs
	case RecSpawn:
		s.applySpawn(rec, &res)
	case RecFault:
		s.applyFault(&res)
	case RecDeposit:
		s.applyDeposit(rec, &res)
	case RecWithdraw:
		s.applyWithdraw(rec, &res)
	case RecTransfer:
		s.applyTransfer(rec, &res)
	case RecLiquidity:
		s.applyLiquidity(rec, &res)
	case RecSwap:
		s.applySwap(rec, &res)
	case RecBoost:
		s.applyBoost(rec, &res)
	case RecInject:
		s.faults += rec.Count
	case RecCheckpoint:
		s.applyCheckpoint(rec, &res)
	case RecTick:
	default:
		panic("BUG: launchpad: unknown record")
	}
	return res
}
