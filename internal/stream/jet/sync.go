package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// ErrLazy reports servers that acknowledge a message before it is on the disk, or that do not show whether they do.
var ErrLazy = errors.New("jet: the servers of the stream")

// syncSubject asks all servers of a cluster for their JetStream. The account of the connection imports it, or is the
// system account.
const syncSubject = "$SYS.REQ.SERVER.PING.JSZ"

const (
	statusWithin  = time.Second // an answer of a server about itself
	maxStatus     = 1 << 20     // bytes of it
	maxServers    = 64          // that answer
	monitorPath   = "/varz"
	syncRemedy    = "let the account of stream.credentials import " + syncSubject + ", or set stream.system_credentials"
	monitorRemedy = "set stream.monitor to the monitoring addresses of all servers (http://HOST:8222)"
	trustRemedy   = "or accept that a power cut of all servers loses acknowledged changes: --trust-lazy-sync"
)

// SyncSources says where CheckSync looks, besides the connection of the log.
type SyncSources struct {
	System  *Remote  // connects as a user of the system account; nil: no such user
	Monitor []string // monitoring addresses, http://HOST:PORT
}

// servers has the answers of servers by their names: whether they sync each message before they acknowledge it.
type servers map[string]bool

// CheckSync returns an error unless every server that keeps the log, and is up, syncs each message before it
// acknowledges it.
//
// Errors: ErrLazy.
func (c *Conn) CheckSync(ctx context.Context, log Log, from SyncSources) error {
	l, ok := log.(*jetLog)
	if !ok {
		return nil // memory
	}
	return patiently(ctx, func(ctx context.Context) error {
		keepers, err := l.keepers(ctx)
		if err != nil {
			return err
		}
		seen := servers{}
		reasons := c.ask(ctx, keepers, seen)
		if !seen.has(keepers) && from.System != nil {
			reasons = errors.Join(reasons, askSystem(ctx, *from.System, keepers, seen))
		}
		for _, at := range from.Monitor {
			reasons = errors.Join(reasons, askMonitor(ctx, at, seen))
		}
		return seen.judge(keepers, reasons)
	})
}

// keepers returns the names of the servers that keep the log and are up.
func (l *jetLog) keepers(ctx context.Context) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	info, err := l.stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return nil, fmt.Errorf("%w: the stream %s has no leader", ErrUnavailable, l.name)
	}
	names = append(names, info.Cluster.Leader)
	for _, r := range info.Cluster.Replicas {
		if !r.Offline {
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// has reports whether all servers of the names have answered.
func (s servers) has(names []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { _, seen := s[n]; return !seen })
}

// judge returns what is wrong with the answers, nil if nothing is. ErrUnavailable asks for another attempt: some of
// the servers have answered.
func (s servers) judge(keepers []string, reasons error) error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !s[name] {
			return fmt.Errorf("%w: %s acknowledges before it syncs: set sync_interval: always in its jetstream "+
				"block, %s", ErrLazy, name, trustRemedy)
		}
	}
	switch {
	case s.has(keepers):
		return nil
	case len(s) > 0:
		return fmt.Errorf("%w: of %s only %s have said whether they sync (%w)", ErrUnavailable,
			strings.Join(keepers, ", "), strings.Join(slices.Sorted(maps.Keys(s)), ", "), reasons)
	}
	// The reasons are ErrUnavailable when no server has answered in time, as in a failure of some of them.
	return fmt.Errorf("%w do not show whether they sync what they acknowledge (%w). Three ways out: %s; %s; %s",
		ErrLazy, reasons, syncRemedy, monitorRemedy, trustRemedy)
}

// ask asks all servers over the connection, until the keepers of the log have answered.
func (c *Conn) ask(ctx context.Context, keepers []string, seen servers) error {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }() // fails on a closed connection only
		err = c.nc.PublishRequest(syncSubject, inbox, []byte(`{"config":true}`))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", syncSubject, err)
	}
	for n := 0; n < maxServers && !seen.has(keepers); n++ {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case err != nil && n > 0:
			return nil // these were all
		case err != nil:
			return fmt.Errorf("%w: %s: no answer", ErrUnavailable, syncSubject)
		case m.Header.Get("Status") == "503":
			return fmt.Errorf("%s: this user may not ask", syncSubject)
		}
		var got struct {
			Server struct{ Name string }
			Data   struct{ Config jetstreamConfig }
		}
		if err := json.Unmarshal(m.Data, &got); err != nil || got.Server.Name == "" {
			return fmt.Errorf("%s: answer %.100q", syncSubject, m.Data)
		}
		seen[got.Server.Name] = got.Data.Config.SyncAlways
	}
	return nil
}

// jetstreamConfig is the part of a server's configuration that matters here.
type jetstreamConfig struct {
	SyncAlways bool `json:"sync_always"`
}

// askSystem asks all servers over a connection of the system account.
func askSystem(ctx context.Context, r Remote, keepers []string, seen servers) error {
	c, err := Connect(r)
	if err != nil {
		return fmt.Errorf("stream.system_credentials: %w", err)
	}
	defer c.Close()
	if err := c.ask(ctx, keepers, seen); err != nil {
		return fmt.Errorf("stream.system_credentials: %w", err)
	}
	return nil
}

// askMonitor asks one server at its monitoring address.
func askMonitor(ctx context.Context, at string, seen servers) (err error) {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("stream.monitor: %s: %w", at, err)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(at, "/")+monitorPath, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // was only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	if err != nil {
		return err
	}
	var got struct {
		Name      string `json:"server_name"`
		JetStream struct{ Config *jetstreamConfig }
	}
	switch err := json.Unmarshal(body, &got); {
	case resp.StatusCode != http.StatusOK || err != nil:
		return fmt.Errorf("%s: no answer of a NATS server (%w)", resp.Status, err)
	case got.JetStream.Config == nil:
		return nil // it keeps no stream
	}
	seen[got.Name] = got.JetStream.Config.SyncAlways
	return nil
}
