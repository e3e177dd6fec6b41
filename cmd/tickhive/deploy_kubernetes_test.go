package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/test/deploy/examples"
	"github.com/tickhive/tickhive/test/harness"
)

// probeSpec is a probe of Kubernetes.
type probeSpec struct {
	HTTPGet          struct{ Path, Port string }
	PeriodSeconds    int
	FailureThreshold int
}

// podContainer has the members that the container of deploy/kubernetes.yaml may have.
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

// manifest has the members that an object of deploy/kubernetes.yaml may have.
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
	documents := strings.Split(harness.ReadTree(t, "deploy/kubernetes.yaml"), "\n---\n")
	if len(documents) != 2 {
		t.Fatalf("%d documents", len(documents))
	}
	examples.ReadYAML(t, documents[0], &service)
	examples.ReadYAML(t, documents[1], &set)
	return service, set
}

// checkKubernetes checks deploy/kubernetes.yaml against the program and the user of the image.
func checkKubernetes(t *testing.T, image *config.Config, user string) {
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
