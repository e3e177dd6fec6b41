package admin

import (
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"tickhive/internal/clock"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
	"tickhive/server/health"
)

// systemRoutes returns the routes of clock, state hash, readiness, metrics, profiles and log.
func systemRoutes(s *Server) []*edge.Route {
	routes := []*edge.Route{
		{Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/clock", Handle: s.getClock},
		{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + "/clock", Handle: s.setClock, Schema: "SetClock",
			Members: clockForm.Members(),
		},
		{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + "/clock/accept", Handle: s.acceptClock,
			Schema: "AcceptClock", Members: acceptForm.Members(),
		},
		health.Ready(readyPath, s.unready),
	}
	routes = append(routes, health.Routes(s.unready)...)
	if s.opt.Incidents != nil {
		routes = append(routes, &edge.Route{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/incidents", Early: true, Handle: s.incidents,
		})
	}
	if s.opt.StateHash != nil {
		routes = append(routes, &edge.Route{Method: fasthttp.MethodGet, Path: edge.InternalPrefix +
			"/state-hash", Handle: s.stateHash})
	}
	if s.opt.Backup != nil {
		routes = append(routes, &edge.Route{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/backup", Handle: s.backup,
		})
	}
	if s.opt.Snapshot != nil {
		routes = append(routes, &edge.Route{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/snapshots/latest", Handle: s.snapshot,
		})
	}
	if s.opt.LogLevel != nil {
		routes = append(routes,
			&edge.Route{Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/log", Handle: s.getLog},
			&edge.Route{
				Method: fasthttp.MethodPatch, Path: edge.InternalPrefix + "/log", Handle: s.setLog,
				Schema: "SetLog", Members: logForm.Members(),
			})
	}
	if s.opt.Metrics != nil {
		scrape := fasthttpadaptor.NewFastHTTPHandler(s.opt.Metrics)
		routes = append(routes, &edge.Route{
			Method: fasthttp.MethodGet, Path: "/metrics", Early: true,
			Handle: func(c *edge.Ctx) *refuse.Refusal {
				// do not compress: on loopback it costs more than it saves
				c.Request.Header.DelBytes(edge.ReqAcceptEncoding)
				scrape(c.RequestCtx)
				return nil
			},
		})
	}
	return append(routes, profileRoutes()...)
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
	b := []byte{'['}
	for i, in := range s.opt.Incidents() {
		if i > 0 {
			b = append(b, ',')
		}
		b = in.Append(b, true)
	}
	c.Private(append(b, ']'))
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
	b := encode.AppendMs([]byte(`{"now":`), ns)
	b = strconv.AppendInt(append(b, `,"nowNs":`...), ns, 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), s.opt.Board.Load().SeqSum, 10)
	c.Private(append(b, '}'))
}

// clockRequest is the body of POST /clock.
type clockRequest struct {
	advance *time.Duration
	to      *int64 // Unix ms
}

var clockForm = body.Of(
	body.Value("advance", edge.KindText, duration, func(q *clockRequest, v time.Duration) { q.advance = &v }),
	body.Integer("to", 0, math.MaxInt64/1_000_000, func(q *clockRequest, v int64) { q.to = &v }).
		As(edge.Field{Kind: edge.KindInt64, Range: []int64{0}}),
).
	Rule("to", "must not be given with advance: give one of the two.",
		func(q *clockRequest) bool { return q.advance == nil || q.to == nil }).
	Rule("advance", "is required, or to instead.",
		func(q *clockRequest) bool { return q.advance != nil || q.to != nil })

func duration(r *body.Reader) (d time.Duration, given bool) {
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
	now := s.opt.Clock.NowNs()
	var target int64
	var field string
	if q.to != nil {
		target, field = *q.to*1_000_000, "to"
	} else {
		target, field = now+int64(*q.advance), "advance"
	}
	if target < now && (q.to == nil || *q.to < encode.FloorDiv(now, 1_000_000)) {
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

// acceptForm is the body of POST /clock/accept: none, or an object without members.
var acceptForm = body.Of[struct{}]()

// acceptClock serves POST /clock/accept: a real clock that holds a step of the machine's follows
// it. It answers after all work that fell due is published.
func (s *Server) acceptClock(c *edge.Ctx) *refuse.Refusal {
	if text := c.PostBody(); len(text) > 0 {
		if err := acceptForm.Decode(text, &struct{}{}); err != nil {
			return err
		}
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

// stateHash serves GET /state-hash: the hash of each pair's canonical state, and a hash over
// these hashes.
func (s *Server) stateHash(c *edge.Ctx) *refuse.Refusal {
	h, err := s.opt.StateHash()
	if err != nil {
		s.opt.Log.Error("state hash", "requestId", c.RequestID(), "error", err)
		return refuse.Later(1, "The state cannot be read now: %s.", err)
	}
	b := strconv.AppendUint([]byte(`{"seq":`), h.Seq, 10)
	b = append(append(append(b, `,"hash":"`...), h.Hash...), `","pairs":[`...)
	for i, p := range h.Pairs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"currencyPairCode":"`...), p.Code...), `","seq":`...)
		b = strconv.AppendUint(b, p.Seq, 10)
		b = append(append(append(b, `,"hash":"`...), p.Hash...), `"}`...)
	}
	c.Private(append(b, "]}"...))
	return nil
}

// getLog serves GET /log.
func (s *Server) getLog(c *edge.Ctx) *refuse.Refusal {
	level := strings.ToLower(s.opt.LogLevel.Level().String())
	c.Private(append(encode.AppendString([]byte(`{"level":`), level), '}'))
	return nil
}

var logLevels = []body.Word[slog.Level]{
	{Text: "debug", Value: slog.LevelDebug}, {Text: "info", Value: slog.LevelInfo}, {
		Text:  "warn",
		Value: slog.LevelWarn,
	}, {Text: "error", Value: slog.LevelError},
}

var logForm = body.Of(body.Choice("level", logLevels, func(l *slog.Level, v slog.Level) { *l = v }).Need())

// setLog serves PATCH /log, which changes the log's level.
func (s *Server) setLog(c *edge.Ctx) *refuse.Refusal {
	var level slog.Level
	if err := logForm.Decode(c.PostBody(), &level); err != nil {
		return err
	}
	s.opt.LogLevel.Set(level)
	return s.getLog(c)
}
