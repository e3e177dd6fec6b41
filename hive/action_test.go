package hive

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

func TestTierRules(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	for _, tc := range []struct {
		source  string
		target  uint64
		typ     ActionType
		payload string
		ok      bool
	}{
		{"queen-1", token, Override, "", true},
		{"queen-1", 0, Override, "", true}, // a scout
		{"scout-1", token, Override, "", true},
		{"scout-1", 0, Override, "", false},
		{"worker-1", token, Override, "", false},
		{"worker-1", 0, Override, "", false},
		{"queen-3", token, Suspension, `{"suspended":false}`, true},
		{"scout-1", token, Suspension, `{"suspended":true}`, false},
		{"worker-1", token, Suspension, `{"suspended":true}`, false},
		{"queen-3", 0, BudgetAllocation, "", true},
		{"scout-2", token, BudgetAllocation, "", false},
		{"worker-1", token, BudgetAllocation, "", false},
	} {
		cmd := act(tc.source, tc.target, tc.typ, tc.payload)
		if tc.ok {
			r.must(cmd)
		} else {
			r.refused(cmd, refuse.Forbidden, "actionType")
		}
	}
	for _, source := range []string{"queen-1", "scout-1", "worker-1"} {
		for typ := range actionTypes {
			if typ != Override && typ != Suspension && typ != BudgetAllocation {
				r.must(act(source, token, typ, ""))
			}
		}
	}
	r.check()
}

func TestActionChecksInOrder(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	ok := act("queen-1", token, Flag, "{}")
	for _, tc := range []struct {
		change func(a *Act)
		code   refuse.Code
		field  string
	}{
		{func(a *Act) { a.Source, a.Reason = "", "" }, refuse.InvalidParam, "sourceAgentId"},
		{func(a *Act) { a.Type = actionTypes }, refuse.InvalidParam, "actionType"},
		{func(a *Act) { a.Type, a.TokenID = Suspension, 0 }, refuse.InvalidParam, "targetTokenId"},
		{func(a *Act) { a.Payload = "[]" }, refuse.InvalidParam, "actionPayload"},
		{
			func(a *Act) { a.Payload = `{"a":"` + strings.Repeat("x", MaxPayload) + `"}` }, refuse.InvalidParam,
			"actionPayload",
		},
		{
			func(a *Act) { a.Type, a.Payload = Suspension, `{"suspended":"yes"}` }, refuse.InvalidParam,
			"actionPayload.suspended",
		},
		{func(a *Act) { a.Source, a.Reason = "queen-9", "" }, refuse.InvalidParam, "reasonCode"},
		{func(a *Act) { a.Reason = strings.Repeat("r", 33) }, refuse.InvalidParam, "reasonCode"},
		{func(a *Act) { a.Reason = "é" }, refuse.InvalidParam, "reasonCode"},
		{func(a *Act) { a.Source, a.TokenID = "queen-4", 7 }, refuse.NotFound, "sourceAgentId"},
		{func(a *Act) { a.Source = "scout-3" }, refuse.NotFound, "sourceAgentId"},
		{func(a *Act) { a.Source = "worker-2" }, refuse.NotFound, "sourceAgentId"},
		{func(a *Act) { a.Source = "queen-01" }, refuse.NotFound, "sourceAgentId"},
		{func(a *Act) { a.Source = "king-1" }, refuse.NotFound, "sourceAgentId"},
		{func(a *Act) { a.TokenID = 10002 }, refuse.NotFound, "targetTokenId"},
		{func(a *Act) { a.Source, a.TokenID, a.Type = "worker-1", 10002, Override }, refuse.NotFound, "targetTokenId"},
	} {
		a := ok
		tc.change(&a)
		r.refused(a, tc.code, tc.field)
	}
	ok.Reason = strings.Repeat("r", 32)
	r.must(ok)
}

func TestConfigChangesAndTheirBounds(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	config := func(want Config) {
		t.Helper()
		got := r.worker(token).Config
		if got.SlippageCapBps != want.SlippageCapBps || got.MEV != want.MEV ||
			!slices.Equal(got.Signals, want.Signals) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	subs := defaultConfig.Signals
	for _, tc := range []struct {
		source, payload string
		typ             ActionType
		want            Config
	}{
		{"worker-1", `{"slippageCapBps":50}`, ConfigUpdate, Config{50, MEVStandard, subs}},
		{"worker-1", `{"slippageCapBps":200,"note":"x"}`, ParamUpdate, Config{200, MEVStandard, subs}},
		{"scout-1", `{"mevProtection":"strict"}`, Override, Config{200, MEVStrict, subs}},
		{
			"queen-1", `{"mevProtection":"off","signalSubscriptions":["a"]}`, Override,
			Config{200, MEVOff, []string{"a"}},
		},
		{"queen-1", `{"signalSubscriptions":[]}`, ConfigUpdate, Config{200, MEVOff, nil}},
		{"queen-1", `{"slippageCapBps":77}`, Directive, Config{200, MEVOff, nil}}, // not a config action
		{"queen-1", `{}`, Override, Config{200, MEVOff, nil}},
	} {
		r.must(act(tc.source, token, tc.typ, tc.payload))
		config(tc.want)
		r.check()
	}
	for field, bads := range map[string][]string{
		"slippageCapBps": {"49", "201", "-1", `"100"`, "100.0", "1e2", "null", "true"},
		"mevProtection":  {`"Off"`, `""`, "1", "null", `["off"]`},
		"signalSubscriptions": {
			`"a"`, "null", "{}", "[1]", `[""]`, `[null]`, `["` + strings.Repeat("x", 65) + `"]`,
			`["` + strings.Repeat(`a","`, 16) + `b"]`,
		},
	} {
		for _, bad := range bads {
			for _, typ := range []ActionType{ConfigUpdate, ParamUpdate, Override} {
				r.refused(act("queen-1", token, typ, `{"`+field+`":`+bad+`}`), refuse.InvalidParam,
					"actionPayload."+field)
				r.refused(act("queen-1", 0, typ, `{"`+field+`":`+bad+`}`), refuse.InvalidParam, "actionPayload."+field)
			}
		}
	}
}

func TestStatsShowTheLastOverride(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	r.to(startSec + 5)
	r.must(act("queen-1", token, Override, `{"slippageCapBps":60}`))
	r.to(startSec + 9)
	r.must(act("scout-2", token, Override, `{}`))
	r.must(act("queen-1", token, Flag, `{}`))
	st := r.worker(token)
	if st.LastOverrideAt != startSec+9 || st.OverridingTier != Scout || st.TotalActions != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestRecentActionsAreTheNewestTwentyAimedAtTheToken(t *testing.T) {
	r := newRig(t)
	token, other := r.spawn(1), r.spawn(2)
	for i := range 25 {
		r.toNs(start + int64(i)*secondNs)
		r.must(act("worker-2", token, RiskScore, `{"n": 1}`))
		r.must(act("worker-1", other, Observation, `{}`))
	}
	d := r.worker(token)
	recent := r.s.View().Recent(token)
	if len(recent) != 20 || d.TotalActions != 25 {
		t.Fatalf("%d actions, total %d", len(recent), d.TotalActions)
	}
	a := recent[0]
	if a.Type != RiskScore || a.Payload != `{"n": 1}` || a.Reason != "test" ||
		a.Sec() != startSec+24 || a.BlockNumber != 13 || a.TxHash == (Hash{}) {
		t.Fatalf("%+v", a)
	}
	if recent[19].Sec() != startSec+5 {
		t.Fatalf("%+v", recent[19])
	}
	if d.LastActionAt != startSec+24 || d.LastActiveAt != startSec+24 || d.Status != Active {
		t.Fatalf("%+v", d)
	}
}

func TestActionFormsInTheOrderOfTheTable(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	good := ActionForm{raw(`"queen-1"`), raw("10001"), raw(`"flag"`), raw(`{ "a" : 1 }`), raw(`"r"`)}
	a, rej := good.Parse()
	if rej != nil || a.Payload != `{"a":1}` || a.TokenID != 10001 || a.Type != Flag {
		t.Fatalf("%+v %v", a, rej)
	}
	for _, tc := range []struct {
		change func(f *ActionForm)
		field  string
	}{
		{func(f *ActionForm) { *f = ActionForm{} }, "sourceAgentId"},
		{func(f *ActionForm) { f.SourceAgentID = raw("1") }, "sourceAgentId"},
		{func(f *ActionForm) { f.TargetTokenID = nil; f.ActionType = nil }, "targetTokenId"},
		{func(f *ActionForm) { f.TargetTokenID = raw("-1") }, "targetTokenId"},
		{func(f *ActionForm) { f.TargetTokenID = raw("1.0") }, "targetTokenId"},
		{func(f *ActionForm) { f.TargetTokenID = raw(`"1"`) }, "targetTokenId"},
		{func(f *ActionForm) { f.ActionType = raw(`"dance"`); f.ActionPayload = raw("1") }, "actionType"},
		{func(f *ActionForm) { f.ActionPayload = raw("1"); f.ReasonCode = nil }, "actionPayload"},
		{func(f *ActionForm) { f.ReasonCode = nil }, "reasonCode"},
		{func(f *ActionForm) { f.ReasonCode = raw(`""`) }, "reasonCode"},
		{func(f *ActionForm) { f.SourceAgentID, f.ReasonCode = raw(`"king-1"`), nil }, "reasonCode"},
		{func(f *ActionForm) { f.SourceAgentID = raw(`"queen-01"`) }, "sourceAgentId"},
		{func(f *ActionForm) { f.SourceAgentID = raw(`"` + strings.Repeat("x", 10_000) + `"`) }, "sourceAgentId"},
	} {
		f := good
		tc.change(&f)
		if _, rej := f.Parse(); rej == nil || rej.Field != tc.field {
			t.Errorf("%v, want field %s", rej, tc.field)
		}
	}
	good.ActionPayload = nil
	if a, rej := good.Parse(); rej != nil || a.Payload != "{}" {
		t.Errorf("%+v %v", a, rej)
	}
}
