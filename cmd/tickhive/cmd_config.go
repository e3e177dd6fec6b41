package main

import (
	"errors"
	"fmt"
	"io/fs"
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
	for _, err := range cfg.CheckFiles() {
		if !errors.Is(err, fs.ErrPermission) {
			return usageError{Err: err}
		}
		fmt.Fprintln(p.err, "not checked:", err) // perhaps the exchange runs as another user
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
