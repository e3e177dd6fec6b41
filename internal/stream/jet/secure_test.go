package jet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// certificate returns a certificate for 127.0.0.1 and writes it to a file that verifies it.
func certificate(t *testing.T, dir string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, clock.MachineNs())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "ca.pem")
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		write(t, file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func write(t *testing.T, file string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A server with TLS and keys lets in who verifies it and has a key, and nothing else.
func TestTLSAndCredentials(t *testing.T) {
	dir := t.TempDir()
	cert, ca := certificate(t, dir)
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	text, _ := user.Seed()
	seed := write(t, filepath.Join(dir, "seed.nk"), text)
	other, _ := nkeys.CreateUser()
	text, _ = other.Seed()
	stranger := write(t, filepath.Join(dir, "other.nk"), text)
	_, foreign := certificate(t, t.TempDir())
	s, err := jet.StartWith(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true,
		TLS: true, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		Nkeys: []*server.NkeyUser{{Nkey: public}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	urls := []string{"nats://" + s.Addr()}
	l := open(t, conn(t, jet.Remote{URLs: urls, CA: ca, Seed: seed}))
	if a := publish(t, l, 1, 0, "m1"); a.Seq != 1 {
		t.Errorf("answer %+v", a)
	}
	for name, r := range map[string]jet.Remote{
		"no certificate":      {URLs: urls, Seed: seed},
		"another certificate": {URLs: urls, CA: foreign, Seed: seed},
		"no key":              {URLs: urls, CA: ca},
		"another key":         {URLs: urls, CA: ca, Seed: stranger},
	} {
		if c, err := jet.Connect(r); !errors.Is(err, jet.ErrUnavailable) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

func TestConnectionsThatAreRefusedBeforeTheyAreMade(t *testing.T) {
	dir := t.TempDir()
	_, ca := certificate(t, dir)
	bad := write(t, filepath.Join(dir, "bad.nk"), []byte("no seed"))
	for name, r := range map[string]jet.Remote{
		"nothing":                  {},
		"both":                     {URLs: []string{"nats://127.0.0.1:4222"}, Embedded: &jet.Server{}},
		"elsewhere, plain":         {URLs: []string{"nats://10.0.0.1:4222"}},
		"elsewhere, no key":        {URLs: []string{"nats://h1:4222"}, CA: ca},
		"one of two is elsewhere":  {URLs: []string{"nats://127.0.0.1:4222", "nats://h2:4222"}},
		"a password in the text":   {URLs: []string{"nats://u:p@127.0.0.1:4222"}},
		"another scheme":           {URLs: []string{"http://127.0.0.1:4222"}},
		"a seed that is none":      {URLs: []string{"nats://127.0.0.1:4222"}, Seed: bad},
		"a seed that is not there": {URLs: []string{"nats://127.0.0.1:4222"}, Seed: filepath.Join(dir, "none")},
	} {
		if c, err := jet.Connect(r); !errors.Is(err, jet.ErrSettings) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	for _, listen := range []string{"0.0.0.0:4222", "10.0.0.1:4222", "127.0.0.1", "127.0.0.1:x"} {
		s, err := jet.StartServer(jet.ServerOptions{Dir: t.TempDir(), Seed: testSeed, Listen: listen})
		if !errors.Is(err, jet.ErrSettings) {
			t.Errorf("%s: %v, %v", listen, s, err)
		}
	}
}

// A stream that may lose messages by itself is refused, and so are names that are none.
func TestStreamsWithOtherSettingsAreRefused(t *testing.T) {
	c := conn(t, jet.Remote{Embedded: serve(t, t.TempDir(), "")})
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"age":      func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"number":   func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 },
		"bytes":    func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 },
		"memory":   func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"deletes":  func(c *jetstream.StreamConfig) { c.DenyDelete = false },
		"direct":   func(c *jetstream.StreamConfig) { c.AllowDirect = true },
		"subjects": func(c *jetstream.StreamConfig) { c.Subjects = []string{"x", "y"} },
		"interest": func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"size":     func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 },
	} {
		config, err := jet.Settings(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		change(&config)
		if _, err := c.JetStream().CreateStream(within(t), config); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := c.Log(within(t), name, 1); !errors.Is(err, jet.ErrSettings) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, epoch := range []string{"", "a.b", "a b", "*"} {
		if _, err := c.Log(within(t), epoch, 1); !errors.Is(err, jet.ErrSettings) {
			t.Errorf("epoch %q: %v", epoch, err)
		}
	}
	if _, err := c.Log(within(t), "e1", 1); err != nil {
		t.Error(err)
	}
}
