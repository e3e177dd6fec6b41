package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/oasdiff/yaml"
)

// readTree returns the text of a file of the source tree.
func readTree(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sourceTree, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readYAML decodes a YAML document. A member that v does not have is an error.
func readYAML(t *testing.T, text string, v any) {
	t.Helper()
	strict := func(d *json.Decoder) *json.Decoder {
		d.DisallowUnknownFields()
		return d
	}
	if _, err := yaml.Unmarshal([]byte(text), v, yaml.DecodeOpts{}, strict); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
}

// recipeStep is an instruction of deploy/Dockerfile: RUN, the text behind it, and the words of its JSON form.
type recipeStep struct {
	name, text string
	words      []string
}

// dockerfile returns the instructions of each stage of deploy/Dockerfile.
func dockerfile(t *testing.T) (stages [][]recipeStep) {
	t.Helper()
	text := strings.ReplaceAll(readTree(t, "deploy/Dockerfile"), "\\\n", "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s := recipeStep{}
		s.name, s.text, _ = strings.Cut(line, " ")
		if i := strings.Index(s.text, "["); i >= 0 {
			if err := json.Unmarshal([]byte(s.text[i:]), &s.words); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if s.name == "FROM" {
			stages = append(stages, nil)
		}
		stages[len(stages)-1] = append(stages[len(stages)-1], s)
	}
	return stages
}

// instruction returns the only instruction of this name in a stage.
func instruction(t *testing.T, stage []recipeStep, name string) recipeStep {
	t.Helper()
	i := slices.IndexFunc(stage, func(s recipeStep) bool { return s.name == name })
	if i < 0 || slices.ContainsFunc(stage[i+1:], func(s recipeStep) bool { return s.name == name }) {
		t.Fatalf("not one %s", name)
	}
	return stage[i]
}

// composed is what deploy/compose.yaml may have.
type composed struct {
	Services map[string]struct {
		Build          struct{ Context, Dockerfile string }
		Image          string
		Command        []string
		Ports, Volumes []string
		GroupAdd       []string `json:"group_add"`
		DependsOn      any      `json:"depends_on"`
		NetworkMode    string   `json:"network_mode"`
		StopGrace      string   `json:"stop_grace_period"`
		Restart        string
		Ulimits        map[string]int
	}
	Volumes map[string]any
}

// probeSpec is a probe of Kubernetes.
type probeSpec struct {
	HTTPGet          struct{ Path, Port string }
	PeriodSeconds    int
	FailureThreshold int
}

// podContainer is what the container of deploy/kubernetes.yaml may have.
type podContainer struct {
	Name, Image string
	Args        []string
	Ports       []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, LivenessProbe, ReadinessProbe probeSpec
	SecurityContext                             struct {
		AllowPrivilegeEscalation, ReadOnlyRootFilesystem *bool
		Capabilities                                     struct{ Drop []string }
	}
	VolumeMounts []struct{ Name, MountPath string }
	Resources    struct{ Requests, Limits map[string]string }
}

// manifest is what an object of deploy/kubernetes.yaml may have.
type manifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Selector json.RawMessage
		Ports    []struct {
			Name, TargetPort string
			Port             int
		}
		ServiceName          string
		Replicas             int
		Template             podTemplate
		VolumeClaimTemplates []struct {
			Metadata struct{ Name string }
			Spec     struct {
				AccessModes []string
				Resources   struct{ Requests map[string]string }
			}
		}
	}
}

type podTemplate struct {
	Metadata struct{ Labels map[string]string }
	Spec     struct {
		EnableServiceLinks            *bool
		TerminationGracePeriodSeconds int
		SecurityContext               struct {
			RunAsNonRoot       bool
			RunAsUser, FSGroup int
			SeccompProfile     struct{ Type string }
		}
		Containers []podContainer
	}
}

// kubernetes returns the objects of deploy/kubernetes.yaml.
func kubernetes(t *testing.T) (service, set manifest) {
	t.Helper()
	documents := strings.Split(readTree(t, "deploy/kubernetes.yaml"), "\n---\n")
	if len(documents) != 2 {
		t.Fatalf("%d documents", len(documents))
	}
	readYAML(t, documents[0], &service)
	readYAML(t, documents[1], &set)
	return service, set
}

// parsed returns the command line as the program reads it, and the name of its command.
func parsed(t *testing.T, args []string) (c *cli, command string) {
	t.Helper()
	c = &cli{}
	parser, err := kong.New(c, kong.Name("tickhive"), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		t.Errorf("tickhive %q: %v", args, err)
		return c, ""
	}
	command, _, _ = strings.Cut(ctx.Command(), " ")
	return c, command
}

// serveConfig returns the configuration of a command line of serve.
func serveConfig(t *testing.T, args []string) *Config {
	t.Helper()
	c, command := parsed(t, args)
	if command != "serve" {
		t.Fatalf("%q is no command line of serve", args)
	}
	cfg, err := c.Serve.config(&program{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return cfg
}

// ports returns the ports of both listeners.
func ports(t *testing.T, cfg *Config) (public, internal string) {
	t.Helper()
	_, public, err := net.SplitHostPort(cfg.Server.Listen)
	if err != nil {
		t.Fatal(err)
	}
	if _, internal, err = net.SplitHostPort(cfg.Internal.Listen); err != nil {
		t.Fatal(err)
	}
	return public, internal
}

// The program accepts the command lines and keys of deploy/, and every port there is one on which it listens then.
func TestTheImageAndItsUsersAgreeWithTheProgram(t *testing.T) {
	stages := dockerfile(t)
	final := stages[len(stages)-1]
	entry := instruction(t, final, "ENTRYPOINT").words
	cfg := serveConfig(t, instruction(t, final, "CMD").words)
	public, internal := ports(t, cfg)
	if got := instruction(t, final, "EXPOSE").text; got != public+" "+internal {
		t.Errorf("EXPOSE %s, and the program listens on %s and %s", got, public, internal)
	}
	if got := instruction(t, final, "VOLUME").text; got != cfg.Data.Dir {
		t.Errorf("VOLUME %s, and the data are in %s", got, cfg.Data.Dir)
	}
	health := instruction(t, final, "HEALTHCHECK").words
	if c, command := parsed(t, health[1:]); health[0] != entry[0] || command != "ready" ||
		c.Ready.Target != "http://127.0.0.1:"+public {
		t.Errorf("HEALTHCHECK %q", health)
	}

	user := instruction(t, final, "USER").text
	t.Run("compose", func(t *testing.T) { checkCompose(t, cfg, user) })
	t.Run("kubernetes", func(t *testing.T) { checkKubernetes(t, cfg, user) })
}

// checkCompose checks deploy/compose.yaml against the program and the files that it names.
func checkCompose(t *testing.T, image *Config, user string) {
	var file composed
	readYAML(t, readTree(t, "deploy/compose.yaml"), &file)
	exchange := file.Services["tickhive"]
	cfg := serveConfig(t, exchange.Command)
	public, internal := ports(t, cfg)
	if imaged, _ := ports(t, image); imaged != public {
		t.Errorf("port %s, and the health check of the image asks %s", public, imaged)
	}
	if want := []string{"127.0.0.1:" + public + ":" + public}; !slices.Equal(exchange.Ports, want) {
		t.Errorf("ports %q, want %q", exchange.Ports, want)
	}
	if cfg.Data.Dir != image.Data.Dir || !slices.Contains(exchange.Volumes, "data:"+cfg.Data.Dir) {
		t.Errorf("volumes %q, data in %s", exchange.Volumes, cfg.Data.Dir)
	}
	if build := path.Join("deploy", exchange.Build.Context, exchange.Build.Dockerfile); build != "deploy/Dockerfile" {
		t.Errorf("it builds by %s", build)
	}
	var scrape struct {
		Global struct {
			Interval string `json:"scrape_interval"`
		}
		Rules  []string `json:"rule_files"`
		Config []struct {
			Job           string `json:"job_name"`
			Authorization struct {
				File string `json:"credentials_file"`
			}
			Static []struct{ Targets []string } `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	readYAML(t, readTree(t, "deploy/prometheus.yml"), &scrape)
	if got := scrape.Config[0].Static[0].Targets; !slices.Equal(got, []string{"tickhive:" + internal}) {
		t.Errorf("Prometheus scrapes %q, the internal port is %s", got, internal)
	}
	group := strings.Split(user, ":")[1]
	readers := file.Services["prometheus"]
	if token := scrape.Config[0].Authorization.File; token != cfg.Internal.TokenFile ||
		!slices.Contains(exchange.Volumes, "token:"+path.Dir(token)+":ro") ||
		!slices.Contains(readers.Volumes, "token:"+path.Dir(token)+":ro") ||
		!slices.Equal(readers.GroupAdd, []string{group}) ||
		!strings.Contains(file.Services["token"].Command[2], "chgrp "+group+" "+path.Base(token)+"\n") {
		t.Errorf("%s is not a file that both services may read", token)
	}
	var targets []string // of mounted files
	for name, service := range file.Services {
		for _, v := range service.Volumes {
			source, rest, _ := strings.Cut(v, ":")
			if _, ok := file.Volumes[source]; ok {
				continue
			}
			if _, err := os.Stat(filepath.Join(sourceTree, "deploy", source)); err != nil || !strings.HasSuffix(rest, ":ro") {
				t.Errorf("%s mounts %s: %v", name, v, err)
			}
			targets = append(targets, strings.TrimSuffix(rest, ":ro"))
		}
	}
	for _, rules := range scrape.Rules {
		if !slices.Contains(targets, "/etc/prometheus/"+rules) {
			t.Errorf("Prometheus has no %s", rules)
		}
	}
	provider := readTree(t, "deploy/grafana/dashboards/tickhive.yml")
	dashboards := regexp.MustCompile(`path: (\S+)`).FindStringSubmatch(provider)
	if !slices.ContainsFunc(targets, func(name string) bool { return path.Dir(name) == dashboards[1] }) {
		t.Errorf("Grafana has nothing in %s", dashboards[1])
	}
	if !strings.Contains(readTree(t, "deploy/grafana/datasources/prometheus.yml"), "url: http://prometheus:9090\n") {
		t.Error("Grafana does not read the service prometheus")
	}
}

// checkKubernetes checks deploy/kubernetes.yaml against the program and the user of the image.
func checkKubernetes(t *testing.T, image *Config, user string) {
	service, set := kubernetes(t)
	pod := set.Spec.Template.Spec
	c := pod.Containers[0]
	cfg := serveConfig(t, c.Args)
	public, _ := ports(t, cfg)
	if len(pod.Containers) != 1 || len(c.Ports) != 1 || fmt.Sprint(c.Ports[0].ContainerPort) != public ||
		service.Spec.Ports[0].TargetPort != c.Ports[0].Name {
		t.Errorf("ports %+v and %+v, and the program listens on %s", c.Ports, service.Spec.Ports, public)
	}
	for want, probes := range map[string][]probeSpec{
		"/healthz": {c.StartupProbe, c.LivenessProbe}, "/readyz": {c.ReadinessProbe},
	} {
		for _, p := range probes {
			if p.HTTPGet.Path != want || p.HTTPGet.Port != c.Ports[0].Name || p.PeriodSeconds == 0 {
				t.Errorf("probe %+v, want %s", p, want)
			}
		}
	}
	for _, v := range []struct {
		what      string
		got, want any
	}{
		{"service", service.APIVersion + " " + service.Kind, "v1 Service"},
		{"set", set.APIVersion + " " + set.Kind, "apps/v1 StatefulSet"},
		{"service of the set", set.Spec.ServiceName, service.Metadata.Name},
		{"selector of the service", string(service.Spec.Selector), `{"app":"tickhive"}`},
		{"selector of the set", string(set.Spec.Selector), `{"matchLabels":{"app":"tickhive"}}`},
		{"labels", fmt.Sprint(set.Spec.Template.Metadata.Labels), "map[app:tickhive]"},
		{"replicas, because one process writes a directory", set.Spec.Replicas, 1},
		{"user", fmt.Sprintf("%d:%d", pod.SecurityContext.RunAsUser, pod.SecurityContext.FSGroup), user},
		{"user is not root", pod.SecurityContext.RunAsNonRoot, true},
		{"time to stop", pod.TerminationGracePeriodSeconds, 60},
		{"TICKHIVE_PORT would be an unknown key: service links", *pod.EnableServiceLinks, false},
		{"mount", c.VolumeMounts[0].MountPath, cfg.Data.Dir},
		{"directory of the image", image.Data.Dir, cfg.Data.Dir},
		{"claim", set.Spec.VolumeClaimTemplates[0].Metadata.Name, c.VolumeMounts[0].Name},
		{"read-only image", *c.SecurityContext.ReadOnlyRootFilesystem, true},
	} {
		if v.got != v.want {
			t.Errorf("%s: %v, want %v", v.what, v.got, v.want)
		}
	}
}

// Compose itself accepts its file.
func TestComposeAcceptsItsFile(t *testing.T) {
	tool := needTool(t, "docker-compose")
	c := exec.CommandContext(t.Context(), tool, "-f", filepath.Join(sourceTree, "deploy/compose.yaml"), "config", "-q")
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// needTool returns a program of others, or skips the test, which TICKHIVE_STRICT=1 forbids.
func needTool(t *testing.T, name string) string {
	t.Helper()
	tool, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no %s (TICKHIVE_STRICT=1 makes this an error)", name)
	}
	return tool
}

// The unit starts the program as the manual does, stops restarts by the exit codes of the manual, and systemd finds no
// fault in it and little that the program could do beyond its work.
func TestTheSystemdUnit(t *testing.T) {
	unit := readTree(t, "deploy/tickhive.service")
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/tickhive (.*)$`).FindStringSubmatch(unit)
	if line == nil {
		t.Fatal("no ExecStart")
	}
	cfg := serveConfig(t, strings.Fields(line[1]))
	if !strings.Contains(unit, "\nStateDirectory="+strings.TrimPrefix(cfg.Data.Dir, "/var/lib/")+"\n") {
		t.Errorf("%s is not the directory that systemd makes", cfg.Data.Dir)
	}
	tool := needTool(t, "systemd-analyze")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// systemd asks for the program; here it is this one.
	copied := filepath.Join(t.TempDir(), "tickhive.service")
	if err := os.WriteFile(copied, []byte(strings.ReplaceAll(unit, "/usr/local/bin/tickhive", exe)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", copied},
		{"security", "--offline=true", "--no-pager", "--threshold=16", copied}, // in tenths, of 100
	} {
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil ||
			args[0] == "verify" && len(out) > 0 {
			t.Errorf("%s: %v: %s", args[0], err, out)
		}
	}
}

// The program knows every command and flag of the manual.
func TestTheProgramKnowsTheCommandsOfTheManual(t *testing.T) {
	manual := regexp.MustCompile(`\$\([^)]*\)`).ReplaceAllString(readTree(t, "docs/operating.md"), "now")
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^    bin/tickhive (.*)$`).FindAllStringSubmatch(manual, -1) {
		n++
		parsed(t, strings.Fields(strings.ReplaceAll(m[1], "--at N", "--at 1")))
	}
	if n < 4 {
		t.Errorf("only %d command lines", n)
	}
}
