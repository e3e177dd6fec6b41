package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed" // the files that the command writes
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// binanceHostsCmd writes what a program needs to reach an exchange by Binance's host names
// (docs/contract/binance.md#by-binances-host-names).
type binanceHostsCmd struct {
	Dir string `arg:"" help:"Directory to make; it may exist if it is empty."`
}

// Help returns the end of the command's help.
func (*binanceHostsCmd) Help() string {
	return `DIR gets the certificate of a CA that may vouch for these names alone and whose key is not kept (ca.pem),
a certificate for the names (tls.pem, tls.key), lines for a hosts file (hosts), a configuration of the exchange
(tickhive.toml), a script for Linux (run) and a file for containers (compose.yaml).

Examples:

  tickhive binance-hosts bots
  bots/run node bot.mjs
  bots/run curl https://api.binance.com/api/v3/time`
}

// binanceHosts lists the host names to which programs for Binance connect: spot with its test networks, and what they
// ask elsewhere at their start.
var binanceHosts = []string{
	"binance.com", "www.binance.com", "api.binance.com", "api1.binance.com", "api2.binance.com", "api3.binance.com",
	"api4.binance.com", "api-gcp.binance.com", "stream.binance.com", "ws-api.binance.com", "nbstream.binance.com",
	"data-api.binance.vision", "data-stream.binance.vision", "data.binance.vision",
	"testnet.binance.vision", "api1.testnet.binance.vision", "stream.testnet.binance.vision",
	"ws-api.testnet.binance.vision",
	"demo.binance.com", "demo-api.binance.com", "demo-stream.binance.com", "demo-ws-api.binance.com",
	"fapi.binance.com", "fstream.binance.com", "ws-fapi.binance.com", "dapi.binance.com", "dstream.binance.com",
	"ws-dapi.binance.com", "eapi.binance.com", "papi.binance.com",
	"demo-fapi.binance.com", "demo-dapi.binance.com", "testnet.binancefuture.com", "stream.binancefuture.com",
	"dstream.binancefuture.com",
}

// binanceDomains lists the domains for which the CA may vouch: a program that trusts it trusts nothing else by it.
var binanceDomains = []string{"binance.com", "binance.vision", "binancefuture.com", "localhost"}

// binanceHostsTime is the life of the certificates. Some clients refuse a longer one.
const binanceHostsTime = 825 * 24 * time.Hour

//go:embed binance_run.sh
var binanceRun string

//go:embed binance_compose.yaml
var binanceCompose string

// binanceEnvironment returns the variables by which programs find the CA, as the script exports them.
func binanceEnvironment() (names []string) {
	for word := range strings.FieldsSeq(binanceRun) {
		if name, _, found := strings.Cut(word, `="$ca"`); found {
			names = append(names, name)
		}
	}
	return names
}

// Run makes the directory.
func (c *binanceHostsCmd) Run(p *program) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	if strings.ContainsAny(dir, "'\"\\\n") {
		return usage("%q: the files name the directory, so its path must have no quote, backslash or line end", dir)
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
		return usage("%s is not empty: name a new directory, or remove it", c.Dir)
	}
	files, err := binanceFiles(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return usageError{Err: err}
	}
	for _, f := range files {
		if err := writeNew(filepath.Join(dir, f.name), f.mode, f.text); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "%d host names lead to the exchange of %s. Start a program with its URLs as they are:\n\n"+
		"  %s PROGRAM [ARGUMENT...]\n", len(binanceHosts), c.Dir, filepath.Join(c.Dir, "run"))
	return nil
}

// writeNew writes a file that does not exist.
func writeNew(name string, mode os.FileMode, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// binanceFile is one file of the directory.
type binanceFile struct {
	name string
	mode os.FileMode
	text []byte
}

// binanceFiles returns the files of the directory.
func binanceFiles(dir string) ([]binanceFile, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ca, cert, key, err := binanceCertificate(time.Now())
	if err != nil {
		return nil, err
	}
	hosts := "127.0.0.1 localhost\n127.0.0.1 " + strings.Join(binanceHosts, "\n127.0.0.1 ") + "\n"
	config := fmt.Sprintf(`# The exchange of this directory. "tickhive config print" shows every key.
[server]
listen = "127.0.0.1:8080"

[binance]
listen = ["127.0.0.1:443", "127.0.0.1:9443"]

[tls]
cert = %q
key = %q

[data]
dir = %q
`, filepath.Join(dir, "tls.pem"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "data"))
	var environment strings.Builder
	for _, name := range binanceEnvironment() {
		fmt.Fprintf(&environment, "      %s: /ca.pem\n", name)
	}
	compose := strings.NewReplacer(
		"@USER@", strconv.Itoa(os.Getuid())+":"+strconv.Itoa(os.Getgid()),
		"@ALIASES@", "          - "+strings.Join(binanceHosts, "\n          - "),
		"@ENVIRONMENT@\n", environment.String(),
	).Replace(binanceCompose)
	return []binanceFile{
		{"ca.pem", 0o644, ca},
		{"tls.pem", 0o644, cert},
		{"tls.key", 0o600, key},
		{"hosts", 0o644, []byte(hosts)},
		{"tickhive.toml", 0o644, []byte(config)},
		{"run", 0o755, []byte(strings.ReplaceAll(binanceRun, "@TICKHIVE@", shellQuoted(self)))},
		{"compose.yaml", 0o644, []byte(compose)},
	}, nil
}

// shellQuoted returns text as one word of a shell, also inside of ${NAME:-word}.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// binanceCertificate returns the certificate of a new CA, and a certificate of it for Binance's host names with its
// key. The key of the CA is forgotten here, so no other certificate can be made of it.
func binanceCertificate(now time.Time) (ca, cert, key []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	loopback := &net.IPNet{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "TickHive, an exchange for tests"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(binanceHostsTime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: binanceDomains,
		PermittedIPRanges: []*net.IPNet{loopback},
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "api.binance.com"},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    append([]string{"localhost"}, binanceHosts...), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed := func(template *x509.Certificate, of *ecdsa.PublicKey) []byte {
		der, fault := x509.CreateCertificate(rand.Reader, template, root, of, caKey)
		if fault != nil {
			err = fault
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	ca, cert = signed(root, &caKey.PublicKey), signed(leaf, &own.PublicKey)
	secret, fault := x509.MarshalPKCS8PrivateKey(own)
	if err = errors.Join(err, fault); err != nil {
		return nil, nil, nil, err
	}
	return ca, cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}
