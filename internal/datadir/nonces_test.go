package datadir

import (
	"fmt"
	"path/filepath"
	"testing"

	"tickhive/accounts/auth"
	"tickhive/internal/vfs"
)

// usedOf opens a file and returns the nonces that a later process reads from it, in order. An
// interrupted pass leaves some lines twice.
func usedOf(t testing.TB, path string, knownMs int64) (n *Nonces, notBeforeMs int64, used []auth.UsedNonce) {
	t.Helper()
	n, notBeforeMs, err := openNonces(vfs.OS{}, path, knownMs, false)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[auth.UsedNonce]bool{}
	for u := range n.Used(notBeforeMs) {
		if !seen[u] {
			used = append(used, u)
		}
		seen[u] = true
	}
	if n.failed != nil {
		t.Fatal(n.failed)
	}
	return n, notBeforeMs, used
}

// A timestamp that a later process refuses anyway needs no nonce.
func TestNonceFileDropsWhatItsNewestTimestampRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "NONCES")
	n, notBefore, used := usedOf(t, path, 0)
	if len(used) != 0 || notBefore != 0 {
		t.Fatal(notBefore, used)
	}
	const last = 399_990
	most := int64(0)
	for ms := int64(0); ms <= last; ms += 10 { // 40,000 lines of 50 bytes: more than the limit
		if err := n.Keep(ms, ms, "key-of-this-size-or-so-to-fill", fmt.Appendf(nil, "nonce-%06d", ms)); err != nil {
			t.Fatal(err)
		}
		most = max(most, n.size)
	}
	if err := n.Keep(last, last-60_001, "key", []byte("past")); err != nil {
		t.Fatal(err)
	}
	if bound := int64(nonceFileLimit * 6 / 5); most > bound {
		t.Fatalf("the file had %d bytes, at most %d", most, bound)
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	n, notBefore, used = usedOf(t, path, 0) // the clock provides no time
	if notBefore != last-60_000 || len(used) != 6001 || used[0].Nonce != "nonce-339990" ||
		used[0].TimestampMs != 339_990 {
		t.Fatal(notBefore, len(used))
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	n, notBefore, used = usedOf(t, path, last-10)
	if notBefore != last-10 || len(used) != 2 || used[1].Nonce != "nonce-399990" {
		t.Fatal(notBefore, len(used))
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
}

// A line that a killed process left half written makes the next start refuse every timestamp that may have been
// accepted; later nonces are stored as before.
func TestNonceFileSurvivesALineCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "NONCES")
	n, _, _ := usedOf(t, path, 0)
	if err := n.Keep(0, 1_767_225_600_000, "key", []byte("first")); err != nil {
		t.Fatal(err)
	}
	short := appendNonceLine(nil, 1_767_225_600_001, "key", []byte("second"))[:30]
	if _, err := n.f.WriteAt(short, n.size); err != nil {
		t.Fatal(err)
	}
	_ = n.close()
	const known = 1_767_225_605_000
	for k := range 2 { // the second start finds nothing damaged, and refuses the same
		n, notBefore, used := usedOf(t, path, known)
		if (n.Damaged() == "") != (k == 1) || notBefore != known+60_001 || len(used) != 0 {
			t.Fatal(n.Damaged(), notBefore, used)
		}
		_ = n.close()
	}
	n, _, _ = usedOf(t, path, known)
	if err := n.Keep(0, known+60_002, "key", []byte("third")); err != nil {
		t.Fatal(err)
	}
	_ = n.close()
	n, _, used := usedOf(t, path, 0)
	if len(used) != 1 || used[0].Nonce != "third" || n.Damaged() != "" {
		t.Fatal(used)
	}
	_ = n.close()
}

// Each signed request writes a line, so a line allocates nothing, and the checksum neither.
func TestALineOfANonceDoesNotAllocate(t *testing.T) {
	var line []byte
	allocs := testing.AllocsPerRun(1000, func() {
		line = appendNonceLine(line[:0], 1_767_225_600_000, "0123456789abcdef0123456789abcdef", []byte("n-1"))
		if _, ok := parseNonceLine(line); !ok {
			t.Fatalf("%q does not parse", line)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a line", allocs)
	}
}
