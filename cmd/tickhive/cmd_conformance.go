package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"

	"github.com/tickhive/tickhive/internal/conformance"
)

// conformanceCmd checks the listing API of any exchange.
type conformanceCmd struct {
	URL         string        `arg:"" help:"Address of the exchange or prefix of the routes, for example https://api.example.com/listing."`
	Standard    string        `enum:",coingecko,coinmarketcap" default:"" placeholder:"NAME" help:"coingecko or coinmarketcap (default: those whose first route answers)."`
	Pairs       int           `default:"5" placeholder:"N" help:"Check books and trades of the N pairs of the largest turnover; 0: of all (${default})."`
	ExpectPairs int           `placeholder:"N" help:"Fail unless at least N pairs are listed (0)."`
	MaxAge      time.Duration `default:"15m" placeholder:"DURATION" help:"Age of a book above which it is a warning (${default})."`
	Timeout     time.Duration `default:"10s" help:"Longest time of a request (${default})."`
	JSON        bool          `name:"json" help:"Print the results as JSON."`
	JUnit       string        `name:"junit" placeholder:"FILE" help:"Write the results as JUnit's XML."`
	HTML        string        `name:"html" placeholder:"FILE" help:"Write the results as a page."`
	trustFlags
}

// Validate implements kong.Validatable.
func (c *conformanceCmd) Validate() error {
	if c.Pairs < 0 {
		return fmt.Errorf("--pairs must not be negative: %d", c.Pairs)
	}
	if c.ExpectPairs < 0 {
		return fmt.Errorf("--expect-pairs must not be negative: %d", c.ExpectPairs)
	}
	if c.Timeout <= 0 {
		return fmt.Errorf("--timeout must be above 0: %s", c.Timeout)
	}
	if c.MaxAge <= 0 {
		return fmt.Errorf("--max-age must be above 0: %s", c.MaxAge)
	}
	if c.JUnit == "-" || c.HTML == "-" || c.JUnit != "" && c.JUnit == c.HTML {
		return errors.New("--junit and --html must each name a file of its own")
	}
	return nil
}

// Run prints a table of the checks, and writes the files. The exit code is 1 when a check of severity error failed, 2
// when the target cannot be checked.
func (c *conformanceCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := writableFiles("--junit", c.JUnit, "--html", c.HTML); err != nil {
		return usageError{Err: fmt.Errorf("conformance: %w", err)}
	}
	roots, err := c.roots()
	if err != nil {
		return err
	}
	reports, err := conformance.Run(ctx, conformance.Options{
		Target: c.URL, Standard: c.Standard, Pairs: c.Pairs, ExpectPairs: c.ExpectPairs, MaxAge: c.MaxAge,
		Timeout: c.Timeout, Roots: roots,
	})
	if err != nil {
		return usageError{Err: remedied(err)}
	}
	if c.JSON {
		e := json.NewEncoder(p.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(reports); err != nil {
			return err
		}
	}
	failed := false
	for _, r := range reports {
		failed = failed || r.Errors > 0
		if !c.JSON {
			if err := printConformance(p.out, r); err != nil {
				return err
			}
		}
	}
	for name, write := range map[string]func(io.Writer, []*conformance.Report) error{
		c.JUnit: conformance.WriteJUnit, c.HTML: conformance.WriteHTML,
	} {
		if name == "" {
			continue
		}
		if err := toFile(p, name, func(w io.Writer) error { return write(w, reports) }); err != nil {
			return err
		}
	}
	if failed {
		return exitError(1)
	}
	return nil
}

// printConformance prints what failed first, then what held, then the counts.
func printConformance(out io.Writer, r *conformance.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range []conformance.Severity{conformance.Error, conformance.Warning, conformance.OK} {
		for _, x := range r.Results {
			if x.Severity != s {
				continue
			}
			times := ""
			if x.Count > 1 {
				times = fmt.Sprintf(" (%d times)", x.Count)
			}
			fmt.Fprintf(w, "%s\t%s\t%s%s\n", x.Severity, x.Check, x.Evidence, times)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	deep := ""
	if r.Of > 0 {
		deep = fmt.Sprintf("; books and trades of %d of %d pairs: --pairs 0 checks all", r.Deep, r.Of)
	}
	_, err := fmt.Fprintf(out, "%s at %s: %d checks, %d errors, %d warnings%s\n", r.Standard, r.Target, len(r.Results),
		r.Errors, r.Warnings, deep)
	return err
}
