package exchange

import (
	"testing"
	"testing/synctest"

	"github.com/tickhive/tickhive/internal/player"
)

// The status says that a player goes to a time, until it is there.
func TestASeekIsInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &front{player: player.New(player.Recording{EndNs: 9}, player.Max, false, nil)}
		if f.seeks() {
			t.Error("a paused player seeks")
		}
		if err := f.player.SeekTo(5); err != nil || !f.seeks() {
			t.Errorf("a player on its way does not seek: %v", err)
		}
		f.player.End(player.Counts{})
		if f.seeks() {
			t.Error("a player that is there seeks")
		}
	})
}
