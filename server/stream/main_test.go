package stream_test

import (
	"os"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
