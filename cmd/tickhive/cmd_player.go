package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/player"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// playerCmd controls a running replay (docs/contract/recordings.md#the-player).
type playerCmd struct {
	Show  playerShowCmd  `cmd:"" help:"Show what is replayed, and where it is."`
	Play  playerPlayCmd  `cmd:"" help:"Go on."`
	Pause playerPauseCmd `cmd:"" help:"Stop at the time that is reached."`
	Step  playerStepCmd  `cmd:"" help:"Feed the next records, or those up to a time, and pause."`
	Speed playerSpeedCmd `cmd:"" help:"Change the speed."`
	Seek  playerSeekCmd  `cmd:"" help:"Go to a time: forward at full speed; back in a new epoch, without the orders and trades of users."`
	Leave playerLeaveCmd `cmd:"" help:"End the replay and its program, as a signal does."`
}

type playerShowCmd struct{ internalFlags }

type playerPlayCmd struct {
	internalFlags
	Speed string `placeholder:"N|max" help:"Change the speed, too."`
}

type playerPauseCmd struct{ internalFlags }

type playerStepCmd struct {
	internalFlags
	Records uint64 `arg:"" optional:"" help:"Number of records (1)."`
	To      string `placeholder:"TIME" help:"Feed all records up to this time instead, as seek reads it."`
}

type playerSpeedCmd struct {
	internalFlags
	Speed string `arg:"" help:"A factor relative to the recording, 0.001 to 1000000, or max."`
}

type playerSeekCmd struct {
	internalFlags
	Time string `arg:"" help:"A time (2026-01-05T10:30:00Z), a time of the first day (10:30), or a distance from the time that is reached (+10m, -90s)."`
}

type playerLeaveCmd struct{ internalFlags }

// Run prints the state.
func (c *playerShowCmd) Run(p *program) error { return c.playerCommand(p, http.MethodGet, "", nil) }

// Run goes on.
func (c *playerPlayCmd) Run(p *program) error {
	if c.Speed != "" {
		if _, err := player.ParseSpeed(c.Speed); err != nil {
			return usage("player play: %v", err)
		}
		err := c.send(p, http.MethodPost, "/replay/speed", map[string]any{"speed": c.Speed}, nil)
		if err != nil {
			return err
		}
	}
	return c.playerCommand(p, http.MethodPost, "/play", nil)
}

// Run pauses.
func (c *playerPauseCmd) Run(p *program) error {
	return c.playerCommand(p, http.MethodPost, "/pause", nil)
}

// Run steps.
func (c *playerStepCmd) Run(p *program) error {
	if c.To == "" {
		return c.playerCommand(p, http.MethodPost, "/step", map[string]any{"records": max(1, c.Records)})
	}
	if c.Records != 0 {
		return usage("player step: give a number of records, or --to, not both")
	}
	return c.playerTo(p, "/step", c.To)
}

// Run changes the speed.
func (c *playerSpeedCmd) Run(p *program) error {
	if _, err := player.ParseSpeed(c.Speed); err != nil {
		return usage("player speed: %v", err)
	}
	return c.playerCommand(p, http.MethodPost, "/speed", map[string]any{"speed": c.Speed})
}

// negative is a number that the parser of the command line would take for a flag.
var negative = regexp.MustCompile(`^-[0-9.]`)

// seekArgs returns the arguments with the negative number of a command of the player, such as the distance of a seek
// back, behind "--".
func seekArgs(args []string) []string {
	if len(args) < 3 || args[0] != "player" || slices.Contains(args, "--") {
		return args
	}
	i := slices.IndexFunc(args, negative.MatchString)
	if i < 0 {
		return args
	}
	return append(slices.Delete(slices.Clone(args), i, i+1), "--", args[i])
}

// Run goes to a time.
func (c *playerSeekCmd) Run(p *program) error { return c.playerTo(p, "/seek", c.Time) }

// Run ends the replay.
func (c *playerLeaveCmd) Run(p *program) error {
	var s playerState
	if err := c.send(p, http.MethodPost, "/replay/leave", nil, &s); err != nil {
		return err
	}
	s.Status = "left"
	fmt.Fprintln(p.out, s.String())
	return nil
}

// playerState is the answer of the routes of the player.
type playerState struct {
	Format       string
	Files        []string
	HasBook      bool
	Pair         string `json:"currencyPairCode"`
	Epoch        string
	Status       string
	Speed        string
	Begin, End   int64
	Time         int64
	BegunAgain   int
	Records      uint64
	RecordsInAll uint64
	Orders       uint64
	Trades       uint64
	Refused      uint64
}

func (s *playerState) String() string {
	at := func(ms int64) string { return format.NsText(ms * 1e6) }
	book := ""
	if !s.HasBook {
		book = " (no order book)"
	}
	return fmt.Sprintf("%s at %s, speed %s\n%s %s%s, %s to %s: %s\n"+
		"records=%d of %d orders=%d trades=%d refused=%d epoch=%s",
		s.Status, at(s.Time), s.Speed, s.Pair, s.Format, book, at(s.Begin), at(s.End), strings.Join(s.Files, " "),
		s.Records, s.RecordsInAll, s.Orders, s.Trades, s.Refused, s.Epoch)
}

// playerCommand gives a command and prints the state behind it.
func (c *internalFlags) playerCommand(p *program, method, path string, q map[string]any) error {
	var s playerState
	if err := c.send(p, method, "/replay"+path, q, &s); err != nil {
		return err
	}
	fmt.Fprintln(p.out, s.String())
	return nil
}

// playerTo goes to a time, shows the progress, and prints the state there.
func (c *internalFlags) playerTo(p *program, path, text string) error {
	var s playerState
	if err := c.send(p, http.MethodGet, "/replay", nil, &s); err != nil {
		return err
	}
	to, err := playerTime(text, &s)
	if err != nil {
		return usage("player: %w", err)
	}
	if err := c.send(p, http.MethodPost, "/replay"+path, map[string]any{"to": to}, &s); err != nil {
		return err
	}
	g := newProgress(p.err, "seek", "", false)
	defer g.Leave()
	begunAgain := s.BegunAgain
	for s.Status == "seeking" {
		g.Set(max(0, s.Time-s.Begin), to-s.Begin)
		time.Sleep(seekEvery)
		if err := c.playerAgain(p, &s); err != nil {
			return err
		}
		if s.BegunAgain != begunAgain {
			begunAgain = s.BegunAgain
			fmt.Fprintln(p.err, "the recording began again in a new epoch: orders and trades of users are gone")
		}
	}
	fmt.Fprintln(p.out, s.String())
	return nil
}

const (
	seekEvery = 100 * time.Millisecond // between two looks at a seek
	epochWait = 5 * time.Second        // between two epochs
)

// playerAgain reads the state. Between two epochs there may be none, for a moment.
func (c *internalFlags) playerAgain(p *program, s *playerState) error {
	return await(epochWait, func() (bool, error) { return true, c.sendOnce(p, http.MethodGet, "/replay", nil, s) })
}

// playerTime reads a time of the recording, and returns it in Unix ms.
func playerTime(text string, s *playerState) (int64, error) {
	if sign := strings.IndexAny(text, "+-"); sign == 0 {
		d, err := clock.ParseDuration(text[1:])
		if err != nil {
			return 0, fmt.Errorf("distance %q: %w", text, err)
		}
		if text[0] == '-' {
			d = -d
		}
		return s.Time + d.Milliseconds(), nil
	}
	ns, err := format.ParseFrom(text, s.Begin*1e6)
	if err != nil {
		return 0, fmt.Errorf("time %w, or a distance such as +10m or -90s", err)
	}
	return ns / 1e6, nil
}
