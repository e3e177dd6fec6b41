package cli

import (
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
