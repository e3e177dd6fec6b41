package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"syscall"
)

// profileEnv names a directory in which every process of the program leaves a CPU profile.
// It is no configuration key: the compiler's profile is made with it (make pgo).
const profileEnv = "CPUPROFILE_DIR"

// profile is the CPU profile of this process. The zero value, and nil, is none.
type profile struct {
	file *os.File
	once sync.Once
	err  error
}

// startProfile begins one in dir, none when dir is empty. A child of the bench is told to
// end by its standard input and by SIGTERM at once; so that what it wrote is whole,
// the signal alone no longer ends the process.
func startProfile(dir string) (*profile, error) {
	if dir == "" {
		return nil, nil
	}
	name := filepath.Join(dir, fmt.Sprintf("tickhive-%d.pprof", os.Getpid()))
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profileEnv, err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", profileEnv, err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
	return &profile{file: f}, nil
}

// stop writes it out. It may be called more than once, from any goroutine.
func (p *profile) stop() error {
	if p == nil {
		return nil
	}
	p.once.Do(func() {
		pprof.StopCPUProfile()
		p.err = p.file.Close()
	})
	return p.err
}
