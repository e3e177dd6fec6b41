package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// figures are those of GET /internal/v1/figures (docs/contract/internal.md#figures).
type figures struct {
	At, SpanMs, UptimeSeconds, Pairs int64
	Status, Version                  string
	Requests                         struct {
		topRates
		LimitedPerSecond float64
		Connections      int64
	}
	Routes []struct {
		Listener, Method, Path string
		Total                  int64
		topRates
	}
	Loop *struct {
		CommandsPerSecond, OrdersPerSecond, TradesPerSecond float64
		RejectsPerSecond, PublishesPerSecond, BusyPerSecond float64
		Queue, QueueLimit, ViewAgeMs                        int64
		WaitP50Us, WaitP99Us                                *int64
	}
	Logs []struct {
		BytesPerSecond, SyncsPerSecond                                      float64
		SyncP50Us, SyncP99Us, SnapshotBytes, SnapshotAt                     *int64
		UnsyncedRecords, Segments, DiskBytes, ReplayBytes, SnapshotFailures int64
	}
	Streams []struct {
		Kind                                                 string
		Sockets, Subscriptions, Dropped, Resyncs, SlowCloses int64
		MessagesPerSecond, BytesPerSecond                    float64
	}
	Process struct {
		CPUMsPerSecond                                            float64
		ResidentBytes, HeapBytes, Goroutines, OpenFiles, MaxFiles int64
	}
	Disk        *struct{ FreeBytes, TotalBytes int64 }
	Replication *struct {
		Role                  string
		Term, Position, LagMs int64
		AckP50Us, AckP99Us    *int64
		Nodes                 []struct { // the first one is the node that answers
			Address, Role, Version         string
			Term, Position, LagMs, HeardMs int64
			Stale, Failed                  bool
		}
	}
	Faults []struct {
		ID, Applied int64
		Rule        string
	}
	Incidents []struct {
		At, Count     int64
		Kind, Message string
	}
}

type topRates struct {
	PerSecond, RefusedPerSecond, FailedPerSecond float64
	P50Us, P99Us                                 *int64
}

const (
	topName  = 11         // columns of the names in front of the lines
	topHeads = "listener" // begins the heads of the routes

	mostIncidents = 3
	mostNodes     = 8
	mostFaults    = 3
)

// split returns the name in front of a line of a view, and what follows it.
func split(line string) (name, rest string) {
	if len(line) < topName || strings.HasPrefix(line, "  ") || line[topName-1] != ' ' {
		return "", line
	}
	return line[:topName], line[topName:]
}

// view returns the lines of a view with at most so many rows, but at least those above the routes.
func (f *figures) view(at string, rows int) []string {
	lines := []string{fmt.Sprintf("TickHive %s at %s: %s, up %s, %d pairs; rates over %s", f.Version, at, f.Status,
		time.Duration(f.UptimeSeconds)*time.Second, f.Pairs,
		(time.Duration(f.SpanMs) * time.Millisecond).Round(100*time.Millisecond))}
	line := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-*s", topName, name)+fmt.Sprintf(format, args...))
	}
	r := &f.Requests
	line("requests", "%s/s  p50 %s  p99 %s  4xx %s/s  5xx %s/s  limited %s/s  connections %d", perSecond(r.PerSecond),
		micros(r.P50Us), micros(r.P99Us), perSecond(r.RefusedPerSecond), perSecond(r.FailedPerSecond),
		perSecond(r.LimitedPerSecond), r.Connections)
	if l := f.Loop; l != nil {
		line("loop", "orders %s/s  trades %s/s  commands %s/s  refused %s/s  publications %s/s",
			perSecond(l.OrdersPerSecond), perSecond(l.TradesPerSecond), perSecond(l.CommandsPerSecond),
			perSecond(l.RejectsPerSecond), perSecond(l.PublishesPerSecond))
		line("", "queue %d of %d  full %s/s  record to view p50 %s  p99 %s  oldest unseen %d ms", l.Queue, l.QueueLimit,
			perSecond(l.BusyPerSecond), micros(l.WaitP50Us), micros(l.WaitP99Us), l.ViewAgeMs)
	}
	f.disk(line)
	for i := range f.Streams {
		s := &f.Streams[i]
		line("streams", "%s: sockets %d  subscriptions %d  messages %s/s  %s/s  dropped %d  resyncs %d  closed %d",
			s.Kind, s.Sockets, s.Subscriptions, perSecond(s.MessagesPerSecond), size(int64(s.BytesPerSecond)),
			s.Dropped,
			s.Resyncs, s.SlowCloses)
	}
	p := &f.Process
	line("process", "memory %s  heap %s  processor %.0f %%  goroutines %d  files %d of %d", size(p.ResidentBytes),
		size(p.HeapBytes), p.CPUMsPerSecond/10, p.Goroutines, p.OpenFiles, p.MaxFiles)
	f.cluster(line)
	for i, x := range f.Faults {
		if i == mostFaults {
			line("fault", "and %d more: tickhive faults list", len(f.Faults)-i)
			break
		}
		line("fault", "%d  %s  applied %d", x.ID, x.Rule, x.Applied)
	}
	for _, x := range f.Incidents[:min(len(f.Incidents), mostIncidents)] {
		line("incident", "%s  %s: %s (%d)", time.UnixMilli(x.At).UTC().Format(time.DateTime), x.Kind, x.Message,
			x.Count)
	}
	return append(lines, f.routes(rows-len(lines)-1)...)
}

// cluster adds a line of the place in a cluster, and one for each other node.
func (f *figures) cluster(line func(name, format string, args ...any)) {
	r := f.Replication
	if r == nil {
		return
	}
	line("cluster", "%s  term %d  position %d  lag %d ms  acknowledged p50 %s  p99 %s", r.Role, r.Term, r.Position,
		r.LagMs, micros(r.AckP50Us), micros(r.AckP99Us))
	for i := 1; i < len(r.Nodes); i++ {
		if i > mostNodes {
			line("node", "and %d more", len(r.Nodes)-i)
			break
		}
		n := &r.Nodes[i]
		notes := ""
		if n.Failed {
			notes += "  failed"
		}
		if n.Stale {
			notes += "  stale"
		}
		if n.Version != f.Version {
			notes += "  version " + n.Version
		}
		line("node", "%s  %s  term %d  position %d  lag %d ms  heard %d ms ago%s", cmp.Or(n.Address, "(no address)"),
			n.Role, n.Term, n.Position, n.LagMs, n.HeardMs, notes)
	}
}

// disk adds the lines of the log and of its disk.
func (f *figures) disk(line func(name, format string, args ...any)) {
	for i := range f.Logs {
		l := &f.Logs[i]
		line("log", "%s/s  syncs %s/s  p50 %s  p99 %s  unsynced %d  segments %d of %s", size(int64(l.BytesPerSecond)),
			perSecond(l.SyncsPerSecond), micros(l.SyncP50Us), micros(l.SyncP99Us), l.UnsyncedRecords, l.Segments,
			size(l.DiskBytes))
		snapshot := "none yet"
		if l.SnapshotAt != nil && l.SnapshotBytes != nil {
			age := time.Duration(max(f.At-*l.SnapshotAt, 0)) * time.Millisecond
			snapshot = fmt.Sprintf("%s, %s old", size(*l.SnapshotBytes), age.Round(time.Second))
		}
		line("snapshot", "%s  replay %s  failed %d", snapshot, size(l.ReplayBytes), l.SnapshotFailures)
	}
	if d := f.Disk; d != nil {
		line("disk", "free %s of %s", size(d.FreeBytes), size(d.TotalBytes))
	}
}

// routes returns an empty line, the heads and the busiest routes, in so many rows; nothing where not even one has room.
func (f *figures) routes(rows int) []string {
	if rows < 2 {
		return nil
	}
	const format = "%-9s%-7s%-46s%9s%9s%9s%8s%8s%12s"
	lines := []string{"", fmt.Sprintf(format, topHeads, "method", "route", "/s", "p50", "p99", "4xx/s", "5xx/s",
		"total")}
	for i := range f.Routes[:min(len(f.Routes), rows-1)] {
		r := &f.Routes[i]
		lines = append(lines, fmt.Sprintf(format, r.Listener, r.Method, cut(cmp.Or(r.Path, "(none)"), 45),
			perSecond(r.PerSecond), micros(r.P50Us), micros(r.P99Us), perSecond(r.RefusedPerSecond),
			perSecond(r.FailedPerSecond), fmt.Sprint(r.Total)))
	}
	return lines
}

// perSecond returns a rate with as many decimals as its size needs.
func perSecond(v float64) string {
	if v == 0 || v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// micros returns a duration in the unit of its size, "-" without one.
func micros(us *int64) string {
	switch {
	case us == nil:
		return "-"
	case *us < 1000:
		return fmt.Sprintf("%d us", *us)
	case *us < 1_000_000:
		return fmt.Sprintf("%.1f ms", float64(*us)/1e3)
	}
	return fmt.Sprintf("%.1f s", float64(*us)/1e6)
}

// size returns a number of bytes in the unit of its size.
func size(n int64) string {
	units, v, i := []string{"B", "kB", "MB", "GB", "TB"}, float64(n), 0
	for v >= 1000 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
