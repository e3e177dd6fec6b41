package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/tickhive/tickhive/server/conn"
)

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Validate the configuration."`
	Print configPrintCmd `cmd:"" help:"Print the effective configuration as TOML (secrets redacted)."`
}

type configCheckCmd struct {
	serveFlags `embed:"" group:"Configuration, as for serve:"`
}

type configPrintCmd struct {
	serveFlags `embed:"" group:"Configuration, as for serve:"`
}

// Run loads the configuration and reports every invalid value. The exit code is then 2, as for serve.
func (c *configCheckCmd) Run(p *program) error {
	cfg, err := c.config(p)
	if err != nil {
		return err
	}
	for _, t := range []struct{ section, cert, key string }{
		{"tls", cfg.TLS.Cert, cfg.TLS.Key}, {"internal", cfg.Internal.Cert, cfg.Internal.Key},
	} {
		if t.cert == "" {
			continue
		}
		_, err := conn.NewCertificate(t.section, t.cert, t.key, time.Now)
		switch {
		case errors.Is(err, fs.ErrPermission): // perhaps the exchange runs as another user
			fmt.Fprintln(p.err, "not checked:", err)
		case err != nil:
			return usageError{Err: err}
		}
	}
	fmt.Fprintf(p.out, "configuration ok: %d keys, %d assets, %d pairs\n", len(cfg.Keys()), len(cfg.Assets),
		len(cfg.Pairs))
	return nil
}

// Run prints the configuration with which serve would run.
func (c *configPrintCmd) Run(p *program) error {
	cfg, err := c.config(p)
	if err != nil {
		return err
	}
	return cfg.Print(p.out)
}
