package vopr

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

var (
	seeds   = flag.Int("vopr.seeds", 0, "number of seeds; 0: 200")
	first   = flag.Uint64("vopr.first", 1, "the first seed")
	damaged = flag.Int("vopr.damaged", 150, "number of damages of a directory")
	trace   = flag.Bool("vopr.trace", false, "print the transcript of the first seed")
)

// A seed gives the same transcript every time.
func TestASeedRepeats(t *testing.T) {
	for seed := range uint64(3) {
		var a, b bytes.Buffer
		ra, err := Run(seed, &a)
		if err != nil {
			t.Error(err)
		}
		if rb, _ := Run(seed, &b); ra.Transcript != rb.Transcript {
			la, lb := strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")
			for i := range la {
				if i >= len(lb) || la[i] != lb[i] {
					t.Fatalf("seed %d: line %d differs:\n%.400s\n%.400s", seed, i, la[i], lb[min(i, len(lb)-1)])
				}
			}
		}
	}
}

// No seed breaks a promise.
func TestSeeds(t *testing.T) {
	n := *seeds
	if n == 0 {
		n = 25
	}
	var sum Mix
	for i := range n {
		seed := *first + uint64(i)
		var out *os.File
		var r Result
		var err error
		if *trace && i == 0 {
			out = os.Stdout
			r, err = Run(seed, out)
		} else {
			r, err = Run(seed, nil)
		}
		sum.Add(&r.Mix)
		if err != nil {
			t.Errorf("%v\nrepeat it with: make vopr SEEDS=1 SEED=%d", err, seed)
		}
	}
	t.Logf("%d seeds: %+v", n, sum)
}
