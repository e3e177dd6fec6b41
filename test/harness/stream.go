package harness

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// asStream makes the test binary run a server of a stream. Its value has blanks between the file of its seed, directory
// and address, and for one of several servers its name, its address for the
// others, and the addresses by which it reaches them.
const asStream = "TEST_AS_STREAM"

// LazyServer as the last word makes the server acknowledge before it syncs.
const LazyServer = "lazy"

// testSeed is the file with the seed of the servers of a stream, which the programs of these tests have too. The key of
// their cluster is beside it.
type testSeed struct{ File, Key, env string }

// StreamSeed is made and removed by Main.
var StreamSeed testSeed

func (s *testSeed) make() error {
	dir, err := os.MkdirTemp("", "tickhive-seed-")
	if err != nil {
		return err
	}
	s.File = filepath.Join(dir, "stream.nk")
	s.env = "TICKHIVE_STREAM_CREDENTIALS=" + s.File
	s.Key = filepath.Join(dir, "cluster.key")
	if err := os.WriteFile(s.Key, []byte(rand.Text()+rand.Text()), 0o600); err != nil {
		return err
	}
	_, err = jet.WriteSeed(s.File)
	return err
}

func (s *testSeed) remove() { _ = os.RemoveAll(filepath.Dir(s.File)) }

// Remote names a server for a connection of the tests themselves.
func (s *testSeed) Remote(at string) jet.Remote {
	return jet.Remote{URLs: []string{"nats://" + at}, Seed: s.File}
}

// serveStream runs a server until the process is killed, and returns only if the server does not start. One of several
// tells no other way to a server than the links, because it would go round a fault.
func serveStream(words []string) error {
	seed, err := os.ReadFile(words[0])
	if err != nil {
		return err
	}
	words = words[1:]
	o := jet.ServerOptions{Dir: words[0], Listen: words[1], Seed: string(seed)}
	if words[len(words)-1] == LazyServer {
		o.LazySync, words = true, words[:len(words)-1]
	}
	if len(words) > 2 {
		o.Name, o.Cluster, o.Routes, o.Hidden = words[2], words[3], words[4:], true
	}
	if _, err := jet.StartServer(o); err != nil {
		return err
	}
	fmt.Println("stream ready")
	select {}
}

// LaunchStream starts a server of a stream, which is the test binary itself. words are behind the seed's file in what
// asStream says.
func LaunchStream(t testing.TB, words ...string) *Instance {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words = append([]string{StreamSeed.File}, words...)
	return LaunchCommand(t, []string{asStream + "=" + strings.Join(words, " ")}, exec.Command(exe))
}

// StreamAddress returns a loopback address that another process can listen at.
func StreamAddress(t *testing.T) string {
	t.Helper()
	all, release, err := listen.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return all[0]
}

// StartReplica starts a replica of the stream at an address, and waits until it serves.
func StartReplica(t *testing.T, at string, args ...string) *Instance {
	t.Helper()
	in := Launch(t, nil, append([]string{
		"replica", "--from", "nats://" + at, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--quiet",
		"--set", "rate.allow=127.0.0.1", "--set", "replica.max_lag=1h",
	}, args...)...)
	in.TakeAddresses(in.WaitLine("ready "))
	return in
}

// Follower subscribes to the full book of a pair of the running program.
func (in *Instance) Follower(pair string) *client.Follower {
	in.T.Helper()
	f, err := client.NewFollower(context.Background(), client.StreamURL(in.Public), []string{pair}, 0, 0)
	if err != nil {
		in.T.Fatal(err)
	}
	in.T.Cleanup(func() { _ = f.Stream.Close() })
	return f
}

// Step reads one message, and fails the test if none arrives in time.
func Step(t *testing.T, f *client.Follower) *client.Message {
	t.Helper()
	if err := f.Stream.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	m, err := f.Step()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// SameAsREST reads on to the seq of a REST response and compares the books level by level.
func SameAsREST(t *testing.T, in *Instance, f *client.Follower, pair string) {
	t.Helper()
	want, err := (&client.Client{Base: in.Public}).OrderBook(context.Background(), pair, 0)
	if err != nil {
		t.Fatal(err)
	}
	for f.Books[pair].Seq < want.Seq {
		Step(t, f)
	}
	b := f.Books[pair]
	if b.Seq != want.Seq {
		t.Fatalf("the stream is at seq %d, REST at %d", b.Seq, want.Seq)
	}
	SameBook(t, b, want)
}

// SameBook compares a rebuilt book with the REST book, level by level.
func SameBook(t *testing.T, b *client.Book, want client.OrderBook) {
	t.Helper()
	bids, asks := make([]client.BookLevel, 0), make([]client.BookLevel, 0)
	for _, l := range want.Bids {
		bids = append(bids, client.BookLevel{Price: string(l[0]), Amount: string(l[1])})
	}
	for _, l := range want.Asks {
		asks = append(asks, client.BookLevel{Price: string(l[0]), Amount: string(l[1])})
	}
	if !slices.Equal(b.Bids, bids) || !slices.Equal(b.Asks, asks) {
		t.Fatalf("at seq %d the stream has %v %v, REST %v %v", b.Seq, b.Bids, b.Asks, bids, asks)
	}
}

// DialSocket opens a WebSocket; it returns nil when the listener is full.
func (in *Instance) DialSocket(base, path string) *websocket.Conn {
	in.T.Helper()
	ws, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(base, "http")+path, nil)
	if err != nil {
		if res != nil && res.StatusCode != http.StatusServiceUnavailable {
			in.T.Fatal(path, res.StatusCode, err)
		}
		return nil
	}
	in.T.Cleanup(func() { _ = ws.Close() })
	return ws
}

// Hears reads until a message has this text.
func Hears(t *testing.T, ws *websocket.Conn, text string) {
	t.Helper()
	if err := ws.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	for {
		_, message, err := ws.ReadMessage()
		if err != nil {
			t.Errorf("no message with %q: %v", text, err)
			return
		}
		if strings.Contains(string(message), text) {
			return
		}
	}
}
