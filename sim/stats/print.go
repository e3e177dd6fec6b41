package stats

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the figures as a table, one pair per row. A row ends with the first figure that is outside the
// range of a real market. The ratio of volumes follows below the table.
func Print(w io.Writer, all []Figures) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "pair\tminutes\ttraded %\tspread bp\tkurtosis\tautocorr |r|\tautocorr r\tsd bp\tvolume\t")
	for i := range all {
		f := &all[i]
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\t%.2f\t%.2f\t", f.Code, f.Minutes, 100*f.TradedShare(),
			f.SpreadBp, f.Kurtosis, f.AbsAutocorr, f.Autocorr, f.Volatility, f.Volume)
		if fault := f.Fault(); fault != "" {
			fmt.Fprintf(t, "  %s", fault)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	if _, err := fmt.Fprintf(w, "volume of the largest pair / smallest: %.1f\n", VolumeRatio(all)); err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	return nil
}
