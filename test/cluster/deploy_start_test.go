package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/stream/jet/jettest"

	"github.com/tickhive/tickhive/test/deploy/examples"
	"github.com/tickhive/tickhive/test/harness"
)

// exampleCluster is a machine for the processes of an example in deploy: /keys and /data are folders of the test, and
// the addresses of the servers and listeners are free ones of this machine.
type exampleCluster struct {
	t       *testing.T
	keys    string
	servers [3]string // addresses for clients
	routes  [3]string
	members []*harness.Instance
}

func newExampleCluster(t *testing.T) *exampleCluster {
	t.Helper()
	e := &exampleCluster{t: t, keys: filepath.Join(t.TempDir(), "keys")}
	e.makeKeys()
	for i := range e.servers {
		e.servers[i], e.routes[i] = harness.StreamAddress(t), harness.StreamAddress(t)
	}
	text := harness.ReadTree(t, "deploy/nats.conf")
	var files []string
	for i := range e.servers {
		conf := e.replaced(text, "server_name: $NATS_NAME", "server_name: nats-"+fmt.Sprint(i),
			"listen: 0.0.0.0:4222", "listen: "+e.servers[i], "listen: 0.0.0.0:6222", "listen: "+e.routes[i],
			`"/data"`, fmt.Sprintf("%q", t.TempDir()), "../../keys/", "keys/", `"/keys/`, `"`+e.keys+"/")
		files = append(files, filepath.Join(filepath.Dir(e.keys), fmt.Sprintf("nats-%d.conf", i)))
		e.write(files[i], conf)
	}
	jettest.Start(t, files...)
	return e
}

// replaced replaces words of a file, each of which it must have, and the names of the servers.
func (e *exampleCluster) replaced(text string, words ...string) string {
	e.t.Helper()
	for i := 0; i < len(words); i += 2 {
		if !strings.Contains(text, words[i]) {
			e.t.Fatalf("no %q in %s", words[i], text)
		}
		text = strings.ReplaceAll(text, words[i], words[i+1])
	}
	for i := range e.servers {
		name := fmt.Sprintf("nats-%d.nats:", i)
		text = strings.ReplaceAll(strings.ReplaceAll(text, name+"4222", e.servers[i]), name+"6222", e.routes[i])
	}
	return text
}

func (e *exampleCluster) write(name, text string) {
	e.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// makeKeys makes the files that the services certificate and user of the example make.
func (e *exampleCluster) makeKeys() {
	t := e.t
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	seed, public := jettest.NewUser(t)
	if err := os.Mkdir(e.keys, 0o700); err != nil {
		t.Fatal(err)
	}
	hexKey := func(n byte) string { return hex.EncodeToString([]byte(strings.Repeat(string(rune(n)), 32))) }
	for name, text := range map[string]string{
		"server.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		"server.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		"seed":       seed, "user.conf": "TICKHIVE_USER: " + public + "\n",
		"internal": hexKey('i'), "secret": hexKey('s'), "cluster": hexKey('c'),
	} {
		e.write(filepath.Join(e.keys, name), text)
	}
}

// start starts a node with the command line of the example. Only addresses and folders differ, and the simulated
// market of all nodes has few pairs, because this machine has them all.
func (e *exampleCluster) start(args []string) (in *harness.Instance, again func() *harness.Instance) {
	e.t.Helper()
	at, internal := harness.StreamAddress(e.t), harness.StreamAddress(e.t)
	data := filepath.Join(e.t.TempDir(), "data")
	var own []string
	for _, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "--advertise":
			arg = name + "=" + at
		case "--listen":
			arg = e.replaced(arg, "0.0.0.0:8080", at)
		case "--internal-listen":
			arg = e.replaced(arg, "0.0.0.0:8081", internal)
		case "--data-dir":
			arg = e.replaced(arg, "/data", data)
		case "--journal", "--from":
			arg = e.replaced(arg)
		default:
			arg = strings.ReplaceAll(arg, "=/keys/", "="+e.keys+"/")
		}
		if strings.Contains(arg, "nats-") || strings.Contains(arg, "=/keys") {
			e.t.Fatalf("%s is a place of the example", arg)
		}
		own = append(own, arg)
	}
	again = func() *harness.Instance {
		in := harness.Launch(e.t, nil, own...)
		in.Token = strings.TrimSpace(readText(e.t, filepath.Join(e.keys, "internal")))
		in.TakeAddresses(in.WaitLine("ready "))
		return in
	}
	in = again()
	e.members = append(e.members, in)
	return in, again
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The command lines of the examples of a cluster start one, on servers with the example's configuration: all nodes have
// the writer's state, a change at a replica is forwarded, the standby takes over from a writer that is killed, and the
// writer comes back by its own command line as a standby, for which its directory is renamed below the volume.
func TestTheExamplesOfAClusterStart(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for name, nodes := range map[string]map[string][]string{"compose": composeNodes(t), "Kubernetes": podNodes(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExampleCluster(t)
			f := &failover{t: t}
			writer, again := e.start(nodes["writer"])
			standby, _ := e.start(nodes["standby"])
			replica, _ := e.start(nodes["replica"])
			f.nodes = [2]*harness.Instance{writer, standby}
			writer.Call(200, "POST", "/pairs", `{"code":"ZZ_USDT","digitsPrice":2,"digitsAmount":2}`)
			var orders []string
			for range 20 {
				orders = append(orders, fmt.Sprint(writer.Limit("ZZ_USDT", "buy", "1", "1")["orderId"]))
			}
			writer.Signal(syscall.SIGKILL)
			writer.Wait()
			f.awaitRole(1, "writer")
			for _, id := range orders {
				standby.Call(200, "GET", "/orders/"+id, "")
			}
			back := again()
			f.nodes[0] = back
			f.awaitRole(0, "replica")
			harness.WaitFor(t, func() bool {
				w, b, r := roleOf(standby), roleOf(back), roleOf(replica)
				return w == "writer" && b == "replica" && r == "replica"
			})
			for _, in := range []*harness.Instance{back, replica} {
				in.Call(503, "POST", "/pairs", `{"code":"YY_USDT","digitsPrice":2,"digitsAmount":5}`)
			}
			for _, in := range []*harness.Instance{standby, back, replica} {
				in.Signal(syscall.SIGTERM)
				if code := in.Wait(); code != 0 {
					t.Errorf("exit code %d: %s", code, in.Stderr.String())
				}
			}
		})
	}
}

// The configuration and the three command lines of the manual make a cluster on one machine. The standby takes over,
// and the first command then starts a node that follows.
func TestTheClusterOfTheManualStarts(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	page, folder := harness.ReadTree(t, "docs/operating.md"), t.TempDir()
	conf := regexp.MustCompile(`(?m)^    listen: (?s:.*?)\n\n`).FindString(page)
	lines := regexp.MustCompile(`(?m)^    bin/tickhive (.*nats://127\.0\.0\.1:4222 (?s:.*?))\n\n`).
		FindAllStringSubmatch(page, -1)
	if conf == "" || len(lines) != 3 {
		t.Fatalf("%q, %d commands", conf, len(lines))
	}
	places := []string{"/tmp/cluster", folder, `\`, ""}
	for _, port := range []string{"4222", "8222", "8082", "8083", "8084", "8085"} {
		places = append(places, "127.0.0.1:"+port, harness.StreamAddress(t))
	}
	here := strings.NewReplacer(places...)
	file := filepath.Join(folder, "nats.conf")
	if err := os.WriteFile(file, []byte(here.Replace(conf)), 0o600); err != nil {
		t.Fatal(err)
	}
	jettest.Start(t, file)
	start := func(line string, more ...string) *harness.Instance {
		// The credentials are those of other tests: the server of the manual asks for none.
		args := append(strings.Fields(here.Replace(line)), "--set", "stream.credentials=")
		in := harness.Launch(t, nil, append(args, more...)...)
		in.TakeAddresses(in.WaitLine("ready "))
		return in
	}
	first := []string{"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"}
	writer := start(lines[0][1], first...)
	standby, replica := start(lines[1][1]), start(lines[2][1])
	writer.Call(200, "POST", "/pairs", `{"code":"ZZ_USDT","digitsPrice":2,"digitsAmount":2}`)
	writer.Signal(syscall.SIGKILL)
	writer.Wait()
	f := &failover{t: t, nodes: [2]*harness.Instance{writer, standby}}
	f.awaitRole(1, "writer")
	f.nodes[0] = start(lines[0][1], first...)
	f.awaitRole(0, "replica")
	standby.Call(200, "GET", "/pairs/ZZ_USDT", "")
	if got := roleOf(replica); got != "replica" {
		t.Errorf("the replica is a %s", got)
	}
}

// composeNodes returns the command lines in deploy/cluster.yaml by role.
func composeNodes(t *testing.T) map[string][]string {
	t.Helper()
	var compose examples.ClusterFiles
	examples.ReadLoose(t, harness.ReadTree(t, "deploy/cluster.yaml"), &compose)
	return map[string][]string{
		"writer": compose.Services["writer"].Command, "standby": compose.Services["standby"].Command,
		"replica": compose.Services["replica-1"].Command,
	}
}

// podNodes returns the command lines in deploy/kubernetes-cluster.yaml by role.
func podNodes(t *testing.T) map[string][]string {
	t.Helper()
	nodes := map[string][]string{}
	for _, text := range strings.Split(harness.ReadTree(t, "deploy/kubernetes-cluster.yaml"), "\n---\n") {
		var set examples.ClusterPod
		if examples.ReadLoose(t, text, &set); set.Kind == "StatefulSet" && set.Metadata.Name != "nats" {
			nodes[set.Metadata.Name] = set.Spec.Template.Spec.Containers[0].Args
		}
	}
	return nodes
}
