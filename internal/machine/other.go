package machine

import (
	"fmt"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/launchpad"
)

// OfAccounts returns the record of a command of the accounts, whose secrets, names and white lists a key seals; nil:
// plain.
func OfAccounts(cmd *accounts.Command, key *seal.Key) *engine.ControlRecord {
	if key != nil {
		sealed := *cmd
		sealed.Seal(key)
		cmd = &sealed
	}
	return &engine.ControlRecord{Part: uint8(Accounts), Record: accounts.AppendCommand(nil, cmd)}
}

// OfLaunchpad returns the record of a command of the launchpad.
func OfLaunchpad(cmd launchpad.Command) *engine.ControlRecord {
	return &engine.ControlRecord{Part: uint8(Launchpad), Record: launchpad.AppendCommand(nil, cmd)}
}

// OfHive returns the record of a command of the hive.
func OfHive(cmd hive.Command) *engine.ControlRecord {
	return &engine.ControlRecord{Part: uint8(Hive), Record: hive.AppendCommand(nil, cmd)}
}

// DueRecord returns the record that carries out what is due in launchpad or hive by its time: one without a command.
func (s *State) DueRecord() *engine.ControlRecord {
	part := Hive
	if s.NextNs() == s.Ledger.NextNs() {
		part = Launchpad
	}
	return &engine.ControlRecord{Part: uint8(part)}
}

// NextNs returns when launchpad or hive next change by time alone, 0: never.
func (s *State) NextNs() int64 {
	next := s.Ledger.NextNs()
	if at := s.Hive.NextNs(); next == 0 || at != 0 && at < next {
		next = at
	}
	return next
}

// Agents returns the number of records of launchpad and hive that were applied.
func (s *State) Agents() uint64 { return s.agents }

// Result is what a record of another part has led to; the parts that it is not of have none.
type Result struct {
	Refused  error // nil, or a *refuse.Refusal: the record has changed nothing
	Accounts accounts.Result
	Ledger   launchpad.Result
	Hive     hive.Result
}

// ApplyOther applies a command of another part than the market. The loop calls it for a record that it has written;
// Apply does for all others. The error is one of a record that cannot be decoded.
func (s *State) ApplyOther(cmd *engine.Command) (*Result, error) {
	body, out := cmd.Control.Record, &Result{}
	var err error
	if Part(cmd.Control.Part) != Accounts {
		s.agents++
	}
	switch Part(cmd.Control.Part) {
	case Accounts:
		err = s.applyAccounts(cmd.TimeNs, body, out)
	case Launchpad:
		err = s.applyLaunchpad(cmd.TimeNs, body, out)
	case Hive:
		err = s.applyHive(cmd.TimeNs, body, out)
	default:
		err = fmt.Errorf("a record of part %d, which this program does not know", cmd.Control.Part)
	}
	return out, err
}

func (s *State) applyAccounts(nowNs int64, body []byte, out *Result) error {
	cmd, err := accounts.DecodeCommand(body)
	if err != nil {
		return err
	}
	out.Accounts, out.Refused = s.Money.Do(nowNs, &cmd)
	return nil
}

func (s *State) applyLaunchpad(nowNs int64, body []byte, out *Result) error {
	if len(body) == 0 {
		out.Ledger = s.Ledger.Tick(nowNs)
		return nil
	}
	cmd, err := launchpad.DecodeCommand(body)
	if err != nil {
		return err
	}
	if out.Ledger, out.Refused = s.Ledger.Do(nowNs, cmd); out.Ledger.Fact != nil {
		s.Hive.Fold(hive.Fact(*out.Ledger.Fact))
	}
	return nil
}

func (s *State) applyHive(nowNs int64, body []byte, out *Result) error {
	if len(body) == 0 {
		out.Hive = s.Hive.Tick(nowNs)
		return nil
	}
	cmd, err := hive.DecodeCommand(body)
	if err != nil {
		return err
	}
	if p, ok := cmd.(hive.Propose); ok { // its votes count what the ledger holds now
		p.Checkpoint = s.Ledger.Checkpoint
		cmd = p
	}
	out.Hive, out.Refused = s.Hive.Do(nowNs, cmd)
	return nil
}
