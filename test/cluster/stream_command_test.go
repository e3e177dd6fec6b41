package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/stream/jet"

	"github.com/tickhive/tickhive/internal/node"

	"github.com/tickhive/tickhive/test/harness"
)

// streamCommand runs `tickhive stream` and returns its exit code, its output and its errors.
func streamCommand(t *testing.T, at string, args ...string) (code int, out, text string) {
	t.Helper()
	in := harness.Launch(t, nil, append(append([]string{"stream"}, args...), "--from", "nats://"+at, "--quiet")...)
	for line := range in.Lines {
		out += line + "\n"
	}
	return in.Wait(), out, in.Stderr.String()
}

// The commands say what a stream holds: the end of the writer's log, its address, and its state hash. A message that
// no writer wrote is counted when the writer goes on behind it. At the end it may be a damaged one: exit code 3.
func TestStreamCommandsReadTheWriter(t *testing.T) {
	t.Parallel()
	at, dir := harness.StreamAddress(t), t.TempDir()
	writer := harness.Start(t, "--data-dir", dir, "--pairs", "none", "--sim", "off", "--quiet", "--journal", "embedded",
		"--ack", "quorum", "--set", "stream.listen="+at, "--set", "rate.allow=127.0.0.1")
	a := harness.NewAcked()
	a.Begin(writer)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.Load(writer, 1, stop); close(done) }()
	harness.WaitFor(t, func() bool { return a.InFlight.Load() >= 50 })
	close(stop)
	<-done
	var got node.Survey
	harness.WaitFor(t, func() bool { // a digest is sent each second
		code, out, text := streamCommand(t, at, "verify", "--json")
		got = node.Survey{}
		if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
			t.Fatalf("exit code %d, %v: %s%s", code, err, out, text)
		}
		return got.Digests > 0
	})
	hash := writer.Call(200, "GET", "/state-hash", "")
	if fmt.Sprint(hash["hash"]) != got.Hash || fmt.Sprint(hash["seq"]) != fmt.Sprint(got.Seq) {
		t.Errorf("the stream has seq %d hash %s, the writer %v", got.Seq, got.Hash, hash)
	}
	if got.Term != 1 || got.Epoch != shownEpoch(t, writer) || "http://"+got.Writer != writer.Public || got.Void != 0 {
		t.Errorf("%+v, the writer is at %s", got, writer.Public)
	}
	if _, pos := position(t, writer); fmt.Sprint(got.Position) != pos {
		t.Errorf("the stream ends at record %d, the writer's journal at %s", got.Position, pos)
	}
	code, out, text := streamCommand(t, at, "status")
	if want := "position   record " + fmt.Sprint(got.Position); code != 0 || !strings.Contains(out, want) {
		t.Errorf("status: exit code %d, %s%s", code, out, text)
	}

	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	conn, err := jet.Connect(harness.StreamSeed.Remote(at))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log, err := conn.Log(ctx, got.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, func() bool {
		last, err := log.Last(ctx)
		if err == nil {
			err = log.Publish(1, last, []byte("no message"))
		}
		return err == nil && (<-log.Answers()).Err == nil
	})
	harness.WaitFor(t, func() bool { // until the writer has sent something behind it
		code, out, _ := streamCommand(t, at, "verify")
		return code == 0 && strings.Contains(out, "void 1")
	})
	writer.Signal(syscall.SIGKILL)
	writer.Wait()
	seed, err := os.ReadFile(harness.StreamSeed.File)
	if err != nil {
		t.Fatal(err)
	}
	server, err := jet.StartServer(jet.ServerOptions{Dir: filepath.Join(dir, "stream"), Listen: at, Seed: string(seed)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	harness.WaitFor(t, func() bool {
		last, err := log.Last(ctx)
		if err == nil {
			err = log.Publish(2, last, []byte("no message"))
		}
		return err == nil && (<-log.Answers()).Err == nil
	})
	for _, name := range []string{"status", "verify"} {
		code, out, text := streamCommand(t, at, name)
		if code != 3 || !strings.Contains(text, "damaged") {
			t.Errorf("%s of a stream whose end is damaged: exit code %d, %s%s", name, code, out, text)
		}
	}
}

// Without servers the commands say what to give.
func TestStreamCommandsNeedServers(t *testing.T) {
	t.Parallel()
	in := harness.Launch(t, nil, "stream", "status")
	if code := in.Wait(); code != 2 || !strings.Contains(in.Stderr.String(), "--from nats://HOST:PORT") {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}

// A directory that is restored from a stream has the state of the writer, in a new epoch, and passes journal verify.
// Nothing of the writer's own log is needed.
func TestARestoredStreamIsTheWriters(t *testing.T) {
	t.Parallel()
	at, dir := harness.StreamAddress(t), t.TempDir()
	writer := harness.Start(t, "--data-dir", dir, "--pairs", "none", "--sim", "off", "--quiet", "--journal", "embedded",
		"--ack", "quorum", "--set", "stream.listen="+at, "--set", "rate.allow=127.0.0.1")
	a := harness.NewAcked()
	a.Begin(writer)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.Load(writer, 1, stop); close(done) }()
	harness.WaitFor(t, func() bool { return a.InFlight.Load() >= 50 })
	close(stop)
	<-done
	paths := []string{
		"/api/launchpad/tokens", "/api/agents/overview", "/api/deals?currencyPairCode=AA_USDT", "/api/summary",
	}
	shown := func(in *harness.Instance) (all string) {
		for _, path := range paths {
			all += in.Do("GET", in.Public+path, "").Body + "\n"
		}
		return all + fmt.Sprint(in.Call(200, "GET", "/state-hash", ""), in.Do("GET", in.Internal+"/totals", "").Body)
	}
	want, epoch := shown(writer), shownEpoch(t, writer)
	writer.Signal(syscall.SIGKILL)
	writer.Wait()
	seed, err := os.ReadFile(harness.StreamSeed.File)
	if err != nil {
		t.Fatal(err)
	}
	o := jet.ServerOptions{Dir: filepath.Join(dir, "stream"), Listen: at, Seed: string(seed)}
	server, err := jet.StartServer(o)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()

	restored := filepath.Join(t.TempDir(), "restored")
	code, out, text := streamCommand(t, at, "restore", restored)
	if code != 0 || !strings.Contains(out, "restored: record ") {
		t.Fatalf("exit code %d: %s%s", code, out, text)
	}
	if code, _, text := streamCommand(t, at, "restore", restored); code != 2 || !strings.Contains(text, "not empty") {
		t.Errorf("into a used directory: exit code %d: %s", code, text)
	}
	verify := harness.Launch(t, nil, "journal", "verify", restored)
	for range verify.Lines {
	}
	if code := verify.Wait(); code != 0 {
		t.Errorf("journal verify: exit code %d: %s", code, verify.Stderr.String())
	}
	again := harness.Start(t, "--data-dir", restored, "--pairs", "none", "--sim", "off", "--quiet",
		"--set", "rate.allow=127.0.0.1")
	if got := shown(again); got != want {
		t.Errorf("the restored exchange shows\n%.2000s\nthe writer showed\n%.2000s", got, want)
	}
	if got := shownEpoch(t, again); got == epoch {
		t.Errorf("the restored exchange goes on in the epoch %s", got)
	}
	status := again.Do("GET", again.Public+"/api/status", "").Body
	if !strings.Contains(status, "restored from the stream of the epoch "+epoch) {
		t.Errorf("no incident says so: %s", status)
	}
	a.VerifyStores(t, again)
	again.Signal(syscall.SIGTERM)
	again.EndsClean(restored)
}
