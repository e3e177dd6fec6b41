package recipes

import (
	"testing"

	"tickhive/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
