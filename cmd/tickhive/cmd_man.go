package main

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/config"
)

// manCmd prints the manual page, which packages install as tickhive(1).
type manCmd struct{}

// Run writes the page from the model of the command line and the keys of the configuration, which --help and
// docs/contract/commands.md show, too.
func (*manCmd) Run(p *program, ctx *kong.Context) error {
	w := &manual{bufio.NewWriter(p.out)}
	w.macro("TH", "TICKHIVE", "1", "", "TickHive "+cmdline.Version, "User Commands")
	w.macro("SH", "NAME")
	w.line("tickhive - " + strings.ToLower(ctx.Model.Help[:1]) + strings.TrimSuffix(ctx.Model.Help[1:], "."))
	w.macro("SH", "SYNOPSIS")
	w.line("tickhive COMMAND [ARGUMENT...]")
	w.macro("SH", "DESCRIPTION")
	w.line("One process is the whole exchange: matching, accounts, market data, a page and a simulated market. " +
		"tickhive help COMMAND shows the flags of a command.")
	w.examples(ctx.Model.Detail)
	w.macro("SH", "COMMANDS")
	for _, n := range ctx.Model.Leaves(true) {
		w.command(n)
	}
	w.macro("SH", "CONFIGURATION")
	w.line("A key of the file of --config is also --set KEY=VALUE and an environment variable: " +
		"TICKHIVE_LOG_LEVEL is log.level.")
	for _, k := range config.Default().Keys() {
		text := k.Tag.Get("help")
		if builtin := k.Tag.Get("default"); builtin != "" {
			text += " (" + builtin + ")"
		}
		w.entry(k.Name, text)
	}
	w.macro("SH", "EXIT STATUS")
	w.entry("0", "success, also after a stop by a signal")
	w.entry("1", "any other failure")
	w.entry("2", "the command line, the configuration and the data directory contradict each other")
	w.entry("3", "damaged or incomplete data")
	w.entry("4", "a threshold is missed: load, replay, stats")
	return w.Flush()
}

// manual writes troff.
type manual struct{ *bufio.Writer }

// command writes the section of a command.
func (w *manual) command(n *kong.Node) {
	usage := n.FullPath()
	for _, a := range n.Positional {
		usage += " " + a.Summary()
	}
	w.macro("SS", usage)
	w.line(n.Help)
	for _, a := range n.Positional {
		w.entry(a.Summary(), a.Help)
	}
	for _, f := range flagsOf(n) {
		w.entry(flagUsage(f), f.Help)
	}
	w.examples(n.Detail)
}

// examples writes the lines of a command's detail as they are.
func (w *manual) examples(detail string) {
	if detail == "" {
		return
	}
	w.macro("PP")
	w.macro("EX")
	for line := range strings.Lines(strings.TrimPrefix(detail, cmdline.ExamplesHead)) {
		w.line(strings.TrimSuffix(line, "\n"))
	}
	w.macro("EE")
}

// entry writes a term and what it means.
func (w *manual) entry(term, text string) {
	w.macro("TP")
	fmt.Fprintf(w, "\\fB%s\\fR\n", escapeTroff(term))
	w.line(text)
}

// macro writes a line with a macro and its arguments.
func (w *manual) macro(name string, args ...string) {
	w.WriteString("." + name)
	for _, a := range args {
		w.WriteString(` "` + strings.ReplaceAll(escapeTroff(a), `"`, `\(dq`) + `"`)
	}
	w.WriteString("\n")
}

// line writes a line of text. One that begins like a macro gets an empty character in front.
func (w *manual) line(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		w.WriteString(`\&`)
	}
	w.WriteString(escapeTroff(text) + "\n")
}

// escapeTroff escapes a backslash, and the characters that troff would set as typographic ones.
func escapeTroff(text string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`).Replace(text)
}

// flagsOf returns the flags of a command and of the commands above it, without --help, those without a group first, as
// --help does.
func flagsOf(n *kong.Node) (out []*kong.Flag) {
	for _, f := range slices.Concat(n.AllFlags(true)...) {
		if f.Name != "help" {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *kong.Flag) int { return groupOrder(a) - groupOrder(b) })
	return out
}

func groupOrder(f *kong.Flag) int {
	if f.Group == nil {
		return 0
	}
	return 1
}

// flagUsage returns a flag as a reader types it.
func flagUsage(f *kong.Flag) string {
	if f.IsBool() {
		return "--" + f.Name
	}
	return "--" + f.Name + " " + cmp.Or(f.PlaceHolder, f.FormatPlaceHolder())
}
