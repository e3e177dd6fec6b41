package accounts

// How the pieces of a running exchange use a State.
//
// The generic store (internal/wal) drives Plan, AppendRecord, Apply, AppendSnapshot and
// View. Two of its hooks tie the accounts' log to the engine's:
//
//	BeforeRecord: where Record.RestsOnEngine, wait until the engine's journal is durable
//	up to Record.EnginePos, so that no withdrawal outlives the fills it spends.
//	BeforeReplay: fold the engine's events after the snapshot up to Record.EnginePos and
//	no further (NeedsFold), so that accruals meet the inviters of their time.
//
// After the last record the rest of the engine's journal is folded, then ReleaseUnknown
// ends holds that the engine does not know, and Reconfigure brings the referral rates to
// the configured ones. From then on the engine's goroutine folds each batch of events.
//
//	handler ── Reserve ──> engine queue ── events ──> Fold ── balances ──> View
//	handler <── refusal ── Release

// Machine is what the store's State interface asks for, written out.
type Machine interface {
	Plan(nowNs int64, cmd Command) (Record, error)
	Apply(rec *Record) Result
	View() *View
	AppendSnapshot(dst []byte) []byte
	NextNs() int64
	Due(nowNs int64) []Command
	ReflectsSeq() uint64
	LastNs() int64
}

var _ Machine = (*State)(nil)

// NeedsFold reports whether engine events up to rec.EnginePos are missing in the state:
// during recovery they have to be folded before rec is applied.
func (s *State) NeedsFold(rec *Record) bool { return s.EnginePos() < rec.EnginePos }
