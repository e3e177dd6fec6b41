package admin

import (
	"errors"
	"math"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/player"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// Replay is the recording that an exchange replays (docs/contract/recordings.md#the-player).
type Replay struct {
	Player *player.Player
	Epoch  string
}

// replayRoutes returns the routes of the player.
func replayRoutes(s *Server) []*edge.Route {
	const path = edge.InternalPrefix + "/replay"
	refuses := []int{409}
	return edge.Tagged("Replay", []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: path, Handle: s.playerRoute(nothing),
			Name: "getReplay", Summary: "The recording that is replayed, and where it is", Refuses: refuses,
		},
		{
			Method: fasthttp.MethodPost, Path: path + "/play", Handle: s.playerRoute(bare((*player.Player).Play)),
			Schema: "NoMembers", Members: emptyForm.Members(),
			Name: "playReplay", Summary: "Go on at the speed", Refuses: refuses,
		},
		{
			Method: fasthttp.MethodPost, Path: path + "/pause", Handle: s.playerRoute(bare((*player.Player).Pause)),
			Schema: "NoMembers", Members: emptyForm.Members(),
			Name: "pauseReplay", Summary: "Stop at the time that is reached", Refuses: refuses,
		},
		{
			Method: fasthttp.MethodPost, Path: path + "/step", Handle: s.playerRoute(command(stepForm, step)),
			Schema: "StepReplay", Members: stepForm.Members(),
			Name: "stepReplay", Summary: "Feed the next records, or those up to a time, and pause", Refuses: refuses,
		},
		{
			Method: fasthttp.MethodPost, Path: path + "/speed",
			Handle: s.playerRoute(command(speedForm, (*player.Player).SetSpeed)),
			Schema: "SetReplaySpeed", Members: speedForm.Members(),
			Name: "setReplaySpeed", Summary: "Change the speed", Refuses: refuses,
		},
		{
			Method: fasthttp.MethodPost, Path: path + "/seek", Handle: s.playerRoute(command(seekForm, seek)),
			Schema: "SeekReplay", Members: seekForm.Members(),
			Name: "seekReplay", Summary: "Go to a time", Refuses: refuses,
			Text: "Forward the records are fed at full speed. Back the recording begins again in a new epoch: trades " +
				"and orders of all users are gone, users, keys and deposits stay.",
		},
		{
			Method: fasthttp.MethodPost, Path: path + "/leave",
			Handle: s.playerRoute(bare((*player.Player).Leave)), Schema: "NoMembers", Members: emptyForm.Members(),
			Name: "leaveReplay", Summary: "End the replay and its program", Refuses: refuses,
			Text: "The answer is the last state. The program then ends as after a signal.",
		},
	})
}

// playerRoute returns a handler that gives a command to the player, and answers its state.
func (s *Server) playerRoute(command func(*player.Player, []byte) *refuse.Refusal) edge.Handler {
	return func(c *edge.Ctx) *refuse.Refusal {
		r := s.opt.Replay
		if r == nil {
			return refuse.New(refuse.Conflict, "",
				"This exchange replays no recording: start one with tickhive replay.")
		}
		if err := command(r.Player, c.PostBody()); err != nil {
			return err
		}
		r.send(c)
		return nil
	}
}

func (r *Replay) send(c *edge.Ctx) {
	p := r.Player.State()
	var w json.Writer
	w.Object()
	w.Name("format").Word(p.Format)
	w.Name("files").List()
	for _, name := range p.Files {
		w.Text(name)
	}
	w.EndList()
	w.Name("currencyPairCode").Word(p.Pair)
	w.Name("epoch").Word(r.Epoch)
	w.Name("status").Word(p.Status.String())
	w.Name("playing").Bool(p.Playing)
	w.Name("speed").Word(p.Speed.String())
	w.Name("begin").Ms(p.BeginNs)
	w.Name("end").Ms(p.EndNs)
	w.Name("time").Ms(p.TimeNs)
	w.Name("timeNs").Int(p.TimeNs)
	w.Name("target").IntOrNull(p.TargetNs/1_000_000, p.TargetNs != 0)
	w.Name("hasBook").Bool(p.Book)
	w.Name("goesBack").Bool(!p.Kept && !p.Loop)
	w.Name("begunAgain").Int(int64(p.Backs))
	w.Name("records").Uint(p.Records)
	w.Name("recordsInAll").Int(int64(p.Total))
	w.Name("orders").Uint(p.Orders)
	w.Name("trades").Uint(p.Trades)
	w.Name("refused").Uint(p.Refused)
	w.EndObject()
	c.Private(w.Bytes())
}

func nothing(*player.Player, []byte) *refuse.Refusal { return nil }

// emptyForm is the body of a command without members: none, or an empty object.
var emptyForm = json.Of[struct{}]()

func decodeEmpty(body []byte) *refuse.Refusal {
	if len(body) == 0 {
		return nil
	}
	return emptyForm.Decode(body, &struct{}{})
}

// command returns a command of the player with the body of a form.
func command[T any](
	form *json.Form[T], run func(*player.Player, T) error,
) func(*player.Player, []byte) *refuse.Refusal {
	return func(p *player.Player, body []byte) *refuse.Refusal {
		var q T
		if err := form.Decode(body, &q); err != nil {
			return err
		}
		return refusedCommand(run(p, q))
	}
}

// bare returns a command of the player without members.
func bare(run func(*player.Player) error) func(*player.Player, []byte) *refuse.Refusal {
	return func(p *player.Player, body []byte) *refuse.Refusal {
		if err := decodeEmpty(body); err != nil {
			return err
		}
		return refusedCommand(run(p))
	}
}

// maxSteps bounds the records of one step.
const maxSteps = 1_000_000

// playerTarget is the body of a step or a seek.
type playerTarget struct {
	records uint64
	to      int64 // Unix ms; 0: none
}

// targetTime reads the member to.
func targetTime() json.Member[playerTarget] {
	return json.Integer("to", 1, math.MaxInt64/1_000_000, func(q *playerTarget, v int64) { q.to = v }).
		As(json.Field{Kind: json.KindInt64, Range: []int64{1}, Text: "A time of the recording, Unix ms."})
}

var stepForm = json.Of(
	json.Integer("records", 1, maxSteps, func(q *playerTarget, v int64) { q.records = uint64(v) }).
		As(json.Field{Range: []int64{1, maxSteps}, Text: "Records to feed."}),
	targetTime(),
).
	Rule("to", "must not be given with records: give one of the two.",
		func(q *playerTarget) bool { return q.records == 0 || q.to == 0 }).
	Rule("records", "is required, or to instead.",
		func(q *playerTarget) bool { return q.records != 0 || q.to != 0 })

func step(p *player.Player, q playerTarget) error {
	if q.to != 0 {
		return p.StepTo(q.to * 1_000_000)
	}
	return p.Step(q.records)
}

var seekForm = json.Of(targetTime().Need())

func seek(p *player.Player, q playerTarget) error { return p.SeekTo(q.to * 1_000_000) }

var speedForm = json.Of(
	json.Value("speed", json.KindText, readSpeed, func(q *player.Speed, v player.Speed) { *q = v }).Need().
		As(json.Field{
			Text: "max, or a factor relative to the recording, 0.001 to 1000000, with at most three decimals.",
		}),
)

func readSpeed(r *json.Reader) (s player.Speed, given bool) {
	text := r.Text(16)
	if text == nil {
		return 0, false
	}
	s, err := player.ParseSpeed(string(text))
	if err != nil {
		r.Bad("must be max, or a number from 0.001 to 1000000 with at most three decimals.")
	}
	return s, err == nil
}

// refusedCommand returns what a client sees of a command that the player refused.
func refusedCommand(err error) *refuse.Refusal {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*player.OutsideError)):
		return refuse.Param("to", "The member to: %s.", err)
	}
	return refuse.New(refuse.Conflict, "", "The command was not carried out: %s.", err)
}
