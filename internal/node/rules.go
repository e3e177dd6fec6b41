package node

import (
	"errors"
	"fmt"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// Rules is the version of the rules by which this program executes records, and which its term records carry. It is the
// sum of the versions of the rules and of the records, which only rise.
const Rules = uint16(engine.RulesVersion) + engine.CommandVersion

// Newer reports whether an error of a reader means that the stream needs a later program.
func Newer(err error) bool {
	return errors.Is(err, stream.ErrRules) || errors.Is(err, stream.ErrVersion)
}

// Explain explains why a node cannot follow the stream any further.
func Explain(err error) error {
	switch {
	case Newer(err):
		return err
	case errors.Is(err, jet.ErrTrimmed), errors.Is(err, jet.ErrLost), errors.Is(err, jet.ErrMissing):
		return fmt.Errorf("the stream cannot be read any more: %w", err)
	}
	return damage(fmt.Errorf("the replica stops, because what it would show may differ from the writer: %w", err))
}

// damage marks the error of a record or snapshot as damage, unless the key is missing that opens it.
func damage(err error) error {
	if errors.As(err, new(*seal.MissingKeyError)) {
		return err
	}
	return cmdline.DamageError{Err: err}
}
