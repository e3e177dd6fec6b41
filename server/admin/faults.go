package admin

import (
	"fmt"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// faultRoutes returns the routes of faults on demand (docs/contract/faults.md). Resources adds them.
type faultRoutes struct {
	faults *fault.Switch
	now    func() int64
	check  func(*fault.Rule) error
	board  *marketdata.Board
}

// FaultRoutes returns the routes that read and set the rules of s. now returns the time of the process clock, check an
// error for a rule that no request can match. board has the pairs.
func FaultRoutes(s *fault.Switch, now func() int64, check func(*fault.Rule) error, board *marketdata.Board) Resource {
	f := faultRoutes{s, now, check, board}
	const path = edge.InternalPrefix + "/faults"
	return func() []*edge.Route {
		return edge.Tagged("System", []*edge.Route{
			{
				Method: fasthttp.MethodGet, Path: path, Handle: f.list,
				Name: "listFaults", Summary: "The fault rules in force",
			},
			{
				Method: fasthttp.MethodPost, Path: path, Handle: f.add,
				Schema: "AddFaults", Members: faultsForm.Members(),
				Name: "addFaults", Summary: "Put fault rules or a ready scenario in force",
				Refuses: []int{409},
			},
			{
				Method: fasthttp.MethodDelete, Path: path, Handle: f.removeAll,
				Name: "clearFaults", Summary: "Remove all fault rules",
			},
			{
				Method: fasthttp.MethodDelete, Path: path + "/{id}", Handle: f.remove, Params: edge.Params(faultID),
				Name: "removeFault", Summary: "Remove a fault rule",
			},
		})
	}
}

// addFaults is the body of POST /faults.
type addFaults struct {
	rules    []string
	scenario string
	seed     uint64
	lasts    time.Duration
}

// maxRuleText is the length of the longest text of a rule that is read; fault.Parse refuses shorter ones.
const maxRuleText = 2000

var faultsForm = json.Of(
	json.Value("rules", json.KindArray, ruleTexts, func(q *addFaults, v []string) { q.rules = v }).
		As(json.Field{Range: []int64{1, fault.MaxRules}, Element: &json.Field{}}),
	json.Choice("scenario", scenarioWords(), func(q *addFaults, v string) { q.scenario = v }),
	json.Integer("seed", 0, 1<<62, func(q *addFaults, v int64) { q.seed = uint64(v) }).As(json.Field{Default: 1}),
	json.Value("for", json.KindText, duration, func(q *addFaults, v time.Duration) { q.lasts = v }),
).
	Rule("scenario", "must not be given with rules: give one of the two.",
		func(q *addFaults) bool { return q.rules == nil || q.scenario == "" }).
	Rule("rules", "is required, or scenario instead.",
		func(q *addFaults) bool { return q.rules != nil || q.scenario != "" }).
	Rule("for", "must be above 0 and at most 366d, and only with scenario; a rule has for= in its text.",
		func(q *addFaults) bool {
			return q.lasts == 0 || q.scenario != "" && q.lasts > 0 && q.lasts <= fault.MaxWindow
		})

func scenarioWords() (words []json.Word[string]) {
	for _, name := range fault.Scenarios() {
		words = append(words, json.Word[string]{Text: name, Value: name})
	}
	return words
}

func ruleTexts(r *json.Reader) (list []string, given bool) {
	if r.Null() || !r.Array() {
		return nil, false
	}
	for r.Element() {
		if len(list) == fault.MaxRules {
			r.Err = &json.Error{Field: "rules", Message: "The member rules may have at most 100 elements."}
			return nil, false
		}
		list = append(list, string(r.Text(maxRuleText)))
	}
	return list, len(list) > 0
}

// add serves POST /faults.
func (f faultRoutes) add(c *edge.Ctx) *refuse.Refusal {
	q := addFaults{seed: 1}
	if err := faultsForm.Decode(c.PostBody(), &q); err != nil {
		return err
	}
	var rules []fault.Rule
	if q.scenario != "" {
		var err error
		if rules, err = fault.Scenario(q.scenario, q.seed, q.lasts); err != nil {
			return refuse.Param("scenario", "The member scenario: %s.", err)
		}
	}
	for i, text := range q.rules {
		r, err := fault.Parse(text)
		if err == nil {
			err = f.check(&r)
		}
		if err != nil {
			field := "rules[" + strconv.Itoa(i) + "]"
			return refuse.Param(field, "The member %s: %s.", field, err)
		}
		rules = append(rules, r)
	}
	added, err := f.faults.Add(rules, f.now())
	if err != nil {
		return refuse.New(refuse.Conflict, "", "The rules were not added: %s.", err)
	}
	f.send(c, added)
	return nil
}

// list serves GET /faults.
func (f faultRoutes) list(c *edge.Ctx) *refuse.Refusal {
	f.send(c, f.faults.List(f.now()))
	return nil
}

func (f faultRoutes) send(c *edge.Ctx, rules []*fault.Active) {
	var w json.Writer
	w.Object()
	w.Name("rules")
	writeRules(&w, rules, f.board)
	w.EndObject()
	c.Private(w.Bytes())
}

func writeRules(w *json.Writer, rules []*fault.Active, board *marketdata.Board) {
	w.List()
	for _, a := range rules {
		n := a.Counts()
		w.Object()
		w.Name("id").Uint(a.ID)
		w.Name("rule").Text(a.String())
		w.Name("matched").Uint(n.Matched)
		w.Name("applied").Uint(n.Applied)
		w.Name("skipped").Uint(n.Skipped)
		if text := warning(a, n, board); text != "" {
			w.Name("warning").Text(text)
		}
		w.EndObject()
	}
	w.EndList()
}

// warning says why a rule changes nothing so far, empty when nothing is known to be wrong with it.
func warning(a *fault.Active, n fault.Counts, board *marketdata.Board) string {
	switch {
	case a.Pair != "" && board.Load().Lookup(a.Pair) == nil:
		return fmt.Sprintf("There is no pair %s.", a.Pair)
	case n.Matched == 0 && a.Idle() > 0 && a.Member != "":
		return fmt.Sprintf("Of %d documents none had a member %s that could change.", a.Idle(), a.Member)
	case n.Matched == 0 && a.Idle() > 0:
		return fmt.Sprintf("Of %d documents none had anything that could change.", a.Idle())
	}
	return ""
}

// removeAll serves DELETE /faults.
func (f faultRoutes) removeAll(c *edge.Ctx) *refuse.Refusal {
	sendRemoved(c, f.faults.Remove(0))
	return nil
}

var faultID = edge.Text("id")

// remove serves DELETE /faults/{id}.
func (f faultRoutes) remove(c *edge.Ctx) *refuse.Refusal {
	text, refused := faultID.Of(c)
	if refused != nil {
		return refused
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 || f.faults.Remove(id) == 0 {
		return refuse.Missing("id", "There is no fault rule with this id.")
	}
	sendRemoved(c, 1)
	return nil
}

func sendRemoved(c *edge.Ctx, n int) {
	var w json.Writer
	w.Object()
	w.Name("removed").Int(int64(n))
	w.EndObject()
	c.Private(w.Bytes())
}
