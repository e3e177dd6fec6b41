package wal

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
)

// childEnv names the directory on which a copy of the test program works as another
// process.
const childEnv = "TICKHIVE_WAL_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child appends batches for ever and prints each sequence once it is written, which is
// what survives a kill; now and then it syncs, rotates and drops.
func child(dir string) error {
	l, err := Open(vfs.OS{}, dir, Options{SegmentBytes: 64 << 10, PreallocBytes: 16 << 10})
	if err != nil {
		return err
	}
	fmt.Println("open", l.LastSeq())
	for i := 0; ; i++ {
		l.Begin()
		for k := range 1 + i%7 {
			seq := l.LastSeq() + 1 + uint64(k)
			l.Add(func(dst []byte) []byte { return append(dst, payloadOf(seq, 0)...) })
		}
		last, err := l.Write()
		if err != nil {
			return err
		}
		fmt.Println("written", last)
		if i%50 == 49 {
			if err := l.Sync(); err != nil {
				return err
			}
		}
	}
}

func startChild(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

func TestKilledProcessLosesNothingWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	kills := scale(15)
	acked, torn := uint64(0), 0
	for k := range kills {
		cmd, lines := startChild(t, dir)
		for n := 1 + rnd.IntN(400); n > 0 && lines.Scan(); n-- {
			var word string
			var seq uint64
			if _, err := fmt.Sscan(lines.Text(), &word, &seq); err != nil || seq < acked {
				t.Fatalf("seed %d, kill %d: child says %q after %d", seed, k, lines.Text(), acked)
			}
			acked = seq
		}
		must(t, cmd.Process.Kill())
		for lines.Scan() { // what it had printed before the kill counts too
			_, err := fmt.Sscanf(lines.Text(), "written %d", &acked)
			must(t, err)
		}
		_ = cmd.Wait()
		r, err := OpenReader(vfs.OS{}, dir, Options{}, 0)
		must(t, err)
		last := uint64(0)
		for rec, err := r.Next(); err == nil; rec, err = r.Next() {
			if last++; rec.Seq != last || string(rec.Payload) != string(payloadOf(last, 0)) {
				t.Fatalf("seed %d, kill %d: record %d is %d", seed, k, last, rec.Seq)
			}
		}
		if last < acked {
			t.Fatalf("seed %d, kill %d: %d records, %d were written", seed, k, last, acked)
		}
		if r.TornTail() > 0 {
			torn++
		}
		must(t, r.Close())
	}
	t.Logf("%d kills, %d records, all there, %d torn tails", kills, acked, torn)
}

func TestSecondProcessIsToldWhoHoldsTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	holder, lines := startChild(t, dir)
	if !lines.Scan() {
		t.Fatal("no holder")
	}
	want := fmt.Sprintf("process %d on host ", holder.Process.Pid)
	_, err := Open(vfs.OS{}, dir, Options{})
	var locked *vfs.LockedError
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), " since 2") {
		t.Fatalf("%v, want %q", err, want)
	}
	t.Log(err)
	must(t, holder.Process.Kill())
	_ = holder.Wait()
	l, err := Open(vfs.OS{}, dir, Options{})
	must(t, err)
	must(t, l.Close())
}
