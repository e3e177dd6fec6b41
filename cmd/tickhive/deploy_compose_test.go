package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/test/deploy/examples"
	"github.com/tickhive/tickhive/test/harness"
)

// checkCompose checks deploy/compose.yaml against the program and the files that it names.
func checkCompose(t *testing.T, image *config.Config, user string) {
	var file examples.Composed
	examples.ReadYAML(t, harness.ReadTree(t, "deploy/compose.yaml"), &file)
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
			Job    string `json:"job_name"`
			Scheme string
			TLS    struct {
				CA string `json:"ca_file"`
			} `json:"tls_config"`
			Authorization struct {
				File string `json:"credentials_file"`
			}
			Static []struct{ Targets []string } `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	examples.ReadYAML(t, harness.ReadTree(t, "deploy/prometheus.yml"), &scrape)
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
	if c := scrape.Config[0]; c.Scheme != "https" || c.TLS.CA != cfg.Internal.Cert ||
		path.Dir(cfg.Internal.Key) != path.Dir(cfg.Internal.TokenFile) {
		t.Errorf("Prometheus trusts %q by %s, and the listener has %s", c.TLS.CA, c.Scheme, cfg.Internal.Cert)
	}
	var targets []string // of mounted files
	for name, service := range file.Services {
		for _, v := range service.Volumes {
			source, rest, _ := strings.Cut(v, ":")
			if _, ok := file.Volumes[source]; ok {
				continue
			}
			_, err := os.Stat(filepath.Join(harness.SourceTree, "deploy", source))
			if err != nil || !strings.HasSuffix(rest, ":ro") {
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
	provider := harness.ReadTree(t, "deploy/grafana/dashboards/tickhive.yml")
	dashboards := regexp.MustCompile(`path: (\S+)`).FindStringSubmatch(provider)
	if !slices.ContainsFunc(targets, func(name string) bool { return path.Dir(name) == dashboards[1] }) {
		t.Errorf("Grafana has nothing in %s", dashboards[1])
	}
	if !strings.Contains(harness.ReadTree(t, "deploy/grafana/datasources/prometheus.yml"),
		"url: http://prometheus:9090\n") {
		t.Error("Grafana does not read the service prometheus")
	}
}
