package cmdline

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

// ExitError ends the program with an exit code. The function that returns it has printed the
// reason.
type ExitError int

// Error returns the code as text.
func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// ExitDamaged is the exit code of a program that refuses damaged or incomplete data.
const ExitDamaged = 3

// DamageError means that stored data are damaged or incomplete; the program exits 3.
type DamageError struct{ Err error }

// Error returns the text of Err.
func (e DamageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e DamageError) Unwrap() error { return e.Err }

// ExitCode returns the code with which the program ends.
func (DamageError) ExitCode() int { return ExitDamaged }

// UsageError means that a command line, a configuration and a data directory contradict each
// other. Nothing was changed; the program exits 2.
type UsageError struct{ Err error }

// Error returns the text of the wrapped error.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e UsageError) Unwrap() error { return e.Err }

// Line is a command line of a program.
type Line struct {
	Name     string // of the program
	About    string // one sentence for --help
	Commands any    // pointer to the struct that kong parses into
	Bound    []any  // passed to the Run method of the selected command
	Out, Err io.Writer

	Examples map[string][]Example // by the path of the command, which begins with Name
}

// Example is a command line that a reader can copy.
type Example struct{ About, Text string }

// Parser returns the parser of the command line. Its model has the examples in Detail; a command with subcommands has
// the first one of each.
func (l Line) Parser() (*kong.Kong, error) {
	parser, err := kong.New(l.Commands,
		kong.Name(l.Name),
		kong.Description(l.About),
		kong.Writers(l.Out, l.Err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(l.Bound...),
	)
	if err != nil {
		return nil, err
	}
	return parser, kong.Visit(parser.Model.Node, func(at kong.Visitable, next kong.Next) error {
		if n, ok := at.(*kong.Node); ok {
			n.Detail = exampleText(l.examples(n))
		}
		return next(nil)
	})
}

// examples returns the examples of a command.
func (l Line) examples(n *kong.Node) []Example {
	all := l.Examples[n.FullPath()]
	if len(all) == 0 {
		for _, leaf := range n.Leaves(true) {
			all = append(all, l.Examples[leaf.FullPath()][:min(1, len(l.Examples[leaf.FullPath()]))]...)
		}
	}
	return all
}

// ExamplesHead begins the examples in the detail of a command.
const ExamplesHead = "Examples:\n\n"

// exampleText returns examples as kong prints them: an indented text keeps its lines.
func exampleText(all []Example) string {
	var b strings.Builder
	for i, e := range all {
		if i == 0 {
			b.WriteString(ExamplesHead)
		}
		fmt.Fprintf(&b, "  # %s\n  %s\n", e.About, e.Text)
	}
	return b.String()
}

// Run parses args, runs the selected command and returns the exit code: 0, the code of an
// ExitError, 2 for a UsageError or a command line that cannot be parsed, 3 for damaged data, 1
// for any other error. Every program has `help [COMMAND]` and --version.
func Run(l Line, args []string) int {
	code, err := run(l, args)
	if err != nil {
		fmt.Fprintf(l.Err, "%s: %v\n", l.Name, err)
	}
	return code
}

func run(l Line, args []string) (int, error) {
	first := append(args, "")[0]
	switch first {
	case "help":
		args = append(args[1:len(args):len(args)], "--help")
	case "--version":
		fmt.Fprintln(l.Out, Build())
		return 0, nil
	}
	parser, err := l.Parser()
	if err != nil {
		return 2, err
	}
	kongcompletion.Register(parser) // answers a shell that asks for completions, which gives no arguments
	if first == "" {
		return 2, fmt.Errorf("name a command: %s help lists them", l.Name)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		err = misspelled(parser.Model, args, plain(err))
		return 2, fmt.Errorf("%w; %s --help lists commands and flags", err, l.Name)
	}
	err = ctx.Run()
	var code ExitError
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &code):
		return int(code), nil
	case errors.As(err, new(UsageError)):
		return 2, err
	case errors.As(err, &coded):
		return coded.ExitCode(), err
	}
	return 1, err
}

// likeFlag matches what kong says of a value that begins with a hyphen.
var likeFlag = regexp.MustCompile(` but got "(-[^"]*)" \(\w+ flag\); perhaps try (--[a-z0-9-]+)=.*$`)

// plain returns the error with a remedy that can be typed.
func plain(err error) error {
	text := likeFlag.ReplaceAllString(err.Error(), ", and $1 begins like a flag: if it is the value, give $2=$1")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// misspelled adds the nearest command to the error when the first argument is no command.
func misspelled(model *kong.Application, args []string, err error) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return err
	}
	var commands []string
	for _, c := range model.Children {
		if !c.Hidden {
			commands = append(commands, c.Name)
		}
	}
	best, distance := Nearest(args[0], commands)
	if distance == 0 || distance > farthestTypo {
		return err
	}
	return fmt.Errorf("there is no command %s, did you mean %s?", args[0], best)
}

// farthestTypo is the greatest edit distance at which a word counts as misspelled; beyond it is another word.
const farthestTypo = 2
