package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"

	"github.com/tickhive/tickhive/test/harness"
)

// inject appends a message to the stream of a writer, which goes on sending
// meanwhile. data makes it behind the last one.
func inject(t *testing.T, in *harness.Instance, at string, data func(end stream.State, last []byte) []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	conn, err := jet.Connect(harness.StreamSeed.Remote(at))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log, err := conn.Log(ctx, shownEpoch(t, in), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	harness.WaitFor(t, func() bool {
		end, err := node.End(ctx, log, streamKeys(t))
		if err != nil {
			t.Fatal(err)
		}
		last, err := log.Read(ctx, end.Seq)
		if err != nil || !end.EndsWith(last) {
			t.Fatalf("message %d: %v", end.Seq, err)
		}
		if err := log.Publish(1, end.Seq, data(end, last)); err != nil {
			t.Fatal(err)
		}
		return (<-log.Answers()).Err == nil
	})
}

// forgedRecord returns a function that makes a message in the name of the writer with one more record, signed by a
// secret. Whoever reads the stream and may publish can make it, but for the secret.
func forgedRecord(secret []byte) func(end stream.State, last []byte) []byte {
	return func(end stream.State, last []byte) []byte {
		le := binary.LittleEndian
		b := append([]byte(nil), last[:120]...)
		b[4] = byte(stream.Records)
		le.PutUint64(b[8:], end.Term)
		le.PutUint64(b[16:], end.Node)
		le.PutUint64(b[24:], uint64(end.SentNs))
		le.PutUint64(b[32:], xxhash.Sum64(last))
		le.PutUint64(b[40:], end.End.Seq)
		le.PutUint64(b[48:], end.End.Chain)
		clear(b[56:96])
		le.PutUint32(b[100:], 1)
		b = append(b, 6)
		b = append(b, "forged"...)
		mac := hmac.New(sha256.New, secret)
		mac.Write(b[:104])
		mac.Write(b[120:])
		copy(b[104:120], mac.Sum(nil))
		return b
	}
}

// lockedWriter starts a writer with an embedded stream that waits for it.
func lockedWriter(t *testing.T, dir, at string) *harness.Instance {
	t.Helper()
	return harness.Start(t, "--data-dir", dir, "--pairs", "none", "--sim", "off", "--quiet", "--journal", "embedded",
		"--ack",
		"quorum", "--set", "stream.listen="+at)
}

func hasUser(in *harness.Instance, user any) bool {
	return in.Do("GET", fmt.Sprintf("%s/users/%v", in.Internal, user), "").Status == 200
}

// A message that is none, and one in the writer's name that was made without the cluster's key, stop nobody and change
// nothing: the writer is in doubt for a moment and goes on, its next start and a replica pass over the message, and the
// commands count it.
func TestAMessageOfNobodyStopsNobody(t *testing.T) {
	t.Parallel()
	at, dir := harness.StreamAddress(t), t.TempDir()
	writer := lockedWriter(t, dir, at)
	replica := harness.StartReplica(t, at)
	var user any
	for _, data := range []func(stream.State, []byte) []byte{
		func(stream.State, []byte) []byte { return []byte("no message of this format") },
		forgedRecord(make([]byte, 32)),
		func(_ stream.State, last []byte) []byte { return last },
	} {
		inject(t, writer, at, data)
		user = writer.Call(200, "POST", "/users", "{}")["id"]
	}
	if body := writer.Do("GET", writer.Public+"/api/status", "").Body; strings.Contains(body, `"failed":true`) {
		t.Errorf("the writer: %s", body)
	}
	follows := func(replica *harness.Instance) {
		t.Helper()
		harness.WaitFor(t, func() bool { return hasUser(replica, user) })
	}
	follows(replica)
	follows(harness.StartReplica(t, at))
	if code, out, text := streamCommand(t, at, "verify"); code != 0 || !strings.Contains(out, "void 3") {
		t.Errorf("stream verify: exit code %d: %s%s", code, out, text)
	}
	writer.Signal(syscall.SIGKILL)
	writer.Wait()
	writer = lockedWriter(t, dir, at)
	user = writer.Call(200, "POST", "/users", "{}")["id"]
	follows(replica)
}

// A message that counts, in the writer's own name and not of it, was made with the cluster's key. It does not end the
// writer: it serves reads, says what it has met, and confirms nothing more. Its next start cannot execute the message
// and is refused with the way out, which gives everything, with a new stream.
func TestAForgedMessageDoesNotEndTheWriter(t *testing.T) {
	t.Parallel()
	at, dir := harness.StreamAddress(t), t.TempDir()
	writer := lockedWriter(t, dir, at)
	user := writer.Call(200, "POST", "/users", "{}")["id"]
	inject(t, writer, at, forgedRecord(clusterRing(t).Derive("stream")[0]))
	harness.WaitFor(t, func() bool {
		body := writer.Do("GET", writer.Public+"/api/status", "").Body
		return strings.Contains(body, `"failed":true`) && strings.Contains(
			writer.Do("GET", writer.Internal+"/incidents", "").Body, "in the name of this writer")
	})
	if a := writer.Do("POST", writer.Internal+"/users", "{}"); a.Status != 503 ||
		!strings.Contains(a.Body, "nothing was applied") {
		t.Errorf("a change that the stream does not have: %d %s", a.Status, a.Body)
	}
	if a := writer.Do("GET", writer.Public+"/api/summary", ""); a.Status != 200 {
		t.Errorf("a read: %d %s", a.Status, a.Body)
	}
	writer.Signal(syscall.SIGTERM)
	writer.EndsClean(dir)
	again := harness.Launch(t, nil, append([]string{
		"serve", "--data-dir", dir, "--pairs", "none", "--sim", "off", "--journal", "embedded", "--ack", "quorum",
		"--set", "stream.listen=" + at,
	}, free...)...)
	if code, text := again.Wait(), again.Stderr.String(); code != 1 ||
		!strings.Contains(text, "restore NEW --from-dir DIR") {
		t.Errorf("another start: exit code %d: %s", code, text)
	}
	fresh := filepath.Join(t.TempDir(), "new")
	restore := harness.Launch(t, nil, "stream", "restore", fresh, "--from-dir", dir)
	for range restore.Lines {
	}
	if code := restore.Wait(); code != 0 {
		t.Fatalf("restore: exit code %d: %s", code, restore.Stderr.String())
	}
	writer = lockedWriter(t, fresh, at)
	if !hasUser(writer, user) {
		t.Errorf("the user %v is lost", user)
	}
	user = writer.Call(200, "POST", "/users", "{}")["id"]
	replica := harness.StartReplica(t, at)
	harness.WaitFor(t, func() bool { return hasUser(replica, user) })
}

// clusterRing returns the keys of the cluster of these tests.
func clusterRing(t *testing.T) *clusterkey.Ring {
	t.Helper()
	text, err := os.ReadFile(harness.StreamSeed.Key)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := clusterkey.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// streamKeys returns the keys by which the messages of these tests are believed.
func streamKeys(t *testing.T) *stream.Keys {
	t.Helper()
	return stream.KeysOf(clusterRing(t))
}
