package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A process that waits for ever uses no CPU time, so its limit is wall time. On a busy
// machine a process that only waits for its turn must not count: it is hung when no thread of
// it or of its children was ready to run in any of hungSamples looks, one a second. backstop
// ends what neither limit does, such as a loop that mostly sleeps.
const (
	hungSamples = 15
	lookEvery   = time.Second
	backstop    = 10 * time.Minute
)

// watch calls stop once the process is hung, and returns when ctx ends.
func watch(ctx context.Context, pid int, stop func()) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for idle := 0; idle < hungSamples; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if idle++; busy(pid) {
			idle = 0
		}
	}
	stop()
}

// busy reports whether a thread of the process group runs, waits for its turn or for a disk.
// It is true where the system does not say.
func busy(group int) bool {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	found := false
	for _, process := range processes {
		if _, pgrp := state(filepath.Join(process, "stat")); pgrp != strconv.Itoa(group) {
			continue
		}
		found = true
		tasks, _ := filepath.Glob(filepath.Join(process, "task", "*", "stat"))
		for _, task := range tasks {
			if s, _ := state(task); s == "R" || s == "D" {
				return true
			}
		}
	}
	return !found
}

// state returns the state and the process group that a stat file of the kernel names. They
// are behind the name, which is in parentheses.
func state(name string) (letter, group string) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 3 {
		return "", ""
	}
	return fields[0], fields[2]
}
