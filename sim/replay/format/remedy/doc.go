// Package remedy adds to the error of a file what to do about it, for the packages that read binary and packed files.
//
//	err := remedy.Errorf("unpack the file", "the first bytes are those of %s", name)
//	remedy.Of(fmt.Errorf("a.csv: %w", err), "fetch the file again") // "unpack the file"
//
// Owner: an error is a value. Retains: nothing.
//
// It does not know where in a text an error is: package input adds the place, and the remedies of lines.
package remedy
