package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/oasdiff/yaml"
)

// readTree returns the text of a file of the source tree.
func readTree(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sourceTree, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readYAML decodes a YAML document. A member that v does not have is an error.
func readYAML(t *testing.T, text string, v any) {
	t.Helper()
	strict := func(d *json.Decoder) *json.Decoder {
		d.DisallowUnknownFields()
		return d
	}
	if _, err := yaml.Unmarshal([]byte(text), v, yaml.DecodeOpts{}, strict); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
}

// recipeStep is an instruction of deploy/Dockerfile: RUN, the text behind it, and the words of its JSON form.
type recipeStep struct {
	name, text string
	words      []string
}

// dockerfile returns the instructions of each stage of deploy/Dockerfile.
func dockerfile(t *testing.T) (stages [][]recipeStep) {
	t.Helper()
	text := strings.ReplaceAll(readTree(t, "deploy/Dockerfile"), "\\\n", "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s := recipeStep{}
		s.name, s.text, _ = strings.Cut(line, " ")
		if i := strings.Index(s.text, "["); i >= 0 {
			if err := json.Unmarshal([]byte(s.text[i:]), &s.words); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if s.name == "FROM" {
			stages = append(stages, nil)
		}
		stages[len(stages)-1] = append(stages[len(stages)-1], s)
	}
	return stages
}

// instruction returns the only instruction of this name in a stage.
func instruction(t *testing.T, stage []recipeStep, name string) recipeStep {
	t.Helper()
	i := slices.IndexFunc(stage, func(s recipeStep) bool { return s.name == name })
	if i < 0 || slices.ContainsFunc(stage[i+1:], func(s recipeStep) bool { return s.name == name }) {
		t.Fatalf("not one %s", name)
	}
	return stage[i]
}

// parsed returns the command line as the program reads it, and the name of its command.
func parsed(t *testing.T, args []string) (c *cli, command string) {
	t.Helper()
	c = &cli{}
	parser, err := kong.New(c, kong.Name("tickhive"), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		t.Errorf("tickhive %q: %v", args, err)
		return c, ""
	}
	command, _, _ = strings.Cut(ctx.Command(), " ")
	return c, command
}

// serveConfig returns the configuration of a command line of serve.
func serveConfig(t *testing.T, args []string) *Config {
	t.Helper()
	c, command := parsed(t, args)
	if command != "serve" {
		t.Fatalf("%q is no command line of serve", args)
	}
	cfg, err := c.Serve.config(&program{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return cfg
}

// ports returns the ports of both listeners.
func ports(t *testing.T, cfg *Config) (public, internal string) {
	t.Helper()
	_, public, err := net.SplitHostPort(cfg.Server.Listen)
	if err != nil {
		t.Fatal(err)
	}
	if _, internal, err = net.SplitHostPort(cfg.Internal.Listen); err != nil {
		t.Fatal(err)
	}
	return public, internal
}

// The program accepts the command lines and keys of deploy/, and every port there is one on which it listens then.
func TestTheImageAndItsUsersAgreeWithTheProgram(t *testing.T) {
	stages := dockerfile(t)
	final := stages[len(stages)-1]
	entry := instruction(t, final, "ENTRYPOINT").words
	cfg := serveConfig(t, instruction(t, final, "CMD").words)
	public, internal := ports(t, cfg)
	if got := instruction(t, final, "EXPOSE").text; got != public+" "+internal {
		t.Errorf("EXPOSE %s, and the program listens on %s and %s", got, public, internal)
	}
	if got := instruction(t, final, "VOLUME").text; got != cfg.Data.Dir {
		t.Errorf("VOLUME %s, and the data are in %s", got, cfg.Data.Dir)
	}
	health := instruction(t, final, "HEALTHCHECK").words
	if c, command := parsed(t, health[1:]); health[0] != entry[0] || command != "ready" ||
		c.Ready.Target != "http://127.0.0.1:"+internal {
		t.Errorf("HEALTHCHECK %q", health)
	}

	user := instruction(t, final, "USER").text
	t.Run("compose", func(t *testing.T) { checkCompose(t, cfg, user) })
	t.Run("kubernetes", func(t *testing.T) { checkKubernetes(t, cfg, user) })
}

// needTool returns a program of others, or skips the test, which TICKHIVE_STRICT=1 forbids.
func needTool(t *testing.T, name string) string {
	t.Helper()
	tool, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no %s (TICKHIVE_STRICT=1 makes this an error)", name)
	}
	return tool
}

// The unit starts the program as the manual does, stops restarts by the exit codes of the manual, and systemd finds no
// fault in it and little that the program could do beyond its work.
func TestTheSystemdUnit(t *testing.T) {
	unit := readTree(t, "deploy/tickhive.service")
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/tickhive (.*)$`).FindStringSubmatch(unit)
	if line == nil {
		t.Fatal("no ExecStart")
	}
	cfg := serveConfig(t, strings.Fields(line[1]))
	if !strings.Contains(unit, "\nStateDirectory="+strings.TrimPrefix(cfg.Data.Dir, "/var/lib/")+"\n") {
		t.Errorf("%s is not the directory that systemd makes", cfg.Data.Dir)
	}
	tool := needTool(t, "systemd-analyze")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// systemd asks for the program; here it is this one.
	copied := filepath.Join(t.TempDir(), "tickhive.service")
	unit = strings.ReplaceAll(unit, "/usr/local/bin/tickhive", exe)
	if err := os.WriteFile(copied, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", copied},
		{"security", "--offline=true", "--no-pager", "--threshold=16", copied}, // in tenths, of 100
	} {
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil ||
			args[0] == "verify" && len(out) > 0 {
			t.Errorf("%s: %v: %s", args[0], err, out)
		}
	}
}

// The program knows every command and flag of the manual.
func TestTheProgramKnowsTheCommandsOfTheManual(t *testing.T) {
	command := regexp.MustCompile(`(?m)^ {4,}bin/tickhive (.*)$`)
	numbers := strings.NewReplacer("--at N", "--at 1", "--at SEQ", "--at 1")
	manual := regexp.MustCompile(`\$\([^)]*\)`).ReplaceAllString(readTree(t, "docs/operating.md"), "now")
	n := 0
	for _, m := range command.FindAllStringSubmatch(manual, -1) {
		n++
		parsed(t, strings.Fields(numbers.Replace(m[1])))
	}
	if n < 4 {
		t.Errorf("only %d command lines", n)
	}
}
