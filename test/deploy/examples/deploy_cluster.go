package examples

import (
	"testing"

	"github.com/oasdiff/yaml"
)

// ClusterFiles has the members that matter of the services in deploy/cluster.yaml.
type ClusterFiles struct {
	Services map[string]struct {
		Command        []string
		Ports, Volumes []string
		Build          struct{ Context, Dockerfile string }
	}
	Volumes map[string]any
}

// ClusterPod has the members that matter of an object in deploy/kubernetes-cluster.yaml.
type ClusterPod struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Replicas int
		Template struct {
			Spec struct {
				Containers []struct {
					Args         []string
					VolumeMounts []struct{ Name, MountPath string }
				}
				Affinity struct {
					PodAntiAffinity struct {
						Required []struct{ TopologyKey string } `json:"requiredDuringSchedulingIgnoredDuringExecution"`
					}
				}
			}
		}
	}
}

// ReadLoose decodes a YAML document of which v has a part.
func ReadLoose(t *testing.T, text string, v any) {
	t.Helper()
	if _, err := yaml.Unmarshal([]byte(text), v, yaml.DecodeOpts{}); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
}
