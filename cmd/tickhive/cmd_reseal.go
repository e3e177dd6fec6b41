package main

import (
	"errors"
	"fmt"

	"tickhive/accounts"
	"tickhive/internal/datadir"
	"tickhive/internal/exchange"
	"tickhive/internal/wal"
)

// resealCmd changes the key of auth.secret_key_file (docs/contract/storage.md#change-of-the-key).
type resealCmd struct {
	Dir string `arg:"" help:"Data directory."`
	Old string `placeholder:"FILE" help:"File with the key that seals it; leave it out if the private keys are plain."`
	New string `required:"" placeholder:"FILE" help:"File with the key that is to seal it; made with a random key if absent."`
}

// Run holds the lock of the directory, so that no other process can use it.
func (c *resealCmd) Run(p *program) error {
	d, err := datadir.OpenIdle(c.Dir)
	if err != nil {
		return fmt.Errorf("reseal: %w", err)
	}
	text, err := c.reseal(d)
	if err = errors.Join(err, d.Unlock()); err != nil {
		return fmt.Errorf("reseal: %w", err)
	}
	_, err = fmt.Fprint(p.out, text)
	return err
}

// reseal changes the key and returns what there is left to do.
func (c *resealCmd) reseal(d *datadir.Dir) (text string, err error) {
	if !datadir.Stopped(d) {
		return "", errors.New("the directory was not stopped in order, so its logs may have an end to be judged: " +
			"start the exchange once with the old key and stop it")
	}
	from, to, err := datadir.ResealKeys(d, c.Old, c.New)
	if err != nil {
		return "", err
	}
	if err := datadir.Reseal(d, wal.Options{RecordVersion: accounts.RecordVersion}, from, to); err != nil {
		return "", exchange.ExplainDamage(err)
	}
	text = fmt.Sprintf("%s: every record and snapshot of the accounts is sealed with the key %s and verified\n"+
		"start it with auth.secret_key_file = %s\n", c.Dir, to.ID(), c.New)
	if !from.Empty() {
		text += fmt.Sprintf("backups and copies that were made before need the key %s\n", from.ID())
	}
	left, err := datadir.NotResealed(d)
	for _, file := range left {
		text += file + " is not sealed with the new key: no start reads it, remove it when you do not need it\n"
	}
	return text, err
}
