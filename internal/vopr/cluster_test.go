package vopr

import (
	"bytes"
	"flag"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var clusterTrace = flag.Bool("vopr.cluster-trace", false, "print the transcript of the first seed of a cluster")

// A seed gives the same transcript every time.
func TestAClusterSeedRepeats(t *testing.T) {
	for seed := range uint64(2) {
		var a, b bytes.Buffer
		ra, err := RunCluster(seed, &a)
		if err != nil {
			t.Error(err)
		}
		if rb, _ := RunCluster(seed, &b); ra.Transcript != rb.Transcript {
			la, lb := strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")
			for i := range la {
				if i >= len(lb) || la[i] != lb[i] {
					t.Fatalf("seed %d: line %d differs:\n%.400s\n%.400s", seed, i, la[i], lb[min(i, len(lb)-1)])
				}
			}
		}
	}
}

// TestClusterSeeds runs clusters. -vopr.seeds and -vopr.first choose the seeds.
func TestClusterSeeds(t *testing.T) {
	n, from := 12, uint64(1)
	if *seeds != 0 {
		n = *seeds
	}
	if *first != 0 {
		from = *first
	}
	defer collectLess()()
	var mu sync.Mutex
	var sum ClusterMix
	var wait sync.WaitGroup
	for k := range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := k; i < n; i += runtime.GOMAXPROCS(0) {
				var out io.Writer
				if *clusterTrace && i == 0 {
					out = os.Stdout
				}
				r, err := RunCluster(from+uint64(i), out)
				mu.Lock()
				sum.Add(&r.Mix)
				mu.Unlock()
				if err != nil {
					t.Errorf("%v\nrepeat it with: go test ./internal/vopr -run TestClusterSeeds -args -vopr.seeds=1 "+
						"-vopr.first=%d -vopr.cluster-trace", err, from+uint64(i))
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d seeds: %+v", n, sum)
}
