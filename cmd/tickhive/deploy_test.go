package main

import (
	"io"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/test/deploy/examples"
	"github.com/tickhive/tickhive/test/harness"
)

// parsed returns the command line as the program reads it, and the name of its command.
func parsed(t *testing.T, args []string) (c *cli, command string) {
	t.Helper()
	c = &cli{}
	parser, err := (&program{out: io.Discard, err: io.Discard}).line(c).Parser()
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
func serveConfig(t *testing.T, args []string) *config.Config {
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
func ports(t *testing.T, cfg *config.Config) (public, internal string) {
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
	for _, name := range []string{"Dockerfile", "archive.Dockerfile"} {
		t.Run(name, func(t *testing.T) { checkImage(t, "deploy/"+name) })
	}
}

func checkImage(t *testing.T, name string) {
	t.Helper()
	stages := examples.Dockerfile(t, name)
	final := stages[len(stages)-1]
	entry := examples.Instruction(t, final, "ENTRYPOINT").Words
	cfg := serveConfig(t, examples.Instruction(t, final, "CMD").Words)
	public, internal := ports(t, cfg)
	if got := examples.Instruction(t, final, "EXPOSE").Text; got != public+" "+internal {
		t.Errorf("EXPOSE %s, and the program listens on %s and %s", got, public, internal)
	}
	if got := examples.Instruction(t, final, "VOLUME").Text; got != cfg.Data.Dir {
		t.Errorf("VOLUME %s, and the data are in %s", got, cfg.Data.Dir)
	}
	health := examples.Instruction(t, final, "HEALTHCHECK").Words
	if c, command := parsed(t, health[1:]); health[0] != entry[0] || command != "ready" ||
		c.Ready.Target != "127.0.0.1:"+internal {
		t.Errorf("HEALTHCHECK %q", health)
	}

	user := examples.Instruction(t, final, "USER").Text
	t.Run("compose", func(t *testing.T) { checkCompose(t, cfg, user) })
	t.Run("kubernetes", func(t *testing.T) { checkKubernetes(t, cfg, user) })
}

// The program knows every command and flag of the manual.
func TestTheProgramKnowsTheCommandsOfTheManual(t *testing.T) {
	command := regexp.MustCompile(`(?m)^ {4,}bin/tickhive (.*)$`)
	numbers := strings.NewReplacer("--at N", "--at 1", "--at SEQ", "--at 1")
	manual := regexp.MustCompile(`\$\([^)]*\)`).ReplaceAllString(harness.ReadTree(t, "docs/operating.md"), "now")
	manual = regexp.MustCompile(`\\\n *`).ReplaceAllString(manual, "")
	n := 0
	for _, m := range command.FindAllStringSubmatch(manual, -1) {
		n++
		parsed(t, strings.Fields(numbers.Replace(m[1])))
	}
	if n < 4 {
		t.Errorf("only %d command lines", n)
	}
}
