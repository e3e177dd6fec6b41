package cmdline

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"syscall"
)

// ProfileEnv is the environment variable that names a directory in which every process
// leaves a CPU profile. It is not a configuration key: `make pgo` sets it to collect the
// profile that the compiler uses.
const ProfileEnv = "CPUPROFILE_DIR"

// Profile is the CPU profile of this process. A nil Profile records nothing.
type Profile struct {
	file *os.File
	once sync.Once
	err  error
}

// StartProfile starts a profile in dir and returns nil when dir is empty. The bench ends
// its children by closing their standard input and by SIGTERM at the same time. While a
// profile runs, SIGTERM alone does not end the process, so that the file is complete.
func StartProfile(dir string) (*Profile, error) {
	if dir == "" {
		return nil, nil
	}
	name := filepath.Join(dir, fmt.Sprintf("tickhive-%d.pprof", os.Getpid()))
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ProfileEnv, err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", ProfileEnv, err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
	return &Profile{file: f}, nil
}

// Stop writes the profile to its file. Any goroutine may call it, more than once.
func (p *Profile) Stop() error {
	if p == nil {
		return nil
	}
	p.once.Do(func() {
		pprof.StopCPUProfile()
		p.err = p.file.Close()
	})
	return p.err
}

// Profiled runs run under the CPU profile that ProfileEnv asks for, if any, and returns its
// exit code. It returns 1, with a line on errs that names the program, when the profile
// cannot be started or written.
func Profiled(program string, errs io.Writer, run func(*Profile) int) int {
	p, err := StartProfile(os.Getenv(ProfileEnv))
	code := 1
	if err == nil {
		code = run(p)
		err = p.Stop()
	}
	if err != nil {
		fmt.Fprintf(errs, "%s: %v\n", program, err)
		return 1
	}
	return code
}
