package main

import (
	"strings"
	"testing"
)

// A replica takes the default of a key that its stream lacks, whatever its own configuration says.
func TestAKeyThatAStreamLacksHasItsDefault(t *testing.T) {
	t.Parallel()
	want, err := defaultConfig().streamSettings()
	if err != nil {
		t.Fatal(err)
	}
	begun, _, _ := strings.Cut(want, "[referral]")
	_, tables, _ := strings.Cut(want, "\n[[")
	own := defaultConfig()
	own.Referral.BonusShare, own.Hive.Quorum = "0.5", "7"
	if err := own.readStream(begun + "[[" + tables); err != nil {
		t.Fatal(err)
	}
	if got, err := own.streamSettings(); got != want || err != nil {
		t.Errorf("%v, settings\n%s", err, got)
	}
}
