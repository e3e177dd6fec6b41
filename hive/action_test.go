package hive

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
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
			r.refused(cmd, 403, CodeForbidden, "actionType")
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
		status int
		code   string
		field  string
	}{
		{func(a *Act) { a.Source, a.Reason = "", "" }, 400, CodeInvalidParam, "sourceAgentId"},
		{func(a *Act) { a.Type = actionTypes }, 400, CodeInvalidParam, "actionType"},
		{func(a *Act) { a.Type, a.TokenID = Suspension, 0 }, 400, CodeInvalidParam, "targetTokenId"},
		{func(a *Act) { a.Payload = "[]" }, 400, CodeInvalidParam, "actionPayload"},
		{func(a *Act) { a.Payload = `{"a":"` + strings.Repeat("x", MaxPayload) + `"}` }, 400, CodeInvalidParam, "actionPayload"},
		{func(a *Act) { a.Type, a.Payload = Suspension, `{"suspended":"yes"}` }, 400, CodeInvalidParam, "actionPayload.suspended"},
		{func(a *Act) { a.Source, a.Reason = "queen-9", "" }, 400, CodeInvalidParam, "reasonCode"},
		{func(a *Act) { a.Reason = strings.Repeat("r", 33) }, 400, CodeInvalidParam, "reasonCode"},
		{func(a *Act) { a.Reason = "é" }, 400, CodeInvalidParam, "reasonCode"},
		{func(a *Act) { a.Source, a.TokenID = "queen-4", 7 }, 404, CodeNotFound, "sourceAgentId"},
		{func(a *Act) { a.Source = "scout-3" }, 404, CodeNotFound, "sourceAgentId"},
		{func(a *Act) { a.Source = "worker-2" }, 404, CodeNotFound, "sourceAgentId"},
		{func(a *Act) { a.Source = "queen-01" }, 404, CodeNotFound, "sourceAgentId"},
		{func(a *Act) { a.Source = "king-1" }, 404, CodeNotFound, "sourceAgentId"},
		{func(a *Act) { a.TokenID = 10002 }, 404, CodeNotFound, "targetTokenId"},
		{func(a *Act) { a.Source, a.TokenID, a.Type = "worker-1", 10002, Override }, 404, CodeNotFound, "targetTokenId"},
	} {
		a := ok
		tc.change(&a)
		r.refused(a, tc.status, tc.code, tc.field)
	}
	ok.Reason = strings.Repeat("r", 32)
	r.must(ok)
}

func TestConfigChangesAndTheirBounds(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	config := func(want ConfigDetail) {
		t.Helper()
		got := r.worker(token).Config
		if got.SlippageCapBps != want.SlippageCapBps || got.MEVProtection != want.MEVProtection || !slices.Equal(got.SignalSubscriptions, want.SignalSubscriptions) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	subs := defaultConfig.Signals
	for _, tc := range []struct {
		source, payload string
		typ             ActionType
		want            ConfigDetail
	}{
		{"worker-1", `{"slippageCapBps":50}`, ConfigUpdate, ConfigDetail{50, "standard", subs}},
		{"worker-1", `{"slippageCapBps":200,"note":"x"}`, ParamUpdate, ConfigDetail{200, "standard", subs}},
		{"scout-1", `{"mevProtection":"strict"}`, Override, ConfigDetail{200, "strict", subs}},
		{"queen-1", `{"mevProtection":"off","signalSubscriptions":["a"]}`, Override, ConfigDetail{200, "off", []string{"a"}}},
		{"queen-1", `{"signalSubscriptions":[]}`, ConfigUpdate, ConfigDetail{200, "off", nil}},
		{"queen-1", `{"slippageCapBps":77}`, Directive, ConfigDetail{200, "off", nil}}, // not a config action
		{"queen-1", `{}`, Override, ConfigDetail{200, "off", nil}},
	} {
		r.must(act(tc.source, token, tc.typ, tc.payload))
		config(tc.want)
		r.check()
	}
	for field, bads := range map[string][]string{
		"slippageCapBps":      {"49", "201", "-1", `"100"`, "100.0", "1e2", "null", "true"},
		"mevProtection":       {`"Off"`, `""`, "1", "null", `["off"]`},
		"signalSubscriptions": {`"a"`, "null", "{}", "[1]", `[""]`, `[null]`, `["` + strings.Repeat("x", 65) + `"]`, `["` + strings.Repeat(`a","`, 16) + `b"]`},
	} {
		for _, bad := range bads {
			for _, typ := range []ActionType{ConfigUpdate, ParamUpdate, Override} {
				r.refused(act("queen-1", token, typ, `{"`+field+`":`+bad+`}`), 400, CodeInvalidParam, "actionPayload."+field)
				r.refused(act("queen-1", 0, typ, `{"`+field+`":`+bad+`}`), 400, CodeInvalidParam, "actionPayload."+field)
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
	st := r.worker(token).Stats
	if *st.LastOverrideAt != startSec+9 || *st.OverridingTier != "scout" || st.TotalActions != 0 {
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
	if len(d.RecentActions) != 20 || d.Stats.TotalActions != 25 {
		t.Fatalf("%d actions, total %d", len(d.RecentActions), d.Stats.TotalActions)
	}
	a := d.RecentActions[0]
	if a.ActionType != "risk_score" || string(a.Params) != `{"n": 1}` || a.ReasonCode != "test" || a.BlockTimestamp != startSec+24 || a.BlockNumber != 13 || len(a.TxHash) != 66 {
		t.Fatalf("%+v", a)
	}
	if d.RecentActions[19].BlockTimestamp != startSec+5 {
		t.Fatalf("%+v", d.RecentActions[19])
	}
	st, ok := r.s.View().WorkerState(r.now, 1)
	if !ok || st.TotalActions != 25 || st.LastActionAt != startSec+24 || st.LastActiveAt != startSec+24 || st.Status != "active" {
		t.Fatalf("%+v", st)
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
