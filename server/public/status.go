package public

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// AssetCommission is a configured deposit (type 1) or withdrawal (type 2) commission. For an asset without one,
// Commissions returns a record with commission 0.
type AssetCommission struct {
	Type     int // objects.CommissionRefill or objects.CommissionWithdrawal
	Currency string
	Adapter  string     // lower-case blockchain or fiat adapter; empty: none
	Percent  uint32     // 10^-8
	Minimum  fixed.I128 // 10^-18 of the currency
}

// Commissions returns the commission records without a user's discount, sorted by hash code: deposits and
// withdrawals of every asset, and both sides of every pair at its taker fee.
func (m *Market) Commissions(root *marketdata.Root) []objects.Commission {
	var all []objects.Commission
	for _, a := range root.Assets() {
		for kind := objects.CommissionRefill; kind <= objects.CommissionWithdrawal; kind++ {
			all = append(all, m.assetCommissions(a, kind)...)
		}
	}
	for _, id := range root.Sorted() {
		in := root.View(id).Instrument
		for kind := objects.CommissionBuy; kind <= objects.CommissionSell; kind++ {
			all = append(all, objects.Commission{Type: kind, Pair: in.Code, Percent: in.TakerFee})
		}
	}
	for i := range all {
		c := &all[i]
		c.HashCode = strconv.Itoa(c.Type) + "_" + c.Currency + c.Pair + "_" + c.Adapter
	}
	slices.SortFunc(all, func(a, b objects.Commission) int { return cmp.Compare(a.HashCode, b.HashCode) })
	return all
}

func (m *Market) assetCommissions(a *engine.Asset, kind int) []objects.Commission {
	var of []objects.Commission
	var list []AssetCommission
	if m.opt.Commissions != nil {
		list = m.opt.Commissions()
	}
	for _, set := range list {
		if set.Currency == a.Symbol && set.Type == kind {
			of = append(of, objects.Commission{
				Type: kind, Currency: a.Symbol, Adapter: set.Adapter,
				Percent: set.Percent, Minimum: set.Minimum, MinimumIn: a.Symbol,
			})
		}
	}
	if of == nil {
		of = []objects.Commission{{Type: kind, Currency: a.Symbol, MinimumIn: a.Symbol}}
	}
	return of
}

func (m *Market) appendCommissions(b []byte, r *marketdata.Root) []byte {
	w := json.On(b)
	w.List()
	for _, one := range m.Commissions(r) {
		objects.WriteCommission(&w, &one, 0)
	}
	w.EndList()
	return w.Bytes()
}

// metaRoutes returns the routes about the service itself. Their answers have no ETag and are never cached.
func metaRoutes(m *Market) []*edge.Route {
	probes := edge.Probes(m.unready)
	return edge.Tagged("Market data", append(probes, []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: "/api/healthcheck", Handle: m.healthcheck,
			Class: edge.ClassExempt, Auth: edge.AuthNever, Public: true, Early: true, Namespace: edge.NamespaceBoth,
			Name: "getHealth", Summary: "Liveness: name and version",
		},
		{
			Method: fasthttp.MethodGet, Path: "/api/time", Handle: m.time,
			Class: edge.ClassExempt, Public: true, Time: true,
			Name: "getTime", Summary: "The exchange's clock",
		},
		{
			Method: fasthttp.MethodGet, Path: "/api/status", Handle: m.status,
			Class: edge.ClassExempt, Public: true, Early: true,
			Name: "getStatus", Summary: "State of the service, per pair",
		},
	}...))
}

// healthcheck answers a constant string with the version, which shows that the process is alive.
func (m *Market) healthcheck(c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	w.Word("TickHive v" + m.opt.Version)
	c.Private(w.Bytes())
	return nil
}

// time answers the time of the process clock, which also checks the timestamps of signed requests.
func (m *Market) time(c *edge.Ctx) *refuse.Refusal {
	ns := m.opt.Clock.NowNs() + c.SkewNs()
	var w json.Writer
	w.Object()
	w.Name("serverTime").Ms(ns)
	w.Name("iso").ISO(ns, 3)
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// StatusInfo holds the part of the status that comes from the program instead of the views
// (docs/contract/market-data.md#time-summary-status).
type StatusInfo struct {
	Recovering bool
	Seeking    bool   // a player feeds a recording up to a time
	Degraded   bool   // a store no longer accepts commands
	Epoch      string // 16 hex digits, chosen when the data directory was made
	StartedNs  int64  // process clock, Unix ns; 0: the time at which the Market was made
	// ProgressPPM is the progress of recovery in millionths; negative: no recovery is running.
	ProgressPPM int64
	// OldestUnpublishedNs is the machine time of the oldest event that no view shows yet; 0: none.
	OldestUnpublishedNs int64
	Incidents           []edge.Incident // newest first
	Replication         *Replication    // nil: the records go nowhere else, and come from nowhere else
	Faults              []FaultInfo     // fault rules in force; the status names them when there are any
}

// Replication describes the place of an exchange beside others (docs/contract/market-data.md#time-summary-status).
type Replication struct {
	Role     string // writer or replica
	Term     uint64
	Position uint64 // of the last command that the stream has confirmed, or that the replica has executed
	LagMs    int64
	Failed   bool // the writer sends nothing more to the stream, or the replica executes nothing more
	// Writer is the address that the writer has told a replica; empty: none, or this is the writer.
	Writer string
	// StaleSinceMs is the time from which on a replica has refused reads, Unix ms; 0: it serves them.
	StaleSinceMs int64
}

// FaultInfo is the status row of a fault rule.
type FaultInfo struct {
	ID   uint64
	Rule string // its text without key and seed
}

const (
	statusIncidents = 50
	// degradedNs is the age of the oldest unpublished event above which the status is degraded.
	degradedNs = 1_000_000_000
)

// status handles GET /api/status, during recovery too.
func (m *Market) status(c *edge.Ctx) *refuse.Refusal {
	info := m.statusInfo()
	c.Private(m.appendStatus(nil, &info, m.board.Load(), c.MachineNs()))
	return nil
}

func (m *Market) statusInfo() StatusInfo {
	if m.opt.Status != nil {
		return m.opt.Status()
	}
	return StatusInfo{Recovering: !m.ready(), ProgressPPM: -1}
}

// StatusView returns two functions for the streams: one appends the text of /api/status, the other returns the
// age of the oldest unpublished event in ns, 0 if there is none.
func (m *Market) StatusView() (whole func(dst []byte) []byte, ageNs func() int64) {
	whole = func(dst []byte) []byte {
		info := m.statusInfo()
		return m.appendStatus(dst, &info, m.board.Load(), clock.MachineNs())
	}
	ageNs = func() int64 {
		info := m.statusInfo()
		return info.ageNs(clock.MachineNs())
	}
	return whole, ageNs
}

// StatusWord returns the member status of /api/status.
func (m *Market) StatusWord() string {
	info := m.statusInfo()
	return m.word(&info, info.ageNs(clock.MachineNs()))
}

func (m *Market) word(info *StatusInfo, ageNs int64) string {
	switch {
	case info.Seeking:
		return "seeking"
	case info.Recovering || !m.ready():
		return "recovering"
	case info.Replication != nil && info.Replication.StaleSinceMs != 0:
		return "stale"
	case info.Degraded || ageNs > degradedNs:
		return "degraded"
	}
	return "ok"
}

// ageNs returns how long the oldest unpublished event has waited; 0: there is none.
func (info *StatusInfo) ageNs(machineNs int64) int64 {
	if info.OldestUnpublishedNs == 0 {
		return 0
	}
	return max(machineNs-info.OldestUnpublishedNs, 0)
}

func (m *Market) appendStatus(b []byte, info *StatusInfo, root *marketdata.Root, machineNs int64) []byte {
	now := m.opt.Clock.NowNs()
	started := info.StartedNs
	if started == 0 {
		started = m.started
	}
	ageNs := info.ageNs(machineNs)
	w := json.On(b)
	w.Object()
	w.Name("status").Word(m.word(info, ageNs))
	w.Name("version").Text(m.opt.Version)
	w.Name("epoch").Text(info.Epoch)
	w.Name("startedAt").ISO(started, 3)
	w.Name("uptimeSeconds").Int(max(now-started, 0) / 1_000_000_000)
	w.Name("time").Ms(now)
	w.Name("seq").Uint(root.SeqSum)
	w.Name("progress")
	if info.ProgressPPM < 0 {
		w.Null()
	} else {
		w.Rate(info.ProgressPPM, 6)
	}
	w.Name("pairs").List()
	for _, id := range root.Sorted() {
		WritePairStatus(&w, root.View(id), ageNs)
	}
	w.EndList()
	w.Name("incidents").List()
	for _, in := range info.Incidents[:min(len(info.Incidents), statusIncidents)] {
		in.Write(&w, false)
	}
	w.EndList()
	writeReplication(&w, info.Replication)
	writeFaults(&w, info.Faults)
	w.EndObject()
	return w.Bytes()
}

// writeReplication writes the member replication, or nothing without one.
func writeReplication(w *json.Writer, r *Replication) {
	if r == nil {
		return
	}
	w.Name("replication").Object()
	w.Name("role").Text(r.Role)
	w.Name("term").Uint(r.Term)
	w.Name("position").Uint(r.Position)
	w.Name("lagMs").Int(r.LagMs)
	w.Name("failed").Bool(r.Failed)
	if r.Writer != "" {
		w.Name("writer").Text(r.Writer)
	}
	if r.StaleSinceMs != 0 {
		w.Name("staleSince").Int(r.StaleSinceMs)
	}
	w.EndObject()
}

// writeFaults writes the member faults, or nothing when no rule is in force.
func writeFaults(w *json.Writer, faults []FaultInfo) {
	if len(faults) == 0 {
		return
	}
	w.Name("faults").List()
	for _, f := range faults {
		w.Object()
		w.Name("id").Uint(f.ID)
		w.Name("rule").Text(f.Rule)
		w.EndObject()
	}
	w.EndList()
}

// WritePairStatus writes the status row of one pair.
func WritePairStatus(w *json.Writer, v *marketdata.View, ageNs int64) {
	last := v.Trades.Last()
	w.Object()
	w.Name("currencyPairCode").Text(v.Instrument.Code)
	w.Name("state").Word(v.Instrument.State.String())
	w.Name("seq").Uint(uint64(v.Seq))
	w.Name("lastTradeId").Uint(uint64(last))
	w.Name("lastTradeAt")
	if last == 0 {
		w.Null()
	} else {
		w.Ms(v.Trades.At(last).TimeNs)
	}
	w.Name("lastChangeAt")
	if v.Seq == 0 {
		w.Null()
	} else {
		w.Ms(v.TimeNs)
	}
	w.Name("viewAgeMs").Int(ageNs / 1_000_000)
	w.EndObject()
}
