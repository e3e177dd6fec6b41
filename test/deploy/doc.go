// Package deploy tests the files of deploy/ and the documented proxy with the programs that read them: systemd,
// docker-compose, Prometheus, nginx.
package deploy
