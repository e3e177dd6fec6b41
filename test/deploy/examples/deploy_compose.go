package examples

// Composed has the members that deploy/compose.yaml may have.
type Composed struct {
	Services map[string]struct {
		Build          struct{ Context, Dockerfile string }
		Image          string
		Entrypoint     []string
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
