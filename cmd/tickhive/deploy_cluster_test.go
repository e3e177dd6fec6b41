package main

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/test/deploy/examples"
	"github.com/tickhive/tickhive/test/harness"
)

// clusterNode checks the command line of a node and returns its role and the address that it advertises. Its data
// directory is below the volume: the directory itself is renamed when another node takes over.
func clusterNode(t *testing.T, args []string, mounted bool) (role, advertised string) {
	t.Helper()
	p := &program{out: io.Discard, err: io.Discard}
	c, command := parsed(t, args)
	var cfg *config.Config
	var err error
	dir := ""
	switch command {
	case "serve":
		c.Serve.Set = append(c.Serve.Set, "journal.stream="+c.Serve.Journal, "journal.ack="+c.Serve.Ack)
		if cfg, err = c.Serve.config(p); err == nil {
			err = c.Serve.checkReplaceable(cfg)
		}
		role, advertised, dir = "writer", c.Serve.Advertise, c.Serve.DataDir
		if !c.Serve.Promote {
			t.Errorf("%q ends as a replica when another node takes over", args)
		}
	case "replica":
		s := serveFlags{Listen: c.Replica.Listen, InternalListen: c.Replica.InternalListen, Set: c.Replica.Set}
		s.Set = append(s.Set, "data.dir=", "replica.from="+c.Replica.From)
		cfg, err = s.config(p)
		role, advertised, dir = "replica", c.Replica.Advertise, c.Replica.DataDir
		if c.Replica.Promote {
			role = "standby"
		}
	}
	if err != nil || cfg == nil {
		t.Fatalf("%q: %v", args, err)
	}
	servers := strings.Split(cfg.Journal.Stream+cfg.Replica.From, ",")
	if len(servers) != 3 || cfg.Stream.CA == "" || cfg.Stream.Credentials == "" || cfg.Auth.SecretKey == "" ||
		cfg.Cluster.KeyFile == "" || cfg.Internal.TokenFile == "" {
		t.Errorf("%s: servers %q, stream %+v", role, servers, cfg.Stream)
	}
	if (dir != "") != mounted || dir != "" && dir != "/data/node" {
		t.Errorf("%s: data in %q", role, dir)
	}
	return role, advertised
}

// The examples of a cluster are command lines that the program accepts: a writer and a standby, which replace each
// other, and two replicas.
func TestTheExamplesOfAClusterAgreeWithTheProgram(t *testing.T) {
	want := []string{"replica", "replica", "standby", "writer"}
	var compose examples.ClusterFiles
	examples.ReadLoose(t, harness.ReadTree(t, "deploy/cluster.yaml"), &compose)
	var roles []string
	for name, s := range compose.Services {
		if s.Build.Dockerfile == "" {
			continue
		}
		role, at := clusterNode(t, s.Command, slices.Contains(s.Volumes, name+":/data"))
		roles = append(roles, role)
		host, port, err := net.SplitHostPort(at)
		if err != nil || host != name || !strings.HasSuffix(s.Ports[0], ":"+port) {
			t.Errorf("%s advertises %s", name, at)
		}
	}
	slices.Sort(roles)
	if !slices.Equal(roles, want) {
		t.Errorf("compose has %q", roles)
	}
	roles = nil
	for _, text := range strings.Split(harness.ReadTree(t, "deploy/kubernetes-cluster.yaml"), "\n---\n") {
		var set examples.ClusterPod
		if examples.ReadLoose(t, text, &set); set.Kind != "StatefulSet" {
			continue
		}
		pod := set.Spec.Template.Spec
		if a := pod.Affinity.PodAntiAffinity.Required; len(a) != 1 || a[0].TopologyKey != "kubernetes.io/hostname" {
			t.Errorf("%s may run beside a server of NATS", set.Metadata.Name)
		}
		if set.Metadata.Name == "nats" {
			continue
		}
		c := pod.Containers[0]
		mounted := slices.ContainsFunc(c.VolumeMounts, func(m struct{ Name, MountPath string }) bool {
			return m.MountPath == "/data"
		})
		role, _ := clusterNode(t, c.Args, mounted)
		for range set.Spec.Replicas {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	if !slices.Equal(roles, want) {
		t.Errorf("Kubernetes has %q", roles)
	}
}
