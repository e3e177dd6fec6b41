package admin

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// systemRoutes returns the routes of clock, state hash, readiness, metrics, profiles and log.
func systemRoutes(s *Server) []*edge.Route {
	routes := []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/clock", Handle: s.getClock,
			Name: "getClock", Summary: "The clock",
		},
		{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + "/clock", Handle: s.setClock, Schema: "SetClock",
			Members: clockForm.Members(),
			Name:    "setClock", Summary: "Advance the virtual clock",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + "/clock/accept", Handle: s.acceptClock,
			Schema: "AcceptClock", Members: emptyForm.Members(),
			Name: "acceptClock", Summary: "Accept a step of the machine's clock",
			Text: "A real clock holds a forward step of the machine's clock of more than 5 s. This follows it, and " +
				"answers after all work that fell due is published. Without a held step it changes nothing. A " +
				"virtual clock answers 409.",
			Refuses: []int{409},
		},
		edge.ReadyProbe(readyPath, s.unready).Does("getReady", "Readiness; 503 until then"),
	}
	routes = append(routes, edge.Probes(s.unready)...)
	if s.opt.Incidents != nil {
		routes = append(routes, &edge.Route{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/incidents", Early: true, Handle: s.incidents,
			Name: "listIncidents", Summary: "The incidents of /api/status with their details",
		})
	}
	if s.opt.StateHash != nil {
		routes = append(routes, &edge.Route{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix +
				"/state-hash", Handle: s.stateHash,
			Name: "getStateHash", Summary: "The hash of the state",
		})
	}
	if s.opt.Snapshot != nil {
		routes = append(routes, &edge.Route{
			Method: fasthttp.MethodGet, Path: snapshotPath, Handle: s.snapshot,
			Params:  edge.Params(fresh),
			Name:    "getSnapshot",
			Summary: "The newest snapshot file of the node: a backup, and that with which another node begins",
			Refuses: []int{409},
		})
	}
	if s.opt.LogLevel != nil {
		routes = append(routes,
			&edge.Route{
				Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/log", Handle: s.getLog,
				Name: "getLogLevel", Summary: "The level of the log",
			},
			&edge.Route{
				Method: fasthttp.MethodPatch, Path: edge.InternalPrefix + "/log", Handle: s.setLog,
				Schema: "SetLog", Members: logForm.Members(),
				Name: "setLogLevel", Summary: "Set the level of the log",
			})
	}
	if s.opt.Metrics != nil {
		routes = append(routes, s.metricsRoute())
	}
	if s.opt.Figures != nil {
		routes = append(routes, s.opt.Figures.route())
	}
	return edge.Tagged("System", append(routes, profileRoutes()...))
}

func (s *Server) metricsRoute() *edge.Route {
	scrape := fasthttpadaptor.NewFastHTTPHandler(s.opt.Metrics)
	return &edge.Route{
		Method: fasthttp.MethodGet, Path: "/metrics", Early: true,
		Name: "getMetrics", Summary: "Metrics in the text format of Prometheus",
		Handle: func(c *edge.Ctx) *refuse.Refusal {
			// do not compress: on loopback it costs more than it saves
			c.Request.Header.DelBytes(edge.ReqAcceptEncoding)
			scrape(c.RequestCtx)
			return nil
		},
	}
}

// unready returns the reason why clients are not served, nil while they are.
func (s *Server) unready() *refuse.Refusal {
	if !s.opt.Ready.Load() {
		return refuse.Later(1, edge.Recovering)
	}
	if s.opt.Stale == nil {
		return nil
	}
	return s.opt.Stale()
}

// incidents serves GET /incidents: those of /api/status, with what only the operator may read.
func (s *Server) incidents(c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	w.List()
	for _, in := range s.opt.Incidents() {
		in.Write(&w, true)
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

// maxAdvance limits one advance of the virtual clock (docs/contract/limits.md#clock-and-times).
const maxAdvance = 366 * 24 * time.Hour

// getClock serves GET /clock.
func (s *Server) getClock(c *edge.Ctx) *refuse.Refusal {
	s.sendClock(c)
	return nil
}

func (s *Server) sendClock(c *edge.Ctx) {
	ns := s.opt.Clock.NowNs()
	var w json.Writer
	w.Object()
	w.Name("now").Ms(ns)
	w.Name("nowNs").Int(ns)
	w.Name("seq").Uint(s.opt.Board.Load().SeqSum)
	w.Name("virtual").Bool(s.opt.Clock.Virtual())
	w.Name("speed").Int(s.speed())
	w.EndObject()
	c.Private(w.Bytes())
}

// speed returns how many seconds of the clock pass in a second of the machine.
func (s *Server) speed() int64 {
	switch {
	case !s.opt.Clock.Virtual():
		return 1
	case s.opt.Pace == nil:
		return 0
	}
	return s.opt.Pace.Speed()
}

// maxSpeed limits the speed of a virtual clock: a day in a second.
const maxSpeed = 86_400

// clockRequest is the body of POST /clock.
type clockRequest struct {
	advance *time.Duration
	to      *int64 // Unix ms
	speed   *int64
}

var clockForm = json.Of(
	json.Value("advance", json.KindText, duration, func(q *clockRequest, v time.Duration) { q.advance = &v }),
	json.Integer("to", 0, math.MaxInt64/1_000_000, func(q *clockRequest, v int64) { q.to = &v }).
		As(json.Field{Kind: json.KindInt64, Range: []int64{0}}),
	json.Integer("speed", 0, maxSpeed, func(q *clockRequest, v int64) { q.speed = &v }),
).
	Rule("to", "must not be given with advance: give one of the two.",
		func(q *clockRequest) bool { return q.advance == nil || q.to == nil }).
	Rule("speed", "must not be given with advance or to: give one of the three.",
		func(q *clockRequest) bool { return q.speed == nil || q.advance == nil && q.to == nil }).
	Rule("advance", "is required, or to or speed instead.",
		func(q *clockRequest) bool { return q.advance != nil || q.to != nil || q.speed != nil })

func duration(r *json.Reader) (d time.Duration, given bool) {
	text := r.Text(64)
	if text == nil {
		return 0, false
	}
	d, err := clock.ParseDuration(string(text))
	if err != nil {
		r.Bad("must be a duration such as 90s, 36h or 7d.")
	}
	return d, err == nil
}

// setClock serves POST /clock. It answers after the work that became due is done and published.
func (s *Server) setClock(c *edge.Ctx) *refuse.Refusal {
	var q clockRequest
	if err := clockForm.Decode(c.PostBody(), &q); err != nil {
		return err
	}
	if !s.opt.Clock.Virtual() {
		return refuse.New(refuse.Conflict, "", "The clock is the machine's and cannot be set: start with --clock "+
			"virtual.")
	}
	if s.opt.Replay != nil {
		return refuse.New(refuse.Conflict, "",
			"The recording drives the clock: move it by POST /internal/v1/replay/seek.")
	}
	if q.speed != nil {
		return s.setSpeed(c, *q.speed)
	}
	now := s.opt.Clock.NowNs()
	var target int64
	var field string
	if q.to != nil {
		target, field = *q.to*1_000_000, "to"
	} else {
		target, field = now+int64(*q.advance), "advance"
	}
	if target < now && (q.to == nil || *q.to < fixed.FloorDiv(now, 1_000_000)) {
		return refuse.Param(field, "The member %s must not move the clock back.", field)
	}
	target = max(target, now)
	if target-now > int64(maxAdvance) || target > entry.MaxStampNs {
		return refuse.Param(field, "The member %s must move the clock by at most 366d, and not beyond the year 2200.",
			field)
	}
	if err := s.opt.Exchange.AdvanceTo(target); err != nil {
		e := entry.Unconfirmed(err, "The move of the clock, or what fell due on the way,", "look at the clock.")
		if e.Field == "at" {
			e = refuse.Param(field, "The member %s must not move the clock back.", field)
		}
		return e
	}
	s.sendClock(c)
	return nil
}

// setSpeed makes the virtual clock move by itself, or stand still.
func (s *Server) setSpeed(c *edge.Ctx, speed int64) *refuse.Refusal {
	if s.opt.Pace == nil {
		return refuse.New(refuse.Conflict, "speed", "This clock moves by advance and to alone.")
	}
	if err := s.opt.Pace.SetSpeed(speed); err != nil {
		return err
	}
	s.sendClock(c)
	return nil
}

// acceptClock serves POST /clock/accept: a real clock that holds a step of the machine's follows
// it. It answers after all work that fell due is published.
func (s *Server) acceptClock(c *edge.Ctx) *refuse.Refusal {
	if err := decodeEmpty(c.PostBody()); err != nil {
		return err
	}
	steady, ok := s.opt.Clock.(*clock.Steady)
	if !ok {
		return refuse.New(refuse.Conflict, "", "The clock is virtual and does not follow the machine's: "+
			"move it by POST /internal/v1/clock.")
	}
	s.opt.Log.Info("the machine's clock was accepted", "ahead", steady.Ahead(), "requestId", c.RequestID())
	steady.Accept()
	for range 2 { // the first wakes the loop, the second runs after what fell due
		if err := s.opt.Exchange.Query(func() {}); err != nil {
			return entry.Unconfirmed(err, "What fell due", "look at the clock.")
		}
	}
	s.sendClock(c)
	return nil
}

// stateHash serves GET /state-hash: the hash of each part's canonical state and of each pair's, and a hash over
// the parts.
func (s *Server) stateHash(c *edge.Ctx) *refuse.Refusal {
	h, err := s.opt.StateHash()
	if err != nil {
		s.opt.Log.Error("state hash", "requestId", c.RequestID(), "error", err)
		return refuse.Later(1, "The state cannot be read now: %s.", err)
	}
	var w json.Writer
	w.Object()
	w.Name("seq").Uint(h.Market.Seq)
	w.Name("hash").Word(h.Hash)
	w.Name("parts").Object()
	for _, part := range h.Parts() {
		w.Name(part.Name).Word(part.Hash)
	}
	w.EndObject()
	w.Name("pairs").List()
	for _, p := range h.Market.Pairs {
		w.Object()
		w.Name("currencyPairCode").Word(p.Code)
		w.Name("seq").Uint(p.Seq)
		w.Name("hash").Word(p.Hash)
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// getLog serves GET /log.
func (s *Server) getLog(c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	w.Object()
	w.Name("level").Word(strings.ToLower(s.opt.LogLevel.Level().String()))
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

var logLevels = []json.Word[slog.Level]{
	{Text: "debug", Value: slog.LevelDebug}, {Text: "info", Value: slog.LevelInfo}, {
		Text:  "warn",
		Value: slog.LevelWarn,
	}, {Text: "error", Value: slog.LevelError},
}

var logForm = json.Of(json.Choice("level", logLevels, func(l *slog.Level, v slog.Level) { *l = v }).Need())

// setLog serves PATCH /log, which changes the log's level.
func (s *Server) setLog(c *edge.Ctx) *refuse.Refusal {
	var level slog.Level
	if err := logForm.Decode(c.PostBody(), &level); err != nil {
		return err
	}
	s.opt.LogLevel.Set(level)
	return s.getLog(c)
}

const (
	// paceWindow is the time within which a client must read paceQuota bytes of a snapshot: it keeps a file open.
	paceWindow = time.Minute
	paceQuota  = 4 << 20

	binaryType = "application/octet-stream"
)

// Snapshot is a snapshot of this node that a client reads.
type Snapshot struct {
	Tag     string // strong entity tag
	Size    int64
	Message uint64 // of the stream, behind which it continues the snapshot; 0: none is known
	Body    interface {
		io.ReaderAt
		io.Closer
	}
}

// HdrMessage is the header with the number of the message behind which the stream continues a snapshot.
const HdrMessage = "X-Stream-Message"

var fresh = edge.Flag("fresh")

// snapshot serves GET /snapshot: the newest snapshot file on the disk, byte for byte (internal/wal/FORMAT.md). A
// request for a range of it is answered as long as it is the newest one, so that a transfer goes on where it broke off.
func (s *Server) snapshot(c *edge.Ctx) *refuse.Refusal {
	anew, refused := fresh.Of(c)
	if refused != nil {
		return refused
	}
	found, refused := s.opt.Snapshot(anew)
	if refused != nil {
		return refused
	}
	h := &c.Response.Header
	h.SetContentType(binaryType)
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Disposition", `attachment; filename="tickhive.snap"`)
	h.SetCanonical(edge.HdrETag, []byte(found.Tag))
	h.Set(HdrMessage, strconv.FormatUint(found.Message, 10))
	from, n := int64(0), found.Size
	want, part := parseRange(string(c.Request.Header.Peek("Range")))
	if tag := string(c.Request.Header.Peek("If-Range")); tag != "" && tag != found.Tag {
		part = false // another file: the whole of it
	}
	if part && !c.IsHead() {
		var ok bool
		if from, n, ok = want.of(found.Size); !ok {
			_ = found.Body.Close() // was not read
			h.Set("Content-Range", fmt.Sprintf("bytes */%d", found.Size))
			c.Response.SetStatusCode(fasthttp.StatusRequestedRangeNotSatisfiable)
			return nil
		}
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, found.Size))
		c.Response.SetStatusCode(fasthttp.StatusPartialContent)
	}
	c.SendPaced(struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(found.Body, from, n), found.Body}, n, paceQuota, paceWindow)
	return nil
}

// byteRange is a part of a body that a client asks for (RFC 9110, section 14.1.2).
type byteRange struct {
	from, to int64 // the first and the last byte
	suffix   int64 // the last bytes; -1: from and to are given
}

// parseRange reads the header Range. ok is false for another unit, several ranges and a text that is no range: the
// answer is the whole body then.
func parseRange(header string) (r byteRange, ok bool) {
	unit, spec, _ := strings.Cut(header, "=")
	first, last, dash := strings.Cut(strings.Trim(spec, " \t"), "-")
	if !strings.EqualFold(unit, "bytes") || !dash {
		return r, false
	}
	r = byteRange{to: math.MaxInt64, suffix: -1}
	if first == "" {
		r.suffix, ok = position(last)
		return r, ok
	}
	if r.from, ok = position(first); ok && last != "" {
		r.to, ok = position(last)
	}
	return r, ok && r.from <= r.to
}

// position reads a number of digits. One beyond every body is the largest one.
func position(digits string) (n int64, ok bool) {
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		n = math.MaxInt64
	}
	return n, digits != ""
}

// of returns the place of the range in a body. ok is false when the body has no byte of it.
func (r byteRange) of(size int64) (from, n int64, ok bool) {
	if r.suffix >= 0 {
		n = min(r.suffix, size)
		return size - n, n, n > 0
	}
	return r.from, min(r.to, size-1) - r.from + 1, r.from < size
}

const profilePath = "/debug/pprof"

// profileRoutes returns the routes of the Go runtime's profiles.
func profileRoutes() []*edge.Route {
	wrap := func(h http.HandlerFunc) edge.Handler {
		f := fasthttpadaptor.NewFastHTTPHandler(h)
		return func(c *edge.Ctx) *refuse.Refusal {
			f(c.RequestCtx)
			if status := c.Response.StatusCode(); status != fasthttp.StatusOK {
				return profileError(c, status)
			}
			return nil
		}
	}
	seconds := edge.Params(edge.Integer("seconds", 1, math.MaxInt64).Says("Length of the measurement."))
	return []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: profilePath, Handle: wrap(pprof.Index),
			Name: "getProfiles", Summary: "The list of the runtime's profiles",
		},
		{
			Method: fasthttp.MethodGet, Path: profilePath + "/cmdline", Handle: wrap(pprof.Cmdline),
			Name: "getCommandLine", Summary: "The command line",
		},
		{
			Method: fasthttp.MethodGet, Path: profilePath + "/profile", Handle: wrap(pprof.Profile), Params: seconds,
			Name: "getCPUProfile", Summary: "A CPU profile",
		},
		{
			Method: fasthttp.MethodGet, Path: profilePath + "/symbol", Handle: wrap(pprof.Symbol),
			Name: "getSymbols", Summary: "Names of program counters",
		},
		{
			Method: fasthttp.MethodGet, Path: profilePath + "/trace", Handle: wrap(pprof.Trace), Params: seconds,
			Name: "getTrace", Summary: "An execution trace",
		},
		{
			Method: fasthttp.MethodGet, Path: profilePath + "/{name}", Handle: wrap(pprof.Index),
			Name: "getProfile", Summary: "One profile",
		},
	}
}

// profileError converts the plain-text error of net/http/pprof to the error object of the API.
func profileError(c *edge.Ctx, status int) *refuse.Refusal {
	text := strings.TrimSpace(string(c.Response.Body()))
	c.Response.Reset()
	switch status {
	case fasthttp.StatusNotFound:
		return refuse.Missing("name", "There is no profile of this name.")
	case fasthttp.StatusBadRequest:
		return refuse.Param("seconds", "The profile cannot be taken: %s.", text)
	}
	return refuse.Later(1, "The profile cannot be taken now: %s.", text)
}

// trimProfilePath removes the trailing slash of /debug/pprof/, the only path of the contract with one.
func trimProfilePath(ctx *fasthttp.RequestCtx) {
	target := string(ctx.Request.Header.RequestURI())
	if rest, ok := strings.CutPrefix(target, profilePath+"/"); ok && (rest == "" || rest[0] == '?') {
		ctx.Request.SetRequestURI(profilePath + rest)
	}
}
