package deploy

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// Compose itself accepts its file.
func TestComposeAcceptsItsFile(t *testing.T) {
	tool := harness.NeedTool(t, "docker-compose")
	c := exec.CommandContext(t.Context(), tool, "-f", filepath.Join(harness.SourceTree, "deploy/compose.yaml"),
		"config", "-q")
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
