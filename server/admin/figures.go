package admin

import (
	"cmp"
	"maps"
	rt "runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// FiguresSource holds what GET /figures reads besides the sources of a scrape.
type FiguresSource struct {
	MetricsSource
	Incidents func() []edge.Incident
	Faults    func() []*fault.Active
}

// Figures serves GET /figures: what an operator watches, with rates and percentiles over the time since an earlier
// reading. A request takes a reading, and nothing runs between two requests. Any goroutine may call it.
type Figures struct {
	src       FiguresSource
	process   prometheus.Gatherer
	startedNs int64

	mu       sync.Mutex
	readings []*reading // oldest first; the first one may be that of the start
}

const (
	defaultSpanSeconds = 5
	maxSpanSeconds     = 60
	// readingEvery is the least time between two readings that are kept, and that rates are computed over, so that
	// many readers keep few readings, and no rate is one of a moment.
	readingEvery = 500 * time.Millisecond
	// readingsKept is the number of readings over the longest span, and a few older ones.
	readingsKept = maxSpanSeconds*int(time.Second/readingEvery) + 8
)

// NewFigures returns the figures of an exchange that starts now.
func NewFigures(src FiguresSource) *Figures {
	if src.MachineNs == nil {
		src.MachineNs = clock.MachineNs
	}
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	now := src.MachineNs()
	return &Figures{
		src: src, process: process, startedNs: now, readings: []*reading{{atNs: now}},
	}
}

// reading is a copy of the counters from which rates are computed. The zero value is that of the start.
type reading struct {
	atNs    int64
	routes  []routeReading // that have answered a request
	loop    *loopReading   // nil while no loop runs
	logs    []LogStat
	streams map[string]StreamStat
	limited uint64
	cpuMs   uint64
}

type routeReading struct {
	listener string
	edge.RouteStat
}

type loopReading struct {
	commands, orders, trades, rejects, publishes, busy uint64
	waits                                              clock.Counts
}

// process is what the system and the runtime say of the process.
type process struct {
	cpuMs, residentBytes, heapBytes, goroutines, openFiles, maxFiles uint64
}

var spanSeconds = edge.Integer("span", 1, maxSpanSeconds).Default(defaultSpanSeconds).
	Says("Seconds to which the rates and percentiles belong. The answer names the time to which they do.")

func (f *Figures) route() *edge.Route {
	return &edge.Route{
		Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/figures", Early: true, Handle: f.handle,
		Params: edge.Params(spanSeconds),
		Name:   "getFigures", Summary: "What an operator watches: rates, percentiles, loop, disk, streams, incidents",
	}
}

// handle serves GET /figures.
func (f *Figures) handle(c *edge.Ctx) *refuse.Refusal {
	span, refused := spanSeconds.Of(c)
	if refused != nil {
		return refused
	}
	p := f.readProcess()
	now := f.read(p.cpuMs)
	d := difference{now: now, then: f.keep(now, time.Duration(span)*time.Second)}
	d.spanMs = max(time.Duration(d.now.atNs-d.then.atNs).Milliseconds(), 1)
	var w json.Writer
	f.write(&w, &d, &p)
	c.Private(w.Bytes())
	return nil
}

// keep adds a reading to those that are kept, and returns the earlier one whose age is nearest to span. Without one
// since the start it is the start.
func (f *Figures) keep(now *reading, span time.Duration) (then *reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	distance := func(r *reading) time.Duration { return (time.Duration(now.atNs-r.atNs) - span).Abs() }
	then = f.readings[0]
	for _, r := range f.readings[1:] {
		if time.Duration(now.atNs-r.atNs) >= readingEvery && distance(r) <= distance(then) {
			then = r
		}
	}
	if newest := f.readings[len(f.readings)-1]; time.Duration(now.atNs-newest.atNs) >= readingEvery {
		if len(f.readings) == readingsKept {
			f.readings = slices.Delete(f.readings, 0, 1)
		}
		f.readings = append(f.readings, now)
	}
	return then
}

// read copies the counters.
func (f *Figures) read(cpuMs uint64) *reading {
	r := &reading{atNs: f.src.MachineNs(), logs: f.src.Logs(), streams: f.src.Streams(), cpuMs: cpuMs}
	for listener, routes := range f.src.Routes() {
		for i := range routes {
			if answered(&routes[i]) > 0 {
				r.routes = append(r.routes, routeReading{listener, routes[i]})
			}
		}
	}
	if s, _ := f.src.Loop(); s != nil {
		r.loop = &loopReading{
			commands: s.Commands.Load(), orders: s.Orders.Load(), trades: s.Trades.Load(), rejects: s.Rejected.Load(),
			publishes: s.Batches.Load(), busy: s.Busy.Load(), waits: s.Waits.Counts(),
		}
	}
	for _, limited := range []map[string]uint64{f.src.Server().Limited(), f.src.Limited()} {
		for _, n := range limited {
			r.limited += n
		}
	}
	return r
}

func answered(r *edge.RouteStat) (n uint64) {
	for _, of := range r.Status {
		n += of
	}
	return n
}

// readProcess asks the system and the runtime. What a system does not say stays 0.
func (f *Figures) readProcess() (p process) {
	families, err := f.process.Gather()
	if err != nil {
		families = nil
	}
	for _, of := range families {
		m := of.GetMetric()[0]
		switch of.GetName() {
		case "process_cpu_seconds_total":
			p.cpuMs = uint64(m.GetCounter().GetValue() * 1000)
		case "process_resident_memory_bytes":
			p.residentBytes = uint64(m.GetGauge().GetValue())
		case "process_open_fds":
			p.openFiles = uint64(m.GetGauge().GetValue())
		case "process_max_fds":
			p.maxFiles = uint64(m.GetGauge().GetValue())
		}
	}
	samples := []rt.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	rt.Read(samples)
	p.heapBytes, p.goroutines = samples[0].Value.Uint64(), samples[1].Value.Uint64()
	return p
}

// difference computes rates from two readings.
type difference struct {
	now, then *reading
	spanMs    int64
}

// rate writes how often something has happened in a second, with three decimals.
func (d *difference) rate(w *json.Writer, name string, now, then uint64) {
	w.Name(name).Rate(int64((now-min(then, now))*1_000_000)/d.spanMs, 3)
}

// quantiles writes the members P50Us and P99Us behind a prefix, null without a duration.
func quantiles(w *json.Writer, prefix string, c *clock.Counts) {
	for _, q := range [...]struct {
		name       string
		hundredths uint64
	}{{"50Us", 50}, {"99Us", 99}} {
		ns, ok := c.Quantile(q.hundredths)
		w.Name(prefix+q.name).IntOrNull(ns/1000, ok)
	}
}

func (f *Figures) write(w *json.Writer, d *difference, p *process) {
	w.Object()
	w.Name("at").Ms(d.now.atNs)
	w.Name("spanMs").Int(d.spanMs)
	w.Name("status").Word(f.src.Status())
	w.Name("version").Text(cmdline.Version)
	w.Name("uptimeSeconds").Int(int64(time.Duration(d.now.atNs-f.startedNs) / time.Second))
	w.Name("pairs").Int(int64(len(f.src.Board.Load().Sorted())))
	f.writeRoutes(w, d)
	f.writeLoop(w, d)
	d.writeLogs(w)
	d.writeStreams(w)
	w.Name("process").Object()
	d.rate(w, "cpuMsPerSecond", p.cpuMs, d.then.cpuMs)
	for _, m := range []struct {
		name string
		v    uint64
	}{
		{"residentBytes", p.residentBytes},
		{"heapBytes", p.heapBytes},
		{"goroutines", p.goroutines},
		{"openFiles", p.openFiles},
		{"maxFiles", p.maxFiles},
	} {
		w.Name(m.name).Uint(m.v)
	}
	w.EndObject()
	w.Name("disk")
	if free, total, ok := f.src.Disk(); ok {
		w.Object()
		w.Name("freeBytes").Int(free)
		w.Name("totalBytes").Int(total)
		w.EndObject()
	} else {
		w.Null()
	}
	f.writeReplication(w)
	w.Name("faults")
	writeRules(w, f.src.Faults(), f.src.Board)
	w.Name("incidents").List()
	for _, in := range f.src.Incidents() {
		in.Write(w, true)
	}
	w.EndList()
	w.EndObject()
}

// writeRoutes writes the members requests and routes: the busiest route of the span first.
func (f *Figures) writeRoutes(w *json.Writer, d *difference) {
	type key struct{ listener, method, path string }
	before := map[key]*edge.RouteStat{}
	for i := range d.then.routes {
		r := &d.then.routes[i]
		before[key{r.listener, r.Method, r.Path}] = &r.RouteStat
	}
	type row struct {
		routeReading
		total, n, refused, failed uint64 // answers since the start, and within the span
	}
	rows := make([]row, 0, len(d.now.routes))
	var all row
	for _, r := range d.now.routes {
		then := before[key{r.listener, r.Method, r.Path}]
		if then == nil {
			then = &edge.RouteStat{}
		}
		one := row{
			routeReading: r, total: answered(&r.RouteStat),
			refused: r.Status[4] - then.Status[4], failed: r.Status[5] - then.Status[5],
		}
		one.n = one.total - answered(then)
		one.Latency = r.Latency.Minus(&then.Latency)
		rows = append(rows, one)
		all.n, all.refused, all.failed = all.n+one.n, all.refused+one.refused, all.failed+one.failed
		all.Latency = all.Latency.Plus(&one.Latency)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(b.total, a.total), cmp.Compare(a.listener, b.listener),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	rates := func(r *row) {
		d.rate(w, "perSecond", r.n, 0)
		d.rate(w, "refusedPerSecond", r.refused, 0)
		d.rate(w, "failedPerSecond", r.failed, 0)
		quantiles(w, "p", &r.Latency)
	}
	w.Name("requests").Object()
	rates(&all)
	d.rate(w, "limitedPerSecond", d.now.limited, d.then.limited)
	w.Name("connections").Int(int64(f.src.Server().Connections()))
	w.EndObject()
	w.Name("routes").List()
	for i := range rows {
		r := &rows[i]
		w.Object()
		w.Name("listener").Word(r.listener)
		w.Name("method").Word(r.Method)
		w.Name("path").Text(r.Path)
		w.Name("total").Uint(r.total)
		rates(r)
		w.EndObject()
	}
	w.EndList()
}

func (f *Figures) writeLoop(w *json.Writer, d *difference) {
	w.Name("loop")
	now, then := d.now.loop, d.then.loop
	stats, queued := f.src.Loop()
	if now == nil || stats == nil {
		w.Null()
		return
	}
	if then == nil {
		then = &loopReading{}
	}
	w.Object()
	d.rate(w, "commandsPerSecond", now.commands, then.commands)
	d.rate(w, "ordersPerSecond", now.orders, then.orders)
	d.rate(w, "tradesPerSecond", now.trades, then.trades)
	d.rate(w, "rejectsPerSecond", now.rejects, then.rejects)
	d.rate(w, "publishesPerSecond", now.publishes, then.publishes)
	d.rate(w, "busyPerSecond", now.busy, then.busy)
	w.Name("queue").Int(int64(queued))
	w.Name("queueLimit").Int(sequencer.QueueBatches)
	waits := now.waits.Minus(&then.waits)
	quantiles(w, "waitP", &waits)
	age := time.Duration(0)
	if oldest := stats.OldestNs.Load(); oldest != 0 {
		age = max(0, time.Duration(d.now.atNs-oldest))
	}
	w.Name("viewAgeMs").Int(age.Milliseconds())
	w.EndObject()
}

func (d *difference) writeLogs(w *json.Writer) {
	w.Name("logs").List()
	for i := range d.now.logs {
		now, then := &d.now.logs[i], &LogStat{}
		for j := range d.then.logs {
			if d.then.logs[j].Log == now.Log {
				then = &d.then.logs[j]
			}
		}
		w.Object()
		w.Name("log").Text(now.Log)
		d.rate(w, "bytesPerSecond", uint64(now.Bytes), uint64(then.Bytes))
		syncs := now.Syncs.Minus(&then.Syncs)
		d.rate(w, "syncsPerSecond", syncs.Total(), 0)
		quantiles(w, "syncP", &syncs)
		w.Name("unsyncedRecords").Uint(now.Last - min(now.Durable, now.Last))
		w.Name("segments").Int(int64(now.Segments))
		w.Name("diskBytes").Int(now.DiskBytes)
		w.Name("replayBytes").Int(now.Replay)
		w.Name("snapshotBytes").IntOrNull(now.SnapshotBytes, now.SnapshotNs != 0)
		w.Name("snapshotAt").IntOrNull(now.SnapshotNs/1_000_000, now.SnapshotNs != 0)
		w.Name("snapshotFailures").Uint(now.SnapshotFailures)
		w.EndObject()
	}
	w.EndList()
}

func (d *difference) writeStreams(w *json.Writer) {
	w.Name("streams").List()
	for _, kind := range slices.Sorted(maps.Keys(d.now.streams)) {
		now, then := d.now.streams[kind], d.then.streams[kind]
		subscriptions := int64(0)
		for _, n := range now.Subscriptions {
			subscriptions += n
		}
		w.Object()
		w.Name("kind").Word(kind)
		w.Name("sockets").Int(now.Sockets)
		w.Name("subscriptions").Int(subscriptions)
		d.rate(w, "messagesPerSecond", now.Messages, then.Messages)
		d.rate(w, "bytesPerSecond", now.Bytes, then.Bytes)
		d.rate(w, "droppedPerSecond", now.Dropped, then.Dropped)
		w.Name("dropped").Uint(now.Dropped)
		w.Name("resyncs").Uint(now.Resyncs)
		w.Name("slowCloses").Uint(now.SlowCloses)
		w.EndObject()
	}
	w.EndList()
}

// writeReplication writes the place of the node in a cluster, null for any other exchange.
func (f *Figures) writeReplication(w *json.Writer) {
	w.Name("replication")
	r := f.src.Replication()
	if r == nil {
		w.Null()
		return
	}
	w.Object()
	w.Name("role").Word(r.Role)
	w.Name("term").Uint(r.Term)
	w.Name("position").Uint(r.Position)
	w.Name("lagMs").Int(r.LagMs)
	acks := r.Acks
	if acks == nil {
		acks = &clock.Counts{}
	}
	quantiles(w, "ackP", acks)
	w.Name("nodes").List()
	for i := range r.Nodes {
		r.Nodes[i].write(w)
	}
	w.EndList()
	w.EndObject()
}

func (n *NodeStat) write(w *json.Writer) {
	w.Object()
	w.Name("address").Text(n.Address)
	w.Name("role").Word(n.Role)
	w.Name("term").Uint(n.Term)
	w.Name("position").Uint(n.Position)
	w.Name("lagMs").Int(n.LagMs)
	w.Name("stale").Bool(n.Stale)
	w.Name("failed").Bool(n.Failed)
	w.Name("version").Text(n.Version)
	w.Name("heardMs").Int(n.HeardMs)
	w.EndObject()
}
