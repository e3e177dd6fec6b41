package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Child is a process of the same binary. It prints `ready key=value ...` when it is ready, and answers each
// line of its standard input with one line.
type Child struct {
	Fields map[string]string // the keys and values of its ready line

	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	tail *tail
}

// endTime is the time that a child has to end after SIGTERM; then it gets SIGKILL.
const endTime = 15 * time.Second

// running holds the children that have not ended.
var running struct {
	sync.Mutex
	all map[*Child]struct{}
}

// KillAll ends every child at once, for a program that is interrupted.
func KillAll() {
	running.Lock()
	defer running.Unlock()
	for c := range running.all {
		_ = c.cmd.Process.Kill() // it may have ended
		_, _ = c.cmd.Process.Wait()
	}
}

// enter and leave keep running up to date.
func (c *Child) enter() {
	running.Lock()
	defer running.Unlock()
	if running.all == nil {
		running.all = map[*Child]struct{}{}
	}
	running.all[c] = struct{}{}
}

func (c *Child) leave() {
	running.Lock()
	defer running.Unlock()
	delete(running.all, c)
}

// Start runs program and waits for its ready line. environ is added to the environment of this process.
func Start(environ []string, program string, args ...string) (*Child, error) {
	c := &Child{cmd: exec.Command(program, args...), Fields: map[string]string{}, tail: &tail{}}
	c.cmd.Env = append(os.Environ(), environ...)
	c.cmd.Stderr = c.tail
	// The kernel ends the child when this process dies, so that no server stays behind.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("proc: start of %s: %w", program, err)
	}
	c.enter()
	c.out = bufio.NewReaderSize(out, 1<<16)
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.Stop()
			return nil, fmt.Errorf("proc: %s %s ended before it was ready: %s", program, strings.Join(args, " "),
				c.tail.text())
		}
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ready")
		if !ok {
			continue
		}
		for field := range strings.FieldsSeq(rest) {
			k, v, _ := strings.Cut(field, "=")
			c.Fields[k] = v
		}
		return c, nil
	}
}

// Log returns the end of what the child has written to its standard error.
func (c *Child) Log() string { return c.tail.text() }

// PID returns the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// CPU returns the child's CPU time so far.
func (c *Child) CPU() time.Duration {
	d, err := CPU(c.PID())
	if err != nil {
		return 0
	}
	return d
}

// Ask sends a line and returns the line that the child answers.
func (c *Child) Ask(line string) (string, error) {
	if err := c.Send(line); err != nil {
		return "", err
	}
	answer, err := c.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("proc: no answer to %q: %w: %s", line, err, c.tail.text())
	}
	return strings.TrimSpace(answer), nil
}

// Send sends a line to which the child does not answer.
func (c *Child) Send(line string) error {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		return fmt.Errorf("proc: %w: %s", err, c.tail.text())
	}
	return nil
}

// Stop ends the child with SIGTERM, or with SIGKILL when it does not end within endTime.
func (c *Child) Stop() {
	defer c.leave()
	_ = c.in.Close()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	force := time.AfterFunc(endTime, func() { _ = c.cmd.Process.Kill() })
	defer force.Stop()
	_, _ = io.Copy(io.Discard, c.out)
	var exit *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		_ = c.cmd.Process.Kill()
	}
}

// Kill ends the child with SIGKILL, as a power cut ends it without the machine.
func (c *Child) Kill() {
	defer c.leave()
	_ = c.cmd.Process.Kill()
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.cmd.Wait() // it reports the signal
}

// tail keeps the end of a child's standard error.
type tail struct {
	mu  sync.Mutex // guards the buffer: a goroutine writes it, the owner reads it
	buf []byte
}

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - tailBytes; n > 0 {
		t.buf = t.buf[n:]
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
