package listen

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// Unix begins the address of a unix socket: unix:PATH.
const Unix = "unix:"

// At opens the listener of an address: HOST:PORT, or unix:PATH.
func At(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, Unix); ok {
		return listenUnix(path)
	}
	return listenTCP(address)
}

// Address returns the address of a listener, empty for none.
func Address(ln net.Listener) string {
	if ln == nil {
		return ""
	}
	if ln.Addr().Network() == "unix" {
		return Unix + ln.Addr().String()
	}
	return ln.Addr().String()
}

// unixListener is a listener on a unix socket that has the mode 0600 and is removed with it.
type unixListener struct {
	*net.UnixListener
	path string
	info os.FileInfo // of the socket, to remove no other file
}

// listenUnix opens a socket for this user alone. It makes the socket in a directory that no other
// user can enter and moves it to its path once its mode is set, so no moment exists at which others
// can connect. A socket that a process has left behind is replaced.
func listenUnix(path string) (net.Listener, error) {
	if err := checkFree(path); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".th")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	err = os.Chmod(made, 0o600)
	if err == nil {
		err = os.Rename(made, path)
	}
	info, serr := os.Lstat(path)
	if err = errors.Join(err, serr); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return &unixListener{ln, path, info}, nil
}

// checkFree refuses a path that has something else than a socket without a process.
func checkFree(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s exists and is no socket: name another path, or remove the file", path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("a process listens on %s: stop it, or name another path", path), conn.Close())
	}
	return nil
}

// Addr returns the path at which clients connect.
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close closes the listener and removes its socket.
func (l *unixListener) Close() error {
	if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.info) {
		_ = os.Remove(l.path) // the next start replaces what remains
	}
	return l.UnixListener.Close()
}

// Local reports whether a host is this machine whatever a name server says.
func Local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
