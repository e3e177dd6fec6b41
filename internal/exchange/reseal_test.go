package exchange_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

const (
	stateRetires = "no field of the state needs a former key any more"
	filesRetire  = "no snapshot and no record of this directory needs a former key any more"
)

var (
	formerLine = strings.Repeat("0badc0de", 8) + "\n"
	firstLine  = strings.Repeat("c0ffee00", 8) + "\n"
)

// keyFile writes a file of keys of secrets, and returns its path and the ring.
func keyFile(t *testing.T, lines string) (path string, ring *seal.Key) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "secret.key")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	ring, err := seal.ParseKey(lines)
	if err != nil {
		t.Fatal(err)
	}
	return path, ring
}

// named makes users with names and a key each, and returns clients that sign with the keys.
func named(x *exchangetest.Rig, prefix string, n int) (all []*client.Client) {
	for i := range n {
		user := x.Call("POST", "/users", fmt.Sprintf(
			`{"nickname":"%s%d","name":"Ada %d","secondName":"Lovelace"}`, prefix, i, i))["id"].(string)
		key := x.Call("POST", "/users/"+user+"/apikeys", `{"name":"bot","ipWhitelist":["127.0.0.0/8","::1"]}`)
		all = append(all, &client.Client{
			PublicKey: key["publicKey"].(string), PrivateKey: key["privateKey"].(string),
		})
	}
	return all
}

// sign checks that the signatures of keys count.
func sign(t *testing.T, x *exchangetest.Rig, all ...*client.Client) {
	t.Helper()
	for _, c := range all {
		c.Base, c.Now = x.Public, nil
		if x.Clock != nil {
			c.Now = func() time.Time { return time.Unix(0, x.Clock.NowNs()) }
		}
		if _, err := c.Balances(context.Background()); err != nil {
			t.Errorf("the key %s: %v", c.PublicKey, err)
		}
	}
}

// says waits until an exchange has logged a line.
func says(t *testing.T, x *exchangetest.Rig, line string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(x.Log.String(), line); {
		x.Do("GET", x.Internal+"/ready", "")
		if time.Now().After(end) {
			t.Fatalf("it does not say %q:\n%s", line, x.Log)
		}
	}
}

// holding returns the files below a directory that have the id of a key in their bytes, or in the records and the
// states that they hold.
func holding(t *testing.T, dir string, key *seal.Key) (found []string) {
	t.Helper()
	id, err := hex.DecodeString(key.ID())
	if err != nil {
		t.Fatal(err)
	}
	look := func(name string, b []byte) {
		if bytes.Contains(b, id) || bytes.Contains(b, []byte(key.ID())) {
			found = append(found, name)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		look(path, b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = wal.Check(vfs.OS{}, filepath.Join(dir, "engine"), exchange.EngineLogOptions(), func(r io.Reader) error {
		b, err := io.ReadAll(r)
		look("a snapshot", b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// refuses checks that a start is refused with a remedy.
func refuses(t *testing.T, o exchange.Options, want string) {
	t.Helper()
	opened, err := exchange.Open(o)
	if err == nil {
		if _, err = opened.Recover(t.Context()); err == nil {
			t.Error("the start is not refused")
		}
		opened.Stop(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it is refused with: %v, want %q", err, want)
	}
}

// heldReseal holds the loop behind a record that seals fields again.
type heldReseal struct {
	sequencer.Parts
	at             int // number of the record
	begun, release chan struct{}
}

func (h *heldReseal) hook(o *sequencer.LoopOptions) { h.Parts, o.Parts = o.Parts, h }

// Apply implements sequencer.Parts.
func (h *heldReseal) Apply(cmd *engine.Command) any {
	if o := cmd.Control; o.Part == uint8(machine.Accounts) && o.Record[0] == byte(accounts.Reseal) {
		if h.at--; h.at == 0 {
			close(h.begun)
			<-h.release
		}
	}
	return h.Parts.Apply(cmd)
}

// with returns the options with another file of keys.
func with(o exchange.Options, file string) exchange.Options {
	o.Auth.SecretKey = file
	return o
}

// A former key is needed until what it has sealed is sealed again, which goes on behind a kill; requests are signed
// meanwhile. Behind the first line the exchange starts without it, and behind the second one no file has its id.
func TestAFormerKeyRetires(t *testing.T) {
	both, _ := keyFile(t, firstLine+formerLine)
	alone, first := keyFile(t, firstLine)
	o := exchangetest.Options(t.TempDir())
	var former *seal.Key
	o.Auth.SecretKey, former = keyFile(t, formerLine)
	x := exchangetest.Start(t, o)
	clients := named(x, "ann", 60) // 300 fields, so five records
	if err := x.Snapshot(); err != nil {
		t.Fatal(err)
	}
	x.Call("POST", "/users", `{"name":"Bob"}`)
	x.Stop()
	if found := holding(t, o.Dir, former); len(found) < 3 { // the log, the state, meta.json
		t.Fatalf("only %v have the key: what is looked through is not the log", found)
	}

	o.Auth.SecretKey = alone
	refuses(t, o, "put this one back into the file as a further line")
	o.Auth.SecretKey = both
	opened, err := exchange.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	opened.Stop(t.Context())
	o.Auth.SecretKey = alone // the directory is sealed with the first key, and its fields are not
	refuses(t, o, "put the key "+former.ID()+" back into the file as a further line")

	o.Auth.SecretKey = both
	held := &heldReseal{at: 2, begun: make(chan struct{}), release: make(chan struct{})}
	o.Hooks.Loop = held.hook
	x = exchangetest.Start(t, o)
	<-held.begun
	sign(t, x, clients[0], clients[59])
	o.Dir, o.Hooks.Loop = x.Kill(), nil // between two records
	close(held.release)
	x.Stop()
	if found := holding(t, o.Dir, first); len(found) < 2 {
		t.Errorf("only %v have the first key: the kill was before the record", found)
	}
	refuses(t, with(o, alone), "put the key "+former.ID()+" back into the file as a further line")
	x = exchangetest.Start(t, o)
	says(t, x, "is sealed again with the first key")
	clients = append(clients, named(x, "eve", 1)...)
	says(t, x, stateRetires)
	sign(t, x, clients...)
	metrics := func() string { return x.Do("GET", strings.TrimSuffix(x.Internal, "/internal/v1")+"/metrics", "").Body }
	needed := func(key *seal.Key, by string, is int) string {
		return fmt.Sprintf("\ntickhive_secret_key_needed{by=%q,key=%q} %d\n", by, key.ID(), is)
	}
	for _, want := range []string{
		needed(first, "state", 1), needed(first, "files", 1), needed(former, "state", 0), needed(former, "files", 1),
	} {
		if m := metrics(); !strings.Contains(m, want) {
			t.Errorf("%s is not in\n%s", want, m)
		}
	}
	dir := x.Kill() // with the state alone
	x.Stop()

	o.Dir = dir
	x = exchangetest.Start(t, o) // the position is noted, so it does not begin again
	for range 2 {
		says(t, x, stateRetires)
		x.Call("POST", "/users", "{}")
		if err := x.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	says(t, x, filesRetire)
	if want := needed(former, "files", 0); !strings.Contains(metrics(), want) {
		t.Errorf("%s is not in\n%s", want, metrics())
	}
	hash := x.Hash()
	dir = x.Kill()
	if found := holding(t, dir, former); len(found) > 0 {
		t.Errorf("the former key is in %v", found)
	}
	x.Stop()
	o.Dir, o.Auth.SecretKey = dir, alone
	x = exchangetest.Start(t, o)
	sign(t, x, clients...)
	if got := x.Hash(); got != hash {
		t.Errorf("the hash is %s, it was %s", got, hash)
	}
	if strings.Contains(x.Log.String(), "secrets:") {
		t.Errorf("with one key it says:\n%s", x.Log)
	}
}

// A replica without a key has the state of a writer that seals fields again.
func TestAReplicaFollowsWhatIsSealedAgain(t *testing.T) {
	mem := jettest.NewMem()
	o := realTime(t.TempDir())
	o.Auth.SecretKey, _ = keyFile(t, formerLine)
	streams(t, &o, mem.Connect())
	x := exchangetest.Start(t, o)
	clients := named(x, "ann", 5)
	x.Stop()

	o.Auth.SecretKey, _ = keyFile(t, firstLine+formerLine)
	streams(t, &o, mem.Connect())
	x = exchangetest.Start(t, o)
	says(t, x, stateRetires)
	clients = append(clients, named(x, "eve", 1)...)
	sign(t, x, clients...)
	want, err := x.OwnHash()
	if err != nil {
		t.Fatal(err)
	}
	y := begins(t, mem.Connect(), func(*exchange.Options) {})
	defer y.Stop(t.Context())
	if got, err := y.StateHash(); err != nil || got.Hash != want.Hash {
		t.Errorf("%v, %v, the writer has %v", got, err, want)
	}
}

// A standby needs the keys of today: not the one with which the stream has begun, when nothing is sealed by that one
// any more, and the one with which the writer seals now.
func TestAStandbyNeedsTheKeysOfToday(t *testing.T) {
	mem := jettest.NewMem()
	o := realTime(t.TempDir())
	former, _ := keyFile(t, formerLine)
	o.Auth.SecretKey = former
	streams(t, &o, mem.Connect())
	x := exchangetest.Start(t, o)
	clients := named(x, "ann", 5)
	x.Stop()

	alone, first := keyFile(t, firstLine)
	o.Auth.SecretKey, _ = keyFile(t, firstLine+formerLine)
	streams(t, &o, mem.Connect())
	x = exchangetest.Start(t, o)
	says(t, x, stateRetires)
	stands := func(dir, file string) (c *node.Copy, change func(*exchange.Options)) {
		c = copyIn(t, mem.Connect(), dir)
		return c, func(o *exchange.Options) {
			o.Auth.SecretKey, o.Follow.Copy, o.Follow.Stands = file, c, true
		}
	}
	c, change := stands(t.TempDir(), former)
	s := following(t, mem.Connect(), change)
	if err := refused(t, s); err == nil || !strings.Contains(err.Error(), "the secrets in the stream are sealed with "+
		"the key "+first.ID()+": put this one back into the file as a further line") {
		t.Errorf("a standby with the former key alone: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}

	dir := t.TempDir()
	_, change = stands(dir, alone)
	y := begins(t, mem.Connect(), change)
	x.Stop()
	h, err := y.TakeOver(t.Context(), 16*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	w := leadsBehind(t, y, h, mem.Connect(), with(realTime(dir), alone))
	sign(t, w, clients...)
}
