package public

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// AssetCommission is a configured deposit (type 1) or withdrawal (type 2) commission. For an asset without one,
// Commissions returns a record with commission 0.
type AssetCommission struct {
	Type     int // encode.CommissionRefill or encode.CommissionWithdrawal
	Currency string
	Adapter  string     // lower-case blockchain or fiat adapter; empty: none
	Percent  uint32     // 10^-8
	Minimum  fixed.I128 // 10^-18 of the currency
}

// Commissions returns the commission records without a user's discount, sorted by hash code: deposits and
// withdrawals of every asset, and both sides of every pair at its taker fee.
func (m *Market) Commissions(root *marketdata.Root) []encode.Commission {
	var all []encode.Commission
	for _, a := range root.Assets() {
		for kind := encode.CommissionRefill; kind <= encode.CommissionWithdrawal; kind++ {
			all = append(all, m.assetCommissions(a, kind)...)
		}
	}
	for _, id := range root.Sorted() {
		in := root.View(id).Instrument
		for kind := encode.CommissionBuy; kind <= encode.CommissionSell; kind++ {
			all = append(all, encode.Commission{Type: kind, Pair: in.Code, Percent: in.TakerFee})
		}
	}
	for i := range all {
		c := &all[i]
		c.HashCode = strconv.Itoa(c.Type) + "_" + c.Currency + c.Pair + "_" + c.Adapter
	}
	slices.SortFunc(all, func(a, b encode.Commission) int { return cmp.Compare(a.HashCode, b.HashCode) })
	return all
}

func (m *Market) assetCommissions(a *engine.Asset, kind int) []encode.Commission {
	var of []encode.Commission
	var list []AssetCommission
	if m.opt.Commissions != nil {
		list = m.opt.Commissions()
	}
	for _, set := range list {
		if set.Currency == a.Symbol && set.Type == kind {
			of = append(of, encode.Commission{
				Type: kind, Currency: a.Symbol, Adapter: set.Adapter,
				Percent: set.Percent, Minimum: set.Minimum, MinimumIn: a.Symbol,
			})
		}
	}
	if of == nil {
		of = []encode.Commission{{Type: kind, Currency: a.Symbol, MinimumIn: a.Symbol}}
	}
	return of
}

func (m *Market) appendCommissions(b []byte, r *marketdata.Root) []byte {
	b = append(b, '[')
	for i, one := range m.Commissions(r) {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode.AppendCommission(b, &one, 0)
	}
	return append(b, ']')
}

// metaRoutes returns the routes about the service itself. Their answers have no ETag and are never cached.
func metaRoutes(m *Market) []*edge.Route {
	probes := edge.Probes(m.unready)
	return append(probes, []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: "/api/healthcheck", Handle: m.healthcheck,
			Class: edge.ClassExempt, Auth: edge.AuthNever, Public: true, Early: true, Namespace: edge.NamespaceBoth,
		},
		{Method: fasthttp.MethodGet, Path: "/api/time", Handle: m.time, Public: true, Time: true},
		{Method: fasthttp.MethodGet, Path: "/api/status", Handle: m.status, Public: true, Early: true},
	}...)
}

// healthcheck answers a constant string with the version, which shows that the process is alive.
func (m *Market) healthcheck(c *edge.Ctx) *refuse.Refusal {
	c.Private(append(append([]byte(`"TickHive v`), m.opt.Version...), '"'))
	return nil
}

// time answers the time of the process clock, which also checks the timestamps of signed requests.
func (m *Market) time(c *edge.Ctx) *refuse.Refusal {
	ns := m.opt.Clock.NowNs() + c.SkewNs()
	b := strconv.AppendInt([]byte(`{"serverTime":`), encode.FloorDiv(ns, 1_000_000), 10)
	b = append(b, `,"iso":"`...)
	b = encode.AppendISO(b, ns, 3)
	c.Private(append(b, `"}`...))
	return nil
}

// StatusInfo holds the part of the status that comes from the program instead of the views
// (docs/contract/market-data.md#time-summary-status).
type StatusInfo struct {
	Recovering bool
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
		if at := m.statusInfo().OldestUnpublishedNs; at != 0 {
			return max(clock.MachineNs()-at, 0)
		}
		return 0
	}
	return whole, ageNs
}

func (m *Market) appendStatus(b []byte, info *StatusInfo, root *marketdata.Root, machineNs int64) []byte {
	now := m.opt.Clock.NowNs()
	started := info.StartedNs
	if started == 0 {
		started = m.started
	}
	ageNs := int64(0)
	if info.OldestUnpublishedNs != 0 {
		ageNs = max(machineNs-info.OldestUnpublishedNs, 0)
	}
	word := "ok"
	switch {
	case info.Recovering || !m.ready():
		word = "recovering"
	case info.Replication != nil && info.Replication.StaleSinceMs != 0:
		word = "stale"
	case info.Degraded || ageNs > degradedNs:
		word = "degraded"
	}
	b = append(append(append(b, `{"status":"`...), word...), `","version":`...)
	b = encode.AppendString(b, m.opt.Version)
	b = encode.AppendString(append(b, `,"epoch":`...), info.Epoch)
	b = encode.AppendISO(append(b, `,"startedAt":"`...), started, 3)
	b = strconv.AppendInt(append(b, `","uptimeSeconds":`...), max(now-started, 0)/1_000_000_000, 10)
	b = strconv.AppendInt(append(b, `,"time":`...), encode.FloorDiv(now, 1_000_000), 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), root.SeqSum, 10)
	b = appendProgress(append(b, `,"progress":`...), info.ProgressPPM)
	b = append(b, `,"pairs":[`...)
	for i, id := range root.Sorted() {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendPairStatus(b, root.View(id), ageNs)
	}
	b = append(b, `],"incidents":[`...)
	for i, in := range info.Incidents[:min(len(info.Incidents), statusIncidents)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = in.Append(b, false)
	}
	b = appendReplication(append(b, ']'), info.Replication)
	return append(appendFaults(b, info.Faults), '}')
}

// appendReplication appends the member replication, or nothing without one.
func appendReplication(b []byte, r *Replication) []byte {
	if r == nil {
		return b
	}
	b = encode.AppendString(append(b, `,"replication":{"role":`...), r.Role)
	b = strconv.AppendUint(append(b, `,"term":`...), r.Term, 10)
	b = strconv.AppendUint(append(b, `,"position":`...), r.Position, 10)
	b = strconv.AppendInt(append(b, `,"lagMs":`...), r.LagMs, 10)
	b = strconv.AppendBool(append(b, `,"failed":`...), r.Failed)
	if r.Writer != "" {
		b = encode.AppendString(append(b, `,"writer":`...), r.Writer)
	}
	if r.StaleSinceMs != 0 {
		b = strconv.AppendInt(append(b, `,"staleSince":`...), r.StaleSinceMs, 10)
	}
	return append(b, '}')
}

// appendFaults appends the member faults, or nothing when no rule is in force.
func appendFaults(b []byte, faults []FaultInfo) []byte {
	if len(faults) == 0 {
		return b
	}
	b = append(b, `,"faults":[`...)
	for i, f := range faults {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, `{"id":`...), f.ID, 10)
		b = append(encode.AppendString(append(b, `,"rule":`...), f.Rule), '}')
	}
	return append(b, ']')
}

// AppendPairStatus appends the status row of one pair. Streams send the same row.
func AppendPairStatus(b []byte, v *marketdata.View, ageNs int64) []byte {
	b = encode.AppendString(append(b, `{"currencyPairCode":`...), v.Instrument.Code)
	b = encode.AppendString(append(b, `,"state":`...), v.Instrument.State.String())
	b = strconv.AppendUint(append(b, `,"seq":`...), uint64(v.Seq), 10)
	last := v.Trades.Last()
	b = strconv.AppendUint(append(b, `,"lastTradeId":`...), uint64(last), 10)
	b = append(b, `,"lastTradeAt":`...)
	if last == 0 {
		b = append(b, "null"...)
	} else {
		b = encode.AppendMs(b, v.Trades.At(last).TimeNs)
	}
	b = append(b, `,"lastChangeAt":`...)
	if v.Seq == engine.Seq(0) {
		b = append(b, "null"...)
	} else {
		b = encode.AppendMs(b, v.TimeNs)
	}
	b = strconv.AppendInt(append(b, `,"viewAgeMs":`...), ageNs/1_000_000, 10)
	return append(b, '}')
}

// appendProgress appends ppm as a decimal fraction, or null if it is negative.
func appendProgress(b []byte, ppm int64) []byte {
	if ppm < 0 {
		return append(b, "null"...)
	}
	return encode.AppendRate(b, ppm, 6)
}
