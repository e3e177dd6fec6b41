package cluster

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// free are addresses that a test does not need to know.
var free = []string{"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--quiet"}

// embeddedWriter starts a writer with an embedded stream on a free port, whose credentials the program makes. It
// returns the address of the stream, which the line "ready" has.
func embeddedWriter(t *testing.T, dir string) (in *harness.Instance, at string) {
	t.Helper()
	in = harness.Launch(t, []string{noCredentials}, append([]string{
		"serve", "--data-dir", dir, "--pairs", "none", "--sim", "off", "--journal", "embedded",
		"--set", "stream.listen=127.0.0.1:0",
	}, free...)...)
	line := in.WaitLine("ready ")
	in.TakeAddresses(line)
	m := regexp.MustCompile(` stream=(127\.0\.0\.1:\d+)$`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("no address of the stream in %q", line)
	}
	return in, m[1]
}

// Every process of the machine reaches the embedded stream. Its lock is a file of the data directory
// that only the owner reads, made once, as the key of the cluster. Without one of these files the refusal of a replica
// and of the commands of a stream names it; with both they follow.
func TestTheEmbeddedStreamIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "stream.nk")
	writer, at := embeddedWriter(t, dir)
	made, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "cluster.key")
	for _, name := range []string{file, key} {
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
	}
	away := filepath.Join(t.TempDir(), "seed") // the credentials without the key beside them
	if err := os.WriteFile(away, made, 0o600); err != nil {
		t.Fatal(err)
	}
	from := []string{"--from", "nats://" + at}
	commands := map[string][]string{
		"replica": append([]string{"replica"}, free...), "status": {"stream", "status"}, "verify": {"stream", "verify"},
		"restore": {"stream", "restore", filepath.Join(t.TempDir(), "new")},
		"standby": append([]string{"replica", "--promote", "--data-dir", filepath.Join(t.TempDir(), "node")}, free...),
	}
	for name, command := range commands {
		command = slices.Concat(command, from)
		in := harness.Launch(t, []string{noCredentials}, append(command, "--cluster-key", key)...)
		if code, text := in.Wait(), in.Stderr.String(); code != 1 || !strings.Contains(text, "--credentials FILE") ||
			!strings.Contains(text, "stream.nk in its data directory") {
			t.Errorf("%s without credentials: exit code %d, %s", name, code, text)
		}
		in = harness.Launch(t, []string{noCredentials}, append(command, "--credentials", away)...)
		if code, text := in.Wait(), in.Stderr.String(); code != 2 || !strings.Contains(text, "--cluster-key") ||
			!strings.Contains(text, "cluster.key of its data directory") {
			t.Errorf("%s without the key: exit code %d, %s", name, code, text)
		}
	}
	from = append(from, "--credentials", file)
	for _, name := range []string{"status", "verify", "restore"} {
		in := harness.Launch(t, []string{noCredentials}, append(commands[name], from...)...)
		for range in.Lines {
		}
		if code := in.Wait(); code != 0 {
			t.Errorf("%s: exit code %d, %s", name, code, in.Stderr.String())
		}
	}
	replica := harness.Launch(t, []string{noCredentials}, append(commands["replica"], from...)...)
	replica.WaitLine("ready ")

	writer.Signal(syscall.SIGKILL)
	writer.Wait()
	writer, _ = embeddedWriter(t, dir)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(made) {
		t.Errorf("another start made other credentials, %v", err)
	}
	writer.Signal(syscall.SIGTERM)
	writer.EndsClean(dir)
}

// Another user of the machine reads and changes nothing in the directory of a writer with a stream: not the records,
// nor the keys by which they could be read, signed or sent.
func TestNobodyReadsTheDirectoryOfAWriter(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("skipped: only root runs a command as another user")
	}
	dir, err := os.MkdirTemp("", "tickhive-open") // which others may enter, unlike that of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	writer, _ := embeddedWriter(t, data)
	writer.Do("POST", writer.Internal+"/users", "{}")
	find := func(uid uint32, what ...string) string {
		c := exec.Command("find", append([]string{data}, what...)...)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, _ := c.Output() // find complains of what it cannot enter
		return string(out)
	}
	for _, name := range []string{"stream.nk", "cluster.key", "engine/000001.wal", "meta.json"} {
		if all := find(0, "-readable"); !strings.Contains(all, filepath.Join(data, name)+"\n") {
			t.Fatalf("%s is not in the directory: %s", name, all)
		}
	}
	if found := find(65534, "-mindepth", "1", "-type", "f", "(", "-readable", "-o", "-writable", ")"); found != "" {
		t.Errorf("another user reads or writes %s", found)
	}
	if found := find(65534, "-writable"); found != "" {
		t.Errorf("another user writes %s", found)
	}
}

// Credentials that every user of the machine may read, and ones that are none,
// are refused with the file and the remedy.
func TestBadCredentialsOfTheEmbeddedStreamAreRefused(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		mode os.FileMode
		want string
	}{
		"SUA": {0o644, "chmod 600 it"}, "": {0o600, "remove it"}, "no seed": {0o600, "remove it"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "stream.nk")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		in := harness.Launch(t, []string{noCredentials}, append([]string{
			"serve", "--data-dir", dir, "--pairs", "none", "--sim", "off", "--journal", "embedded",
			"--set", "stream.listen=127.0.0.1:0",
		}, free...)...)
		code, said := in.Wait(), in.Stderr.String()
		if code != 1 || !strings.Contains(said, file) || !strings.Contains(said, c.want) {
			t.Errorf("%q, mode %o: exit code %d, %s", text, c.mode, code, said)
		}
		if kept, err := os.ReadFile(file); err != nil || string(kept) != text {
			t.Errorf("%q: the file was changed: %q, %v", text, kept, err)
		}
	}
}

// An ephemeral exchange says where its stream is and which file has the credentials.
func TestAnEphemeralStreamSaysWhereItIs(t *testing.T) {
	t.Parallel()
	in := harness.Launch(t, []string{noCredentials}, "serve", "--ephemeral", "--pairs", "none", "--sim", "off",
		"--journal",
		"embedded", "--quiet")
	var said struct{ Stream, StreamCredentials string }
	if err := json.Unmarshal([]byte(in.WaitLine("{")), &said); err != nil {
		t.Fatal(err)
	}
	replica := harness.Launch(t, []string{noCredentials}, append([]string{
		"replica", "--from", said.Stream, "--credentials", said.StreamCredentials,
	}, free...)...)
	replica.WaitLine("ready ")
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if _, err := os.Stat(said.StreamCredentials); err == nil {
		t.Errorf("%s is left", said.StreamCredentials)
	}
}
