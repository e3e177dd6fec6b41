package fault

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tickhive/tickhive/engine"
)

// The text of a rule and its parse are inverse.
func TestTextIsReadBack(t *testing.T) {
	texts := []string{
		"latency route=/api/* probability=0.25 delay=10ms max=1s distribution=uniform seed=7",
		"status listener=public method=POST pair=BTC_USDT key=abc count=3 status=502 retry-after=2 seed=1",
		"half-open channel=book seed=1", "half-open delay=5s seed=1", "close channel=candles.* seed=1",
		"drop listener=binance channel=candles.1m seed=1",
		"lost-ack status=504 seed=1", "skew skew=-5s seed=1 from=2026-01-01T00:00:00Z until=2026-01-01T00:01:00Z",
		"slow rate=1024 seed=1", "slow chunk=10 every=2s seed=1", "empty status=200 seed=1",
		"html status=503 retry-after=5 seed=1", "broken-json keep=10 seed=1",
		"redirect status=302 location=https://example.com/a?b=%20 seed=1", "content-type type=text/html seed=1",
		"missing pair=BTC_USDT seed=1 for=30s", "null member=last_price seed=1", "zero member=price seed=1",
		"crossed seed=1", "doubled seed=1",
		"truncate keep=10 seed=1", "stale age=1m0s seed=1 for=1h0m0s",
		"delay delay=1s max=10s distribution=exponential seed=1",
	}
	for _, name := range Scenarios() {
		rules, err := Scenario(name, 9, time.Minute)
		if err != nil || len(rules) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range rules {
			texts = append(texts, rules[i].String())
		}
	}
	for _, text := range texts {
		r, err := Parse(text)
		if err != nil || r.String() != text {
			t.Errorf("%q is read as %q: %v", text, r.String(), err)
		}
	}
	if _, err := Scenario("nope", 1, 0); err == nil || !strings.Contains(err.Error(), "flaky-network, lost-ack") {
		t.Errorf("an unknown scenario: %v", err)
	}
}

// The contract has the rules of each scenario, and only these.
func TestTheContractHasTheScenarios(t *testing.T) {
	page, err := os.ReadFile("../../docs/contract/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Scenarios\n")
	for name, rules := range scenarios {
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\|.*$").FindString(section)
		if want := " | `" + strings.Join(rules, "`, `") + "` |"; !strings.HasSuffix(row, want) {
			t.Errorf("docs/contract/faults.md: %s is %q, want its end %q", name, row, want)
		}
	}
}

// What a rule cannot mean is refused, and the error names the word.
func TestWrongRulesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "begins with an action",
		"sluggish":                     "no action such as latency",
		"flaky-network":                "faults.scenario=flaky-network",
		"slow":                         "needs rate=",
		"slow rate=1 chunk=2 every=1s": "not both",
		"slow chunk=10":                "belong together",
		"slow rate=0":                  "from 1 to",
		"slow chunk=1 every=2m":        "1ms to 1m0s",
		"html status=204":              "from 400 to 599",
		"empty status=302":             "from 400 to 599",
		"redirect status=304":          "301, 302",
		"redirect location=ftp://x":    "a path or a URL",
		"redirect location=/a\"b":      "a path or a URL",
		"content-type type=html":       "media type",
		"missing member=price":         "takes no member",
		"null member=a.b":              "name of a member",
		"null channel=ticker":          "no channel",
		"drop channel=tickers":         "must select one of book, trades",
		"close channel=books.*":        "must select one of book, trades",
		"latency":                      "needs delay=",
		"latency delay=2m":             "at most 1m0s",
		"latency delay":                "name=value",
		"latency delay=1s delay=2s":    "twice",
		"latency delay=1s status=500":  "takes no status",
		"latency delay=1s max=2s":      "distribution",
		"latency delay=2s max=1s distribution=uniform": "at least delay",
		"latency delay=1s distribution=normal":         "uniform",
		"latency delay=1s channel=book":                "no channel",
		"drop route=/api/*":                            "no route",
		"drop listener=aggregator":                     "has no streams",
		"drop keep=3":                                  "takes no keep",
		"half-open channel=book delay=3s":              "stream stays open",
		"status status=200":                            "400 to 599",
		"close probability=0":                          "above 0",
		"close probability=1.5":                        "at most 1",
		"close probability=0.0000001":                  "6 fractional",
		"close listener=internal":                      "one of public",
		"close pair=btc":                               "BASE_QUOTE",
		"close nope=1":                                 "must be one of listener",
		"close method=HEAD":                            "GET",
		"skew":                                         "needs skew=",
		"stale age=2m":                                 "1ms to 1m0s",
		"close for=1h until=2026-01-01T00:00:00Z":      "exclude",
		"close from=2026-01-02T00:00:00Z until=2026-01-01T00:00:00Z": "after from",
		"close from=today":                   "RFC 3339",
		"rate-limit retry-after=0":           "1 to 3600",
		"close count=0":                      "from 1",
		"drop x" + strings.Repeat("a", 2000): "characters",
	} {
		if r, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %q, error %v, want %q", text, r.String(), err, want)
		}
	}
}

// decisions returns the outcomes of the first n matches of a rule in a new switch.
func decisions(t testing.TB, text string, n int) (out []Decision, a *Active) {
	t.Helper()
	rules, err := ParseAll([]string{text})
	if err != nil {
		t.Fatal(err)
	}
	s := &Switch{}
	added, err := s.Add(rules, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		out = append(out, added[0].Decide(&Match{NowNs: 1000}))
	}
	return out, added[0]
}

// Equal rules decide equally, also when other rules came before and for another time. Another seed decides
// otherwise. The share of faults is the probability.
func TestDecisionsRepeat(t *testing.T) {
	const n = 20_000
	first, a := decisions(t, "drop probability=0.1 seed=5", n)
	again, _ := decisions(t, "drop probability=0.1 seed=5 until=2200-01-01T00:00:00Z", n)
	other, _ := decisions(t, "drop probability=0.1 seed=6", n)
	differ, happened := 0, 0
	for i := range first {
		if first[i] != again[i] {
			t.Fatalf("match %d decides otherwise in a second run", i)
		}
		if first[i].Happens != other[i].Happens {
			differ++
		}
		if first[i].Happens {
			happened++
		}
	}
	if differ < n/10 {
		t.Errorf("two seeds differ in %d of %d decisions", differ, n)
	}
	if happened < n*9/100 || happened > n*11/100 {
		t.Errorf("%d faults in %d matches of probability 0.1", happened, n)
	}
	if c := a.Counts(); c.Matched != n || c.Applied != uint64(happened) || c.Skipped != 0 {
		t.Errorf("counters %+v, want %d and %d", c, n, happened)
	}
}

// A delay stays within its bounds; the exponential one has its mean.
func TestDelaysFollowTheirDistribution(t *testing.T) {
	for text, check := range map[string]func(least, mean, most time.Duration) bool{
		"latency delay=10ms": func(least, _, most time.Duration) bool {
			return least == 10*time.Millisecond && most == least
		},
		"latency delay=10ms max=30ms distribution=uniform": func(least, mean, most time.Duration) bool {
			return least >= 10*time.Millisecond && most <= 30*time.Millisecond &&
				mean.Round(time.Millisecond) == 20*time.Millisecond
		},
		"latency delay=10ms max=1s distribution=exponential": func(least, mean, most time.Duration) bool {
			return least < time.Millisecond && most > 60*time.Millisecond && most <= time.Second &&
				mean.Round(time.Millisecond) == 10*time.Millisecond
		},
	} {
		all, a := decisions(t, text, 10_000)
		least, sum, most := time.Hour, time.Duration(0), time.Duration(0)
		for _, d := range all {
			delay := a.DelayOf(d)
			least, most, sum = min(least, delay), max(most, delay), sum+delay
		}
		if mean := sum / time.Duration(len(all)); !check(least, mean, most) {
			t.Errorf("%s: %v to %v, mean %v", text, least, most, mean)
		}
	}
}

// A rule concerns what all of its selectors select, within its time and as often as count allows.
func TestSelectors(t *testing.T) {
	names := func(pair string) bool { return pair == "AA_BB" }
	m := Match{
		Listener: "public", Method: "GET", Route: "/api/deals", Key: "k", Channel: "book", NowNs: 100, Names: names,
	}
	for text, want := range map[string]int{
		"close": 3, "close listener=public method=GET route=/api/* pair=AA_BB key=k": 3,
		"close count=2":             2,
		"close listener=aggregator": 0, "close method=POST": 0, "close route=/api/deal": 0, "close pair=AA_CC": 0,
		"close key=l": 0, "drop channel=book": 3, "drop channel=bo*": 3, "drop channel=trades": 0,
		"close from=1970-01-01T00:00:01Z": 0, "close until=1970-01-01T00:00:00.0000001Z": 0,
		"close until=1970-01-01T00:00:01Z": 3,
	} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s := &Switch{}
		added, err := s.Add([]Rule{r}, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for range 3 {
			if added[0].Decide(&m).Happens {
				got++
			}
		}
		if got != want {
			t.Errorf("%q happens %d times, want %d", text, got, want)
		}
	}
}

// Rules are listed until they are removed or their time is over; readers see them at once; their number is bounded.
func TestSwitch(t *testing.T) {
	var none *Switch
	if none.Requests() != nil || none.Streams() != nil || none.List(0) != nil {
		t.Error("the nil Switch has rules")
	}
	s := &Switch{}
	rules, err := ParseAll([]string{"close for=1s", "drop", "stale"})
	if err != nil {
		t.Fatal(err)
	}
	added, err := s.Add(rules, 1000)
	if err != nil || len(s.Requests()) != 2 || len(s.Streams()) != 1 {
		t.Fatalf("%v: %d and %d rules", err, len(s.Requests()), len(s.Streams()))
	}
	added[2].Answers.Put("x", &StaleAnswer{Body: make([]byte, 100)})
	if got := s.List(1000 + int64(time.Second)); len(got) != 2 || got[0] != added[1] {
		t.Errorf("after the time of the first: %d rules", len(got))
	}
	<-added[0].Ended
	if s.Remove(added[2].ID) != 1 || s.Remove(added[2].ID) != 0 || s.Requests() != nil || s.kept.Load() != 0 {
		t.Errorf("the removed rule is in force, or %d bytes are kept", s.kept.Load())
	}
	if added[2].Answers.Put("x", &StaleAnswer{}) {
		t.Error("a removed rule keeps answers")
	}
	many := make([]Rule, MaxRules)
	if _, err := s.Add(many, 0); err == nil || len(s.List(0)) != 1 {
		t.Errorf("%d rules beside one: %v", MaxRules, err)
	}
	if s.Remove(0) != 1 || s.Streams() != nil {
		t.Error("not all rules were removed")
	}
	if more, err := s.Add(many, 0); err != nil || more[0].ID != added[2].ID+1 {
		t.Errorf("ids are used again: %v", err)
	}
}

// A store keeps an answer for its age and never more than its bounds.
func TestStore(t *testing.T) {
	s := &Switch{}
	store := &Store{kept: &s.kept}
	t0 := time.Unix(1000, 0)
	kept := store.Put("a", &StaleAnswer{Body: []byte("1"), At: t0})
	if !kept || store.Get("a", t0.Add(time.Second-1), time.Second) == nil {
		t.Error("the answer is not kept")
	}
	if store.Get("a", t0.Add(time.Second), time.Second) != nil || s.kept.Load() != 0 {
		t.Error("the answer is kept for too long")
	}
	if store.Put("big", &StaleAnswer{Body: make([]byte, maxKeptBytes+1)}) || s.kept.Load() != 0 {
		t.Error("an answer beyond the bound is kept")
	}
	for i := range maxKeptAnswers {
		store.Put(string(rune('a'+i)), &StaleAnswer{})
	}
	if store.Put("one more", &StaleAnswer{}) {
		t.Error("more answers are kept than may be")
	}
}

// No text makes the parser fail otherwise than with an error, and what it accepts can be read back.
func TestAnyTextIsSafe(t *testing.T) {
	words := slices.Concat([]string{"x", "=", "delay=1s", "probability=0.5", "status=500"}, actionNames[:], order)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "words"),
			rapid.SampledFrom([]string{" ", "=", "=1"}).Draw(t, "separator"))
		r, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Fatalf("%q is printed as %q, which is read as %+v: %v", text, r.String(), again, err)
		}
	})
}

// A rule names every pair that can exist, and no other text.
func TestRulesTakeTheCodesOfPairs(t *testing.T) {
	long := strings.Repeat("A", engine.MaxCurrencyCode)
	for _, code := range []string{
		"W_USDT", "1_2", long + "_" + long[1:], long + "A_B", "B_" + long + "A", "_B", "A_", "a_B", "A_B_C",
	} {
		if _, err := Parse("close pair=" + code); (err == nil) != engine.ValidPairCode(code) {
			t.Errorf("%s: %v", code, err)
		}
	}
}
