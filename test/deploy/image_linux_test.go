package deploy

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tickhive/tickhive/internal/datadir"

	"github.com/tickhive/tickhive/test/deploy/examples"
	"github.com/tickhive/tickhive/test/harness"
)

// imageBuilder carries out the steps of a Dockerfile in folders, with chroot in place of containers. Its
// goroutine has name spaces for mounts and for the network, which end with the goroutine.
type imageBuilder struct {
	t       *testing.T
	context string   // the folder in which docker build would run
	roots   []string // of the stages
	dir     string   // WORKDIR
	user    *syscall.Credential
}

// isolate gives the goroutine, and the programs that it starts, a network with loopback alone, and separate mounts.
func isolate(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		t.Skipf("no name spaces: the image is not built: %v", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
}

// from begins a stage: a folder that is empty, or has the toolchain of this machine, read-only.
func (b *imageBuilder) from(image string) {
	root := b.t.TempDir()
	b.roots, b.dir, b.user = append(b.roots, root), "/", &syscall.Credential{}
	switch {
	case image == "scratch":
	case strings.HasPrefix(image, "golang:"), strings.HasPrefix(image, "busybox:"):
		for from, to := range map[string]string{
			"/bin": "/bin", "/lib": "/lib", "/lib64": "/lib64", "/usr": "/usr", "/dev": "/dev", "/proc": "/proc",
			goEnv(b.t, "GOROOT"): "/usr/local/go", goEnv(b.t, "GOMODCACHE"): "/go/pkg/mod",
		} {
			b.mount(from, to, unix.MS_RDONLY)
		}
		b.mount(goEnv(b.t, "GOCACHE"), "/cache", 0)
		b.mkdir("/tmp")
	default:
		b.t.Fatalf("FROM %s: this test does not know what that image has", image)
	}
}

// mount shows a folder of this machine in the newest stage.
func (b *imageBuilder) mount(from, to string, flags uintptr) {
	b.t.Helper()
	if _, err := os.Stat(from); err != nil {
		return // /lib64 of other architectures
	}
	at := b.mkdir(to)
	if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
		b.t.Fatalf("%s at %s: %v", from, at, err)
	}
	if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			panic(at + ": " + err.Error()) // or the removal of the temporary folder would go on in from
		}
	})
}

// mkdir makes a folder of the newest stage and returns its path outside.
func (b *imageBuilder) mkdir(name string) string {
	b.t.Helper()
	at := filepath.Join(b.roots[len(b.roots)-1], name)
	if err := os.MkdirAll(at, 0o755); err != nil {
		b.t.Fatal(err)
	}
	return at
}

// command returns a command of the newest stage.
func (b *imageBuilder) command(args []string, env ...string) *exec.Cmd {
	c := exec.CommandContext(b.t.Context(), args[0], args[1:]...)
	c.Path, c.Err = args[0], nil
	c.Dir, c.Env = b.dir, append([]string{"HOME=/tmp"}, env...)
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: b.roots[len(b.roots)-1], Credential: b.user}
	return c
}

// step carries out one instruction.
func (b *imageBuilder) step(s examples.RecipeStep) {
	b.t.Helper()
	switch s.Name {
	case "FROM":
		b.from(strings.Fields(s.Text)[0])
	case "WORKDIR":
		b.dir = s.Text
		b.mkdir(s.Text)
	case "RUN":
		// The module cache is all that the build has of the network. The profile is left out: it doubles the time.
		c := b.command([]string{"/bin/sh", "-c", s.Text}, "PATH=/usr/local/go/bin:/usr/bin:/bin",
			"GOPATH=/go", "GOCACHE=/cache", "GOPROXY=off", "GOFLAGS=-pgo=off", "GOTOOLCHAIN=local")
		if out, err := c.CombinedOutput(); err != nil {
			b.t.Fatalf("RUN %s: %v: %s", s.Text, err, out)
		}
	case "COPY":
		b.copy(strings.Fields(s.Text))
	case "USER":
		uid, gid, _ := strings.Cut(s.Text, ":")
		b.user = &syscall.Credential{Uid: number(b.t, uid), Gid: number(b.t, gid)}
	case "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD": // how to run it
	default:
		b.t.Fatalf("this test does not know %s", s.Name)
	}
}

// copy carries out COPY.
func (b *imageBuilder) copy(words []string) {
	b.t.Helper()
	context, owner := b.context, ""
	for strings.HasPrefix(words[0], "--") {
		flag, value, _ := strings.Cut(words[0], "=")
		switch flag {
		case "--from":
			context = b.roots[0]
		case "--chown":
			owner = value
		default:
			b.t.Fatalf("this test does not know COPY %s", flag)
		}
		words = words[1:]
	}
	sources, to := words[:len(words)-1], words[len(words)-1]
	at := filepath.Join(b.roots[len(b.roots)-1], b.dir, to)
	if filepath.IsAbs(to) {
		at = filepath.Join(b.roots[len(b.roots)-1], to)
	}
	// cp does what COPY does with folders. The context is what git has or would take, and its history, from which the
	// build takes the commit.
	script := `cd "$0" && to=$1 && shift && cp -rT --preserve=mode "$1" "$to"`
	switch {
	case len(sources) > 1:
		script = `cd "$0" && to=$1 && shift && cp "$@" "$to"`
	case sources[0] == ".":
		script = `cd "$0" && git clone -q -n --depth 1 "file://$PWD" "$1/clone" && mv "$1/clone/.git" "$1" &&
			rmdir "$1/clone" && git -C "$1" reset -q && git ls-files -coz --exclude-standard |
			tar c --null --ignore-failed-read -T - | tar x -C "$1"`
	}
	c := exec.CommandContext(b.t.Context(), "sh", append([]string{"-c", script, context, at}, trimRoots(sources)...)...)
	if out, err := c.CombinedOutput(); err != nil {
		b.t.Fatalf("COPY %q: %v: %s", words, err, out)
	}
	if owner == "" {
		return
	}
	uid, gid, _ := strings.Cut(owner, ":")
	err := filepath.WalkDir(at, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, int(number(b.t, uid)), int(number(b.t, gid)))
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// trimRoots returns the names relative to the context.
func trimRoots(names []string) (out []string) {
	for _, name := range names {
		out = append(out, strings.TrimPrefix(name, "/"))
	}
	return out
}

func number(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// The steps of both Dockerfiles, of the sources and of an archive, make the same image.
func TestTheImage(t *testing.T) {
	if os.Getenv("TICKHIVE_STRICT") != "1" || os.Geteuid() != 0 {
		t.Skip("the image is not built: that takes root and TICKHIVE_STRICT=1")
	}
	// In the image's own network there is no proxy of modules. Tests alone do not need all that go.mod names.
	inTree(t, "go", "mod", "download")
	archive := t.TempDir()
	// By the flags of the image, so that nothing is compiled twice.
	inTree(t, "env", "CGO_ENABLED=0", "go", "build", "-pgo=off", "-trimpath", "-ldflags=-s -w",
		"-o", filepath.Join(archive, "bin", "tickhive"), "./cmd/tickhive")
	for name, context := range map[string]string{
		"deploy/Dockerfile": harness.SourceTree, "deploy/archive.Dockerfile": archive,
	} {
		t.Run(name, func(t *testing.T) { testImage(t, name, context) })
	}
}

// testImage makes a root by the steps of a Dockerfile. In it the program runs as the image's user with nothing but its
// data directory, by the command lines of the image and of the compose file: its health check succeeds, SIGTERM stops
// it cleanly, and the next start takes the directory over.
func testImage(t *testing.T, name, context string) {
	isolate(t)
	b := &imageBuilder{t: t, context: context}
	stages := examples.Dockerfile(t, name)
	for _, stage := range stages {
		for _, s := range stage {
			b.step(s)
		}
	}
	final := stages[len(stages)-1]
	b.dir = "/"
	b.onlyHas("tickhive", "data")
	version, err := b.command([]string{"/tickhive", "version"}).Output()
	// A clone tells its commit to the compiler; the folder of these tests can be a worktree, which does not.
	if err != nil || context == harness.SourceTree && bytes.Contains(version, []byte("unknown")) {
		t.Errorf("%v: %s", err, version)
	}
	entry, health := examples.Instruction(t, final, "ENTRYPOINT").Words, examples.Instruction(t, final,
		"HEALTHCHECK").Words

	var file examples.Composed
	examples.ReadYAML(t, harness.ReadTree(t, "deploy/compose.yaml"), &file)
	b.makeToken(file.Services["token"].Command)
	args := examples.Instruction(t, final, "CMD").Words
	for _, args := range [][]string{args, file.Services["tickhive"].Command, args} {
		if b.command(health).Run() == nil {
			t.Fatal("the health check succeeds before the start")
		}
		in := harness.LaunchCommand(t, nil, b.command(append(entry, args...)))
		in.TakeAddresses(in.WaitLine("ready "))
		if out, err := b.command(health).CombinedOutput(); err != nil {
			t.Errorf("the health check: %v: %s", err, out)
		}
		in.Signal(syscall.SIGTERM)
		if code := in.Wait(); code != 0 || strings.Contains(in.Stderr.String(), "WARN") {
			t.Errorf("%q: exit code %d: %s", args, code, in.Stderr.String())
		}
	}
	b.onlyHas("tickhive", "data", "token")
	if meta, err := datadir.ReadMeta(b.mkdir("/data")); err != nil || !meta.Clean {
		t.Errorf("%v, clean %t", err, meta.Clean)
	}
	err = filepath.WalkDir(b.mkdir("/data"), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != b.user.Uid {
			t.Errorf("%s does not belong to the user of the image", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// onlyHas checks the entries of the newest stage's root.
func (b *imageBuilder) onlyHas(names ...string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.roots[len(b.roots)-1])
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	for _, name := range names {
		if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+name+" ") {
			b.t.Errorf("no /%s", name)
		}
	}
	if len(got) != len(names) {
		b.t.Errorf("the image has %q", got)
	}
}

// makeToken runs the script of the compose file's token service on the token volume, a second time as well.
func (b *imageBuilder) makeToken(command []string) {
	b.t.Helper()
	volume := b.mkdir("/token")
	var before []byte
	for range 2 {
		script := strings.ReplaceAll(command[2], "/token", volume)
		c := exec.CommandContext(b.t.Context(), command[0], command[1], script)
		if out, err := c.CombinedOutput(); err != nil {
			b.t.Fatalf("%v: %s", err, out)
		}
		token, err := os.ReadFile(volume + "/internal")
		if err != nil || len(token) != 64 || before != nil && string(token) != string(before) {
			b.t.Fatalf("%v: a token of %d bytes, before %d", err, len(token), len(before))
		}
		before = token
	}
}
