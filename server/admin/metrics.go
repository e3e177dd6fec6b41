package admin

import (
	"math"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/conn"
	"github.com/tickhive/tickhive/server/edge"
)

// MetricsSource holds the sources that a scrape reads: atomics, frozen views and copies of counters. The
// program counts nothing for metrics alone, so they cost nothing without a scraper.
type MetricsSource struct {
	Board *marketdata.Board
	Clock clock.Clock
	// Loop returns the sequencer's counters and the number of queued batches. stats is nil while no loop runs.
	Loop func() (stats *sequencer.LoopStats, queued int)
	// Routes returns the route counters by listener: public, internal.
	Routes func() map[string][]edge.RouteStat
	// Server returns the public server, for its panics and connections.
	Server func() *edge.Server
	// Accepts returns the accept counters of each listener.
	Accepts func() []conn.AcceptStat
	// Scrubs returns the number of scrubs that read every file, and of files that the last one found damaged.
	Scrubs func() (ended uint64, damaged int64)
	// Status returns the member status of /api/status.
	Status func() string
	// Refused reports whether every change is refused, because a store or the stream takes none.
	Refused func() bool
	// Disk returns the free and all bytes of the file system of the data directory; ok is false without one.
	Disk func() (free, total int64, ok bool)
	// Logs returns the figures of each log that is open.
	Logs func() []LogStat
	// Streams returns the figures of sockets by their kind: native, binance.
	Streams func() map[string]StreamStat
	// Limited returns refusals by limits that the public server does not count, by the reason.
	Limited func() map[string]uint64
	// FacadeAuth returns refused credentials of the Binance listener, by the reason.
	FacadeAuth func() map[string]uint64
	// Guarded returns how often all orders of an account were canceled without a request, by the cause.
	Guarded func() map[string]uint64
	// Replication returns the figures of a node of a cluster, nil for any other exchange.
	Replication func() *ReplicationStat
	// SecretKeys returns the keys of the secrets, none of an exchange that is no writer or seals nothing.
	SecretKeys func() []SecretKey
	// MachineNs returns the machine's time in Unix ns; default clock.MachineNs.
	MachineNs func() int64
}

// SecretKey is a key of the secrets (auth.secret_key_file).
type SecretKey struct {
	ID           string
	State, Files bool // a field of the state, or a snapshot or record of the directory, may need it
}

// LogStat holds the figures of a log.
type LogStat struct {
	Log       string
	Bytes     int64  // appended since the start
	Last      uint64 // last record
	Durable   uint64 // last record that a power cut keeps
	Segments  int
	DiskBytes int64 // of the segments' records
	Replay    int64 // bytes behind the newest snapshot
	wal.Figures
}

// StreamStat holds the figures of all sockets of a kind.
type StreamStat struct {
	Sockets                                       int64
	Subscriptions                                 map[string]int64 // by channel
	Messages, Bytes, Dropped, Resyncs, SlowCloses uint64
	Unknown                                       uint64 // names of subscriptions that no stream has
}

// NewMetrics returns a handler that serves scrapes in Prometheus's text format.
func NewMetrics(src MetricsSource) http.Handler {
	if src.MachineNs == nil {
		src.MachineNs = clock.MachineNs
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		&metrics{src},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tickhive_build_info", Help: "The running build; always 1.",
			ConstLabels: prometheus.Labels{
				"version": cmdline.Version, "commit": cmdline.Commit(), "goversion": runtime.Version(),
			},
		}, func() float64 { return 1 }),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.MetricsGC, collectors.MetricsMemory, collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{DisableCompression: true})
}

// metrics implements prometheus.Collector; it reads its source at each scrape. It holds no state.
type metrics struct{ src MetricsSource }

func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("tickhive_"+name, help, labels, nil)
}

// The metrics besides the Go runtime's and the process's.
var (
	descRequests = metric("requests_total", "Requests by listener, route and class of status.", "listener",
		"method", "route", "status")
	descLatency = metric("request_seconds", "Time from the complete request to the complete response, without "+
		"the transfer.", "listener", "method", "route")
	descConnections = metric("connections", "Open connections of the public listeners.")
	descEvicted     = metric("connections_evicted_total",
		"Connections without a complete request, or idle longest, that were closed to make room for others.")
	descAccepts = metric("accept_failures_total",
		"Connections that a listener could not take for want of descriptors or memory.", "listener")
	descAuthFailures = metric("auth_failures_total", "Requests with refused credentials, by the reason.", "reason")
	descLimited      = metric("rate_limited_total", "Requests, messages and connections refused by a limit.",
		"reason")
	descPanics = metric("panics_total", "Handlers that panicked and were answered with 500.")

	descCommands  = metric("commands_total", "Commands sequenced: orders placed, canceled, replaced and all others.")
	descRejects   = metric("rejects_total", "Commands that the engine refused.")
	descOrders    = metric("orders_total", "Orders accepted.")
	descTrades    = metric("trades_total", "Trades made.")
	descEvents    = metric("events_total", "Events made.")
	descPublishes = metric("publishes_total", "Publications of views; commands / publishes is the mean batch.")
	descWaits     = metric("publish_wait_seconds",
		"How long the oldest event of a publication has waited: to be applied, folded, confirmed and shown.")
	descBusy     = metric("busy_total", "Batches refused because the queue was full.")
	descQueue    = metric("queue_batches", "Batches that wait for the engine.")
	descQueueMax = metric("queue_limit_batches", "Batches that may wait at most.")
	descInterval = metric("publish_age_seconds", "Time since the last publication.")
	descViewAge  = metric("view_age_seconds", "How long the oldest event that is not visible yet has waited.")

	descPairs     = metric("pairs", "Pairs.")
	descSeq       = metric("pair_seq", "Seq of the last published event.", "pair")
	descRing      = metric("ring_trades", "Trades kept.", "pair")
	descWindow    = metric("window_trades", "Trades of the last 24 h among those kept.", "pair")
	descLevels    = metric("book_levels", "Price levels of a side.", "pair", "side")
	descCandles   = metric("candles", "Closed and open candles kept, all intervals.", "pair")
	descDropped   = metric("trades_dropped_young_total", "Trades dropped for room while younger than 24 h.")
	descMemory    = metric("memory_bytes", "Memory of kept market data by kind, counted from its sizes.", "kind")
	descClock     = metric("clock_seconds", "Process clock, Unix time.")
	descScrubs    = metric("scrubs_total", "Scrubs that read every segment and snapshot of every log.")
	descDamaged   = metric("scrub_damaged_files", "Files that the last scrub found damaged.")
	descSecretKey = metric("secret_key_needed",
		"1 while a field of the state, or a file of the data directory, may need a key of secrets.", "key", "by")
	descStatus  = metric("status", "1 for the word that the status of the exchange is, 0 for the others.", "status")
	descRefused = metric("changes_refused",
		"1 while every change is refused: a full disk, a failed sync, a failed stream.")
	descFree        = metric("disk_free_bytes", "Free bytes of the file system of the data directory.")
	descDisk        = metric("disk_bytes", "Bytes of the file system of the data directory.")
	descLogBytes    = metric("log_bytes_total", "Bytes appended since the start.", "log")
	descLogRecord   = metric("log_last_record", "Sequence of the last record.", "log")
	descLogUnsynced = metric("log_unsynced_records", "Records that a power cut may take.", "log")
	descLogSegments = metric("log_segments", "Segments on disk.", "log")
	descLogDisk     = metric("log_disk_bytes",
		"Bytes of the segments on disk, without the zeros behind the last record.",
		"log")

	descLogSync = metric("log_sync_seconds", "Syncs of the log to disk.", "log")
	descReplay  = metric("log_replay_bytes", "Bytes of segments with records behind the newest snapshot: at most one "+
		"segment more than a start replays.", "log")

	descSnapshots      = metric("snapshot_seconds", "Snapshots written since the start, by their duration.", "log")
	descSnapshotFailed = metric("snapshot_failures_total", "Snapshots that could not be written.", "log")
	descSnapshotBytes  = metric("snapshot_bytes", "Size of the newest snapshot.", "log")
	descSnapshotTime   = metric("snapshot_timestamp_seconds", "Time of the newest snapshot, Unix time.", "log")

	descSockets       = metric("stream_sockets", "Open sockets.", "kind")
	descSubscriptions = metric("stream_subscriptions", "Subscriptions of open sockets.", "kind", "channel")
	descMessages      = metric("stream_messages_total", "Messages sent to sockets, with responses.", "kind")
	descStreamBytes   = metric("stream_sent_bytes_total", "Bytes of the messages sent to sockets.", "kind")
	descMessageDrops  = metric("stream_dropped_total", "Messages dropped because the client did not read them in time.",
		"kind")
	descResyncs    = metric("stream_resyncs_total", "Times a slow client's streams started over.", "kind")
	descSlowCloses = metric("stream_slow_closes_total", "Sockets closed because the client did not read.", "kind")
	descUnknown    = metric("stream_unknown_total",
		"Names in subscriptions that no stream has, which are answered like the others.", "kind")

	descGuarded = metric("accounts_canceled_total",
		"Accounts whose orders were all canceled without a request of their user, by the cause.", "cause")
)

// Describe sends the description of every metric.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range append([]*prometheus.Desc{
		descRequests, descLatency, descConnections, descEvicted, descAccepts,
		descAuthFailures, descPanics, descCommands, descRejects,
		descOrders, descTrades, descEvents, descPublishes, descWaits, descBusy, descQueue, descQueueMax, descInterval,
		descViewAge, descPairs, descSeq, descRing, descWindow, descLevels, descCandles, descDropped, descMemory,
		descClock,
		descScrubs, descDamaged, descGuarded, descLogBytes, descLogRecord, descLogUnsynced, descLogSegments,
		descLogDisk, descLogSync, descReplay, descSnapshots, descSnapshotFailed, descSnapshotBytes, descSnapshotTime,
		descSockets, descSubscriptions, descMessages, descStreamBytes, descMessageDrops, descResyncs, descSlowCloses,
		descUnknown, descLimited, descSecretKey, descStatus, descRefused, descFree, descDisk,
	}, replicationDescs...) {
		ch <- d
	}
}

// Collect reads every source once and sends the metrics.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.collectRoutes(ch)
	m.collectLoop(ch)
	m.collectMarket(ch)
	ended, damaged := m.src.Scrubs()
	counter(ch, descScrubs, ended)
	gauge(ch, descDamaged, float64(damaged))
	m.collectState(ch)
	m.collectLogs(ch)
	m.collectStreams(ch)
	m.collectReplication(ch)
	for _, k := range m.src.SecretKeys() {
		gauge(ch, descSecretKey, one(k.State), k.ID, "state")
		gauge(ch, descSecretKey, one(k.Files), k.ID, "files")
	}
	for cause, n := range m.src.Guarded() {
		counter(ch, descGuarded, n, cause)
	}
}

func (m *metrics) collectState(ch chan<- prometheus.Metric) {
	now := m.src.Status()
	for _, word := range [...]string{"ok", "recovering", "seeking", "stale", "degraded"} {
		gauge(ch, descStatus, one(word == now), word)
	}
	gauge(ch, descRefused, one(m.src.Refused()))
	if free, total, ok := m.src.Disk(); ok {
		gauge(ch, descFree, float64(free))
		gauge(ch, descDisk, float64(total))
	}
}

// one returns 1 for true.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (m *metrics) collectLogs(ch chan<- prometheus.Metric) {
	for _, l := range m.src.Logs() {
		counter(ch, descLogBytes, uint64(l.Bytes), l.Log)
		gauge(ch, descLogRecord, float64(l.Last), l.Log)
		// The last record is read before the durable one, so the difference may be negative for a moment.
		gauge(ch, descLogUnsynced, max(0, float64(l.Last)-float64(l.Durable)), l.Log)
		gauge(ch, descLogSegments, float64(l.Segments), l.Log)
		gauge(ch, descLogDisk, float64(l.DiskBytes), l.Log)
		gauge(ch, descReplay, float64(l.Replay), l.Log)
		histogram(ch, descLogSync, &l.Syncs, l.Log)
		histogram(ch, descSnapshots, &l.Snapshots, l.Log)
		counter(ch, descSnapshotFailed, l.SnapshotFailures, l.Log)
		if l.SnapshotNs != 0 {
			gauge(ch, descSnapshotBytes, float64(l.SnapshotBytes), l.Log)
			gauge(ch, descSnapshotTime, float64(l.SnapshotNs)/1e9, l.Log)
		}
	}
}

func (m *metrics) collectStreams(ch chan<- prometheus.Metric) {
	for kind, s := range m.src.Streams() {
		gauge(ch, descSockets, float64(s.Sockets), kind)
		for channel, n := range s.Subscriptions {
			gauge(ch, descSubscriptions, float64(n), kind, channel)
		}
		counter(ch, descMessages, s.Messages, kind)
		counter(ch, descStreamBytes, s.Bytes, kind)
		counter(ch, descMessageDrops, s.Dropped, kind)
		counter(ch, descResyncs, s.Resyncs, kind)
		counter(ch, descSlowCloses, s.SlowCloses, kind)
		counter(ch, descUnknown, s.Unknown, kind)
	}
}

// histogram sends durations in the buckets of powers of two microseconds.
func histogram(ch chan<- prometheus.Metric, d *prometheus.Desc, c *clock.Counts, labels ...string) {
	buckets, count := make(map[float64]uint64, clock.HistogramBuckets), uint64(0)
	for b, n := range c.Buckets {
		count += n
		if b < clock.HistogramBuckets-1 {
			buckets[math.Ldexp(1e-6, b)] = count
		}
	}
	ch <- prometheus.MustNewConstHistogram(d, count, float64(c.SumNs)/1e9, buckets, labels...)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v uint64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

var statusClasses = [...]string{edge.StatusStale: "stale", 1: "1xx", 2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"}

func (m *metrics) collectRoutes(ch chan<- prometheus.Metric) {
	for listener, routes := range m.src.Routes() {
		for i := range routes {
			r := &routes[i]
			path := r.Path
			if path == "" {
				path = "none"
			}
			for class := range r.Status {
				if r.Status[class] > 0 {
					counter(ch, descRequests, r.Status[class], listener, r.Method, path, statusClasses[class])
				}
			}
			if r.Latency != (clock.Counts{}) {
				histogram(ch, descLatency, &r.Latency, listener, r.Method, path)
			}
		}
	}
	srv := m.src.Server()
	gauge(ch, descConnections, float64(srv.Connections()))
	counter(ch, descEvicted, srv.Evicted())
	counter(ch, descPanics, srv.Panics())
	for i, n := range srv.AuthFailures() {
		reason := edge.AuthReasons[i]
		counter(ch, descAuthFailures, n+m.src.FacadeAuth()[reason], reason)
	}
	for reason, n := range srv.Limited() {
		counter(ch, descLimited, n, reason)
	}
	for reason, n := range m.src.Limited() {
		counter(ch, descLimited, n, reason)
	}
	for _, a := range m.src.Accepts() {
		counter(ch, descAccepts, a.Failures, a.Listener)
	}
}

func (m *metrics) collectLoop(ch chan<- prometheus.Metric) {
	gauge(ch, descQueueMax, sequencer.QueueBatches)
	stats, queued := m.src.Loop()
	if stats == nil {
		return
	}
	gauge(ch, descQueue, float64(queued))
	counter(ch, descCommands, stats.Commands.Load())
	counter(ch, descRejects, stats.Rejected.Load())
	counter(ch, descOrders, stats.Orders.Load())
	counter(ch, descTrades, stats.Trades.Load())
	counter(ch, descEvents, stats.Events.Load())
	counter(ch, descPublishes, stats.Batches.Load())
	waits := stats.Waits.Counts()
	histogram(ch, descWaits, &waits)
	counter(ch, descBusy, stats.Busy.Load())
	now := m.src.MachineNs()
	if at := stats.PublishNs.Load(); at != 0 {
		gauge(ch, descInterval, max(0, time.Duration(now-at).Seconds()))
	}
	age := time.Duration(0)
	if oldest := stats.OldestNs.Load(); oldest != 0 {
		age = max(0, time.Duration(now-oldest))
	}
	gauge(ch, descViewAge, age.Seconds())
}

// Bytes of one retained record of each kind, for the metric of memory; the types in marketdata state them.
const (
	bytesTrade  = 40
	bytesCandle = 80
	bytesLevel  = 16
)

func (m *metrics) collectMarket(ch chan<- prometheus.Metric) {
	now := m.src.Clock.NowNs()
	gauge(ch, descClock, float64(now)/1e9)
	root := m.src.Board.Load()
	gauge(ch, descPairs, float64(len(root.Sorted())))
	counter(ch, descDropped, root.DroppedYoung)
	var trades, candles, levels int
	for _, id := range root.Sorted() {
		v := root.View(id)
		pair := v.Instrument.Code
		gauge(ch, descSeq, float64(v.Seq), pair)
		kept, window := v.Trades.Len(), 0
		if kept > 0 {
			window = int(v.Trades.Last() + 1 - v.Trades.Search(now-24*int64(time.Hour)))
		}
		gauge(ch, descRing, float64(kept), pair)
		gauge(ch, descWindow, float64(window), pair)
		gauge(ch, descLevels, float64(v.Bids.Len()), pair, "bid")
		gauge(ch, descLevels, float64(v.Asks.Len()), pair, "ask")
		n := 0
		for i := range marketdata.Interval(marketdata.Intervals) {
			c := v.Candles(i)
			n += c.Len()
		}
		gauge(ch, descCandles, float64(n), pair)
		trades, candles, levels = trades+kept, candles+n, levels+v.Bids.Len()+v.Asks.Len()
	}
	gauge(ch, descMemory, float64(trades*bytesTrade), "trades")
	gauge(ch, descMemory, float64(candles*bytesCandle), "candles")
	gauge(ch, descMemory, float64(levels*bytesLevel), "published levels")
}

// ReplicationStat holds the figures of a node of a cluster.
type ReplicationStat struct {
	Role           string // writer or replica
	Term, Position uint64
	LagMs          int64
	// Acks holds the times until the stream has confirmed the records of a writer; nil: a replica.
	Acks *clock.Counts
	// Void counts the messages of former writers that a replica has passed over.
	Void uint64
	// Forwarded counts the requests of a replica by their outcome; nil: a writer.
	Forwarded map[string]uint64
	Nodes     []NodeStat // of the cluster: this one first, then the others that it hears
}

// NodeStat is a node of a cluster, as it has announced itself.
type NodeStat struct {
	Address        string // as cluster.advertise; empty: not known
	Role           string // writer, standby or replica
	Version        string
	Term, Position uint64
	LagMs          int64
	Stale          bool  // it refuses reads
	Failed         bool  // it sends, or executes, nothing more
	HeardMs        int64 // since the announcement
}

var (
	descTerm     = metric("stream_term", "Number of writers that the stream has had.", "role")
	descPosition = metric("stream_position", "Last command that the stream has confirmed, or the replica executed.",
		"role")
	descLag       = metric("stream_lag_seconds", "Age of what the stream has, or the replica shows.", "role")
	descAcks      = metric("stream_ack_seconds", "Time until the stream has confirmed a writer's records.", "role")
	descVoid      = metric("stream_void_total", "Messages of former writers that a replica has passed over.", "role")
	descForwarded = metric("forwarded_total", "Requests that a replica was to send to the writer, by the outcome.",
		"outcome")
	descNodes    = metric("nodes", "Nodes of the cluster that this node hears, itself among them.", "role")
	descNodesLag = metric("nodes_lag_seconds", "Largest lag of the nodes with a role, 0 without any.", "role")
)

var replicationDescs = []*prometheus.Desc{
	descTerm, descPosition, descLag, descAcks, descVoid, descForwarded, descNodes, descNodesLag,
}

func (m *metrics) collectReplication(ch chan<- prometheus.Metric) {
	r := m.src.Replication()
	if r == nil {
		return
	}
	gauge(ch, descTerm, float64(r.Term), r.Role)
	gauge(ch, descPosition, float64(r.Position), r.Role)
	gauge(ch, descLag, float64(r.LagMs)/1e3, r.Role)
	if r.Acks != nil {
		histogram(ch, descAcks, r.Acks, r.Role)
	}
	for _, role := range [...]string{"writer", "standby", "replica"} {
		n, lagMs := 0, int64(0)
		for i := range r.Nodes {
			if r.Nodes[i].Role == role {
				n, lagMs = n+1, max(lagMs, r.Nodes[i].LagMs)
			}
		}
		gauge(ch, descNodes, float64(n), role)
		gauge(ch, descNodesLag, float64(lagMs)/1e3, role)
	}
	if r.Forwarded == nil {
		return
	}
	counter(ch, descVoid, r.Void, r.Role)
	for outcome, n := range r.Forwarded {
		counter(ch, descForwarded, n, outcome)
	}
}
