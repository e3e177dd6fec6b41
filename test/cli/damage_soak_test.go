package cli

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// damagedDir is a directory of the program, and the answers that a start on an intact copy of it gives.
type damagedDir struct {
	args  []string
	files map[string][]byte
	names []string
	users []string // ids
	truth string
	epoch string
}

// A flipped bit or a missing end of any file gives the same answers, a refusal with exit code 3 that names the
// file's log, or, where no acknowledged change is missing, an incident. TICKHIVE_SOAK=1 tries 2,000 positions.
func TestDamagedFilesOfTheProgram(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	positions := 12
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		positions = 2000
	}
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(end.String(), func(t *testing.T) {
			d := newDamagedDir(t, end)
			rnd := rand.New(rand.NewPCG(1, uint64(end)))
			var same, refused, told int
			for n := range positions / 2 {
				name := d.names[rnd.IntN(len(d.names))]
				at, cut := rnd.IntN(len(d.files[name])), n%2 == 0
				what := fmt.Sprintf("%s, %s at %d of %d", map[bool]string{true: "cut", false: "flip"}[cut], name, at,
					len(d.files[name]))
				got, text := d.try(t, name, at, cut, byte(1)<<rnd.IntN(8))
				switch {
				case got == "refused":
					refused++
				case got == d.truth && text == "":
					same++
				case got == d.truth:
					told++
				default:
					t.Errorf("%s: the answers are %s, they were %s; incidents %s", what, got, d.truth, text)
				}
			}
			t.Logf("%d positions in %d files: %d same answers, %d more with an incident, %d refused", same+told+refused,
				len(d.names), same, told, refused)
		})
	}
}

// newDamagedDir runs the program for some commands in every log and ends it.
func newDamagedDir(t *testing.T, end syscall.Signal) *damagedDir {
	dir := t.TempDir()
	d := &damagedDir{files: map[string][]byte{}, args: []string{
		"--pairs", "none", "--sim", "off", "--journal-sync", "always", "--quiet",
		"--set", "journal.segment_bytes=16384", "--set", "journal.snapshot_bytes=20000",
	}}
	in := harness.Start(t, append(d.args, "--data-dir", dir)...)
	in.Call(200, "POST", "/pairs", `{"code":"AA_USDT","digitsPrice":2,"digitsAmount":1}`)
	for n := range 12 {
		id, _ := in.Call(200, "POST", "/users", `{"nativeBalance":100000,"level":25}`)["id"].(string)
		d.users = append(d.users, id)
		for _, c := range []string{"AA", "USDT"} {
			in.Call(200, "POST", "/users/"+id+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":1000}`, c))
		}
		in.Call(200, "POST", "/users/"+id+"/apikeys", `{"name":"k"}`)
		worker, _ := in.Call(200, "POST", "/launchpad/tokens",
			fmt.Sprintf(`{"userId":%q,"name":"T","symbol":"AAAA%c"}`, id, 'A'+n))["worker"].(map[string]any)
		for range 4 {
			in.Call(200, "POST", "/hive/actions", fmt.Sprintf(`{"sourceAgentId":"queen-1","targetTokenId":%v,`+
				`"actionType":"observation","reasonCode":"r","actionPayload":{"n":1}}`, worker["agentNftId"]))
		}
		for range 40 {
			for _, side := range []string{"buy", "sell"} {
				in.Call(200, "POST", "/orders", fmt.Sprintf(`{"currencyPairCode":"AA_USDT","side":%q,"type":"limit",`+
					`"price":%d.5,"amount":1.3,"accountId":%q}`, side, 95+len(side)+n%5, id))
			}
		}
	}
	d.truth, d.epoch, _ = d.answers(in)
	in.Signal(end)
	in.Wait()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || e.IsDir() || e.Name() == "LOCK" || strings.HasSuffix(name, ".md") {
			return err
		}
		d.files[name], err = os.ReadFile(path)
		if len(d.files[name]) > 0 {
			d.names = append(d.names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(d.names)
	return d
}

// try starts the program on a damaged copy. It returns its answers, or "refused", and its new incidents.
func (d *damagedDir) try(t *testing.T, name string, at int, cut bool, bit byte) (answers, incidents string) {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for file, b := range d.files {
		if file == name {
			b = slices.Clone(b)
			if b[at] ^= bit; cut {
				b = b[:at]
			}
		}
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := harness.Launch(t, nil, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir,
	}, d.args...)...)
	for line := range in.Lines {
		if strings.HasPrefix(line, "ready ") {
			in.TakeAddresses(line)
			got, epoch, incidents := d.answers(in)
			in.Signal(syscall.SIGKILL)
			in.Wait()
			if epoch != d.epoch {
				got += ", another epoch"
			}
			return got, incidents
		}
	}
	log, _, _ := strings.Cut(name, string(filepath.Separator))
	if code, text := in.Wait(), in.Stderr.String(); code != 3 || !strings.Contains(text, log) {
		t.Errorf("%s at %d: exit code %d: %s", name, at, code, text)
	}
	return "refused", ""
}

// answers returns what the program answers, its epoch, and its incidents but for the one that says that it was
// not stopped in order.
func (d *damagedDir) answers(in *harness.Instance) (answers, epoch, incidents string) {
	hash := in.Call(200, "GET", "/state-hash", "")
	answers = fmt.Sprint(hash["seq"], hash["hash"])
	targets := []string{
		in.Internal + "/totals", in.Public + "/api/launchpad/tokens",
		in.Public + "/api/agents/action-logs?pageSize=100",
	}
	for _, id := range d.users {
		targets = append(targets, in.Internal+"/users/"+id)
	}
	sum := sha256.New()
	for _, target := range targets {
		a := in.Do("GET", target, "")
		if a.Status != 200 {
			return fmt.Sprintf("%s: %d %s", target, a.Status, a.Body), "", ""
		}
		_, _ = io.WriteString(sum, a.Body)
	}
	answers += fmt.Sprintf(" %x", sum.Sum(nil)[:8])
	status := harness.Object(in.T, in.Do("GET", in.Public+"/api/status", "").Body)
	epoch, _ = status["epoch"].(string)
	all, _ := status["incidents"].([]any)
	for _, one := range all {
		if m, _ := one.(map[string]any); m["kind"] != "restart" {
			incidents += fmt.Sprintln(m["message"])
		}
	}
	return answers, epoch, incidents
}
