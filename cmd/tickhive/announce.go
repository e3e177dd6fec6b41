package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/listen"
)

// consoleHint says how to turn on the console, where this machine alone would reach it.
const consoleHint = "console off: with --console loopback the page has a demo account and the controls of an operator\n"

// announcement says on standard output where a start is: "listening" and "ready" with the addresses, or with
// --ephemeral one line of JSON. It also delivers the demo key.
type announcement struct {
	out  io.Writer
	file string  // file of the demo key; empty: none is made
	dir  string  // the data directory of --ephemeral, which is announced with a line of JSON; empty: another start
	key  demoKey // the key in the file; in prepare the one to deliver
	led  *bool   // set once the exchange is ready; nil: not asked for
	// prepare is called before clients are admitted; nil: nothing is.
	prepare func(*exchange.Running) error

	public, internal string
	binance          []string // none without that listener
	secure           bool     // the public listeners speak TLS
	hint             string   // how to turn on what is off, a line; empty: nothing to say

	stream *config.EmbeddedStream // nil: there is none. It has its address once the exchange is ready
}

// wantsKey reports whether somebody asked for a demo key.
func (a *announcement) wantsKey() bool { return a.file != "" }

// addresses takes the addresses on which the exchange listens.
func (a *announcement) addresses(x *exchange.Opened, secure bool) {
	a.public, a.internal, a.binance, a.secure = x.PublicAddr(), x.InternalAddr(), x.BinanceAddrs(), secure
}

// line returns a line that begins with a word and lists the addresses.
func (a *announcement) line(word string) string {
	line := fmt.Sprintf("%s public=%s internal=%s", word, a.public, a.internal)
	if len(a.binance) > 0 {
		line += " binance=" + strings.Join(a.binance, ",")
	}
	if a.stream != nil && a.stream.Address != "" {
		line += " stream=" + a.stream.Address
	}
	return line
}

func (a *announcement) listening() {
	if a.dir == "" {
		fmt.Fprintln(a.out, a.line("listening"))
	}
}

// makeKey makes the demo key, unless the file has a usable one from an earlier start.
func (a *announcement) makeKey(x *exchange.Running) error {
	if !a.wantsKey() || x.HasKey(a.key.UserID, a.key.PublicKey) {
		return nil
	}
	k, err := x.FundedKey()
	if err != nil {
		return err
	}
	a.key = demoKeyOf(k)
	return a.key.write(a.file, true)
}

// ready says that the exchange serves clients. Then it returns to the system what the start alone needed, which is as
// large as the state. A restart and a takeover do not wait for that.
func (a *announcement) ready() {
	defer debug.FreeOSMemory()
	if a.dir == "" {
		fmt.Fprintln(a.out, a.hint+a.line("ready"))
		return
	}
	line := struct {
		Public   string `json:"public"`
		Internal string `json:"internal"`
		Binance  string `json:"binance,omitempty"`
		Stream   string `json:"stream,omitempty"`
		Seed     string `json:"streamCredentials,omitempty"`
		Dir      string `json:"dataDir"`
		demoKey
	}{Public: "http://" + a.public, Internal: "http://" + a.internal, Dir: a.dir, demoKey: a.key}
	if a.secure {
		line.Public = "https://" + a.public
	}
	if len(a.binance) > 0 {
		scheme, _, _ := strings.Cut(line.Public, "://")
		line.Binance = scheme + "://" + a.binance[0]
	}
	if a.stream != nil && a.stream.Address != "" {
		line.Stream, line.Seed = "nats://"+a.stream.Address, a.stream.Credentials
	}
	if strings.HasPrefix(a.internal, listen.Unix) {
		line.Internal = a.internal
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic("BUG: announcement: " + err.Error()) // cannot happen: every member is a string
	}
	fmt.Fprintf(a.out, "%s\n", text)
}
