package jet_test

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/stream/jet"
)

// The configuration of the servers in the examples of a cluster lets the nodes in, and shows them that it syncs.
func TestTheServersOfTheExamplesSync(t *testing.T) {
	dir := t.TempDir()
	cert, ca := certificate(t, dir)
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "server.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	user, public := seed(t)
	write(t, filepath.Join(dir, "user.conf"), []byte("TICKHIVE_USER: "+public+"\n"))
	if err := os.Rename(ca, filepath.Join(dir, "server.pem")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../deploy/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	alone, rest, found := strings.Cut(string(text), "\ncluster {") // a server of three does not start alone
	_, accounts, ended := strings.Cut(rest, "\n}\n")
	if !found || !ended {
		t.Fatal("nats.conf has no cluster")
	}
	conf := strings.NewReplacer("../../keys/", "../"+filepath.Base(dir)+"/", "/keys/", dir+"/", `"/data"`, "STORE",
		"listen: 0.0.0.0:4222\n", "", "server_name: $NATS_NAME\n", "").Replace(alone + "\n" + accounts)
	at, _ := configured(t, conf)
	con := conn(t, jet.Remote{URLs: []string{at}, CA: filepath.Join(dir, "server.pem"), Seed: user})
	if err := con.CheckSync(within(t), open(t, con), jet.SyncSources{}); err != nil {
		t.Error(err)
	}
}
