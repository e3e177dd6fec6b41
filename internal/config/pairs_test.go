package config

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Each list has the one before it, every pair is valid and has simulated agents, and the prices of all pairs agree
// with each other to 0.3 %, as those of a real exchange do.
func TestTheListsOfPairs(t *testing.T) {
	t.Parallel()
	before := map[string]bool{}
	for _, list := range []struct {
		name  string
		pairs int
	}{{PairsBuiltin, 12}, {pairsCommon, 44}, {pairsHundred, 100}} {
		c, err := Load("", nil, []string{"market.pairs=" + list.name})
		if err != nil {
			t.Fatal(err)
		}
		simulated, err := c.SimPairs()
		if err != nil || len(c.Pairs) != list.pairs || len(simulated) != list.pairs {
			t.Errorf("%s: %d pairs, %d simulated: %v", list.name, len(c.Pairs), len(simulated), err)
		}
		for code := range before {
			if !hasPair(c, code) {
				t.Errorf("%s lacks %s", list.name, code)
			}
		}
		dollars := map[string]float64{"USDT": 1, "EUR": 65000.0 / 60000}
		for i := range c.Pairs {
			if base, ok := strings.CutSuffix(c.Pairs[i].Code, "_USDT"); ok && base != "EUR" {
				dollars[base] = price(t, &c.Pairs[i])
			}
		}
		for i := range c.Pairs {
			p := &c.Pairs[i]
			before[p.Code] = true
			base, quote, _ := strings.Cut(p.Code, "_")
			if want := dollars[base] / dollars[quote]; math.Abs(price(t, p)/want-1) > 0.003 {
				t.Errorf("%s costs %v, by USDT %v", p.Code, price(t, p), want)
			}
		}
	}
}

func hasPair(c *Config, code string) bool {
	for i := range c.Pairs {
		if c.Pairs[i].Code == code {
			return true
		}
	}
	return false
}

func price(t *testing.T, p *PairConfig) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(string(p.Reference), 64)
	if err != nil {
		t.Fatalf("%s: %v", p.Code, err)
	}
	return v
}

// What the file says of a pair of the list stays, and the rest of the list is added.
func TestAListBesideTheFile(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/tickhive.toml"
	text := "[market]\npairs = \"common\"\n[[assets]]\nsymbol = \"LTC\"\nname = \"Own\"\n" +
		"[[pairs]]\ncode = \"LTC_BTC\"\ndigits_price = 5\ndigits_amount = 1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Pairs) != 44 || c.Pairs[0].DigitsPrice != 5 || c.Assets[0].Name != "Own" {
		t.Errorf("%d pairs, %+v, %+v", len(c.Pairs), c.Pairs[0], c.Assets[0])
	}
}
