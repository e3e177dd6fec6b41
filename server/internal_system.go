package server

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
)

// internalSystemRoutes returns the routes of clock, state hash, readiness, metrics, profiles, log.
func internalSystemRoutes(s *Internal) []*Route {
	routes := []*Route{
		{Method: fasthttp.MethodGet, Path: internalPrefix + "/clock", Handle: s.getClock},
		{Method: fasthttp.MethodPost, Path: internalPrefix + "/clock", Handle: s.setClock},
		{Method: fasthttp.MethodGet, Path: internalPrefix + "/ready", Handle: s.getReady, Early: true},
	}
	if s.opt.StateHash != nil {
		routes = append(routes, &Route{Method: fasthttp.MethodGet, Path: internalPrefix + "/state-hash", Handle: s.stateHash})
	}
	if s.opt.LogLevel != nil {
		routes = append(routes,
			&Route{Method: fasthttp.MethodGet, Path: internalPrefix + "/log", Handle: s.getLog},
			&Route{Method: fasthttp.MethodPatch, Path: internalPrefix + "/log", Handle: s.setLog})
	}
	if s.opt.Metrics != nil {
		scrape := fasthttpadaptor.NewFastHTTPHandler(s.opt.Metrics)
		routes = append(routes, &Route{
			Method: fasthttp.MethodGet, Path: "/metrics", Early: true,
			Handle: func(c *Ctx) *refuse.Refusal {
				c.Request.Header.DelBytes(reqAcceptEncoding) // never compressed: it costs more than it saves here
				scrape(c.RequestCtx)
				return nil
			},
		})
	}
	return append(routes, profileRoutes()...)
}

// maxAdvance limits one advance of the virtual clock (docs/contract/limits.md#clock-and-times).
const maxAdvance = 366 * 24 * time.Hour

// getClock serves GET /clock.
func (s *Internal) getClock(c *Ctx) *refuse.Refusal {
	s.sendClock(c)
	return nil
}

func (s *Internal) sendClock(c *Ctx) {
	ns := s.opt.Clock.NowNs()
	b := appendMs([]byte(`{"now":`), ns)
	b = strconv.AppendInt(append(b, `,"nowNs":`...), ns, 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), s.opt.Board.Load().SeqSum, 10)
	c.Private(append(b, '}'))
}

// clockRequest is the body of POST /clock.
type clockRequest struct {
	advance    time.Duration
	to         int64 // Unix ms
	hasAdvance bool
	hasTo      bool
}

func (r *bodyReader) decodeClock(q *clockRequest) *bodyError {
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			switch string(key) {
			case "advance":
				if text := r.string(64); text != nil {
					d, err := clock.ParseDuration(string(text))
					if err != nil {
						r.bad("must be a duration such as 90s, 36h or 7d.")
					}
					q.advance, q.hasAdvance = d, true
				}
			case "to":
				q.to, q.hasTo = r.integer(0, math.MaxInt64/1_000_000)
			default:
				r.unknown()
			}
		}
		if q.hasAdvance && q.hasTo {
			r.rule("to", "stands beside advance: give one of the two.")
		}
		if !q.hasAdvance && !q.hasTo && len(r.wrong) == 0 {
			r.rule("advance", "is required, or to instead.")
		}
	}
	return r.inOrder("advance", "to")
}

// setClock serves POST /clock. It answers after all work that fell due is published.
func (s *Internal) setClock(c *Ctx) *refuse.Refusal {
	var r bodyReader
	var q clockRequest
	r.reset(c.PostBody())
	if err := r.decodeClock(&q); err != nil {
		return badBody(err)
	}
	if !s.opt.Clock.Virtual() {
		return refuse.New(refuse.Conflict, "", "The clock is the machine's and cannot be set: start with --clock virtual.")
	}
	now, field := s.opt.Clock.NowNs(), "advance"
	target := now + int64(q.advance)
	if q.hasTo {
		target, field = q.to*1_000_000, "to"
	}
	if target < now && (!q.hasTo || q.to < floorDiv(now, 1_000_000)) {
		return refuse.Param(field, "The member %s must not move the clock back.", field)
	}
	target = max(target, now)
	if target-now > int64(maxAdvance) || target > entry.MaxStampNs {
		return refuse.Param(field, "The member %s must move the clock by at most 366d, and not beyond the year 2200.", field)
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

// stateHash serves GET /state-hash: the hash of each pair's canonical state, and a hash over
// these hashes.
func (s *Internal) stateHash(c *Ctx) *refuse.Refusal {
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

// getReady serves GET /ready.
func (s *Internal) getReady(c *Ctx) *refuse.Refusal {
	if !s.opt.Ready.Load() {
		return refuse.Later(1, "The server is recovering; /api/status tells how far it is.")
	}
	c.Private([]byte(`{"ready":true}`))
	return nil
}

// getLog serves GET /log.
func (s *Internal) getLog(c *Ctx) *refuse.Refusal {
	level := strings.ToLower(s.opt.LogLevel.Level().String())
	c.Private(append(appendJSONString([]byte(`{"level":`), level), '}'))
	return nil
}

var logLevels = []word[slog.Level]{
	{"debug", slog.LevelDebug}, {"info", slog.LevelInfo}, {"warn", slog.LevelWarn}, {"error", slog.LevelError},
}

// setLog serves PATCH /log, which sets the level of the log.
func (s *Internal) setLog(c *Ctx) *refuse.Refusal {
	var r bodyReader
	var level slog.Level
	given := false
	r.reset(c.PostBody())
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			if string(key) == "level" {
				level, given = readWord(&r, logLevels)
			} else {
				r.unknown()
			}
		}
		r.require("level", given)
	}
	if err := r.finish(); err != nil {
		return badBody(err)
	}
	s.opt.LogLevel.Set(level)
	return s.getLog(c)
}
