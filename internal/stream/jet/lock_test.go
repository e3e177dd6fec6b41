package jet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/tickhive/tickhive/internal/stream/jet"
)

// converse sends lines of the NATS protocol to an address and returns what
// comes until the server closes the connection.
func converse(t *testing.T, address, lines string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, lines); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("%s does not close the connection: %v", address, err)
	}
	return string(text)
}

// Every process of the machine reaches the embedded server. Without its seed, or with another one, it reads, publishes
// and deletes nothing, neither as a client nor as another server. Who has the seed does.
func TestTheEmbeddedServerLetsInWhoHasItsSeed(t *testing.T) {
	t.Parallel()
	o := several(t, 3)
	var urls []string
	for _, s := range o {
		startOne(t, s)
		urls = append(urls, "nats://"+s.Listen)
	}
	c := conn(t, jet.Remote{URLs: urls})
	log, err := c.Log(within(t), "e1", 3)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if a := publish(t, log, 1, 0, "a secret"); a.Seq != 1 {
		t.Fatalf("%+v", a)
	}
	user, err := nkeys.FromSeed([]byte(testSeed))
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, connect := range []string{
		"{}", `{"user":"tickhive","pass":"tickhive"}`, `{"nkey":"` + public + `","sig":"AAAA"}`,
		fmt.Sprintf(`{"auth_token":%q}`, jet.RoutePassword(testSeed)),
	} {
		for what, request := range map[string]string{
			"list":    "PUB $JS.API.STREAM.NAMES r 0\r\n\r\n",
			"read":    "PUB $JS.API.STREAM.MSG.GET.TICKHIVE_e1 r 9\r\n{\"seq\":1}\r\n",
			"follow":  "SUB tickhive.> 2\r\n",
			"publish": "PUB tickhive.e1.log r 6\r\nforged\r\n",
			"delete":  "PUB $JS.API.STREAM.DELETE.TICKHIVE_e1 r 0\r\n\r\n",
		} {
			got := converse(t, o[0].Listen, "CONNECT "+connect+"\r\nSUB r 1\r\n"+request)
			if !strings.Contains(got, "-ERR 'Authorization Violation'") || strings.Contains(got, "MSG r") ||
				strings.Contains(got, "TICKHIVE") {
				t.Errorf("%s as %s: %s", what, connect, got)
			}
		}
	}
	for _, connect := range []string{
		`{"name":"s9"}`, `{"name":"s9","user":"tickhive","pass":"` + testSeed + `"}`,
	} {
		got := converse(t, o[0].Cluster, "CONNECT "+connect+"\r\nRS+ $G tickhive.e1.log\r\n"+
			"RMSG $G tickhive.e1.log 6\r\nforged\r\n")
		if !strings.Contains(got, "-ERR 'Authorization Violation'") || strings.Contains(got, "RMSG") {
			t.Errorf("another server as %s: %s", connect, got)
		}
	}
	other, err := jet.NewSeed(bytes.Repeat([]byte{8}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, seed := range map[string]string{
		"none": "", "another one": write(t, filepath.Join(t.TempDir(), "other.nk"), []byte(other)),
	} {
		_, err := jet.Connect(jet.Remote{URLs: urls, Seed: seed})
		if !errors.Is(err, jet.ErrUnavailable) || !strings.Contains(err.Error(), "--credentials FILE") {
			t.Errorf("credentials: %s: %v", name, err)
		}
	}
	if last, err := log.Last(within(t)); last != 1 || err != nil {
		t.Errorf("the log ends at %d, %v", last, err)
	}
	if data, err := log.Read(within(t), 1); string(data) != "a secret" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// A server that other processes reach is not started without a lock.
func TestAServerWithoutASeedListensNowhere(t *testing.T) {
	t.Parallel()
	pair, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	account, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	for name, seed := range map[string]string{
		"none": "", "no seed": "abc", "the seed of an account": string(account),
	} {
		s, err := jet.StartServer(jet.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Seed: seed})
		if err == nil {
			s.Stop()
		}
		if !errors.Is(err, jet.ErrSeed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := jet.StartServer(jet.ServerOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if s.URL() != "" {
		t.Errorf("it listens at %s", s.URL())
	}
	open(t, conn(t, jet.Remote{Embedded: s}))
}
