package build

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	// cancelDelay is how long the go command may take to end after Ctrl-C.
	cancelDelay = 5 * time.Second
	// lineInterval is how often a line is printed to what is not a terminal.
	lineInterval = 30 * time.Second
)

// progress is one line that says how far a compilation has come. It reads what the go command writes to
// standard error: the name of each package that it compiles, and messages.
type progress struct {
	out  io.Writer
	what string
	// begun is when it was created, and last when a line was last printed.
	begun, last time.Time
	isTerminal  bool
	// done and total are packages, and downloads are modules.
	done, total, downloads int
	said                   strings.Builder
}

func newProgress(out io.Writer, what string) *progress {
	file, isFile := out.(*os.File)
	return &progress{out: out, what: what, begun: time.Now(), isTerminal: isFile && term.IsTerminal(int(file.Fd()))}
}

// Write never fails.
func (p *progress) Write(written []byte) (int, error) {
	for line := range bytes.Lines(written) {
		switch {
		case bytes.HasPrefix(line, []byte("go: downloading ")):
			p.downloads++
		case bytes.ContainsAny(line, " \t"):
			p.said.Write(line)
		default:
			p.done++
		}
	}
	interval := lineInterval
	if p.isTerminal {
		interval = time.Second
	}
	if time.Since(p.last) >= interval {
		p.print()
	}
	return len(written), nil
}

func (p *progress) print() {
	first := p.last.IsZero()
	p.last = time.Now()
	if first {
		p.say("compiling %s, from source", p.what)
	}
	passed := p.last.Sub(p.begun).Round(time.Second)
	if p.total == 0 {
		p.line("  %d modules downloaded, %s", p.downloads, passed)
		return
	}
	p.line("  %d of %d packages compiled, %s", min(p.done, p.total), p.total, passed)
}

// succeed says how long it took, unless nothing was to be compiled.
func (p *progress) succeed() {
	if !p.last.IsZero() {
		p.line("  done in %s", time.Since(p.begun).Round(time.Second))
	}
}

// end completes the line.
func (p *progress) end() {
	if p.isTerminal && !p.last.IsZero() {
		p.say("")
	}
}

// line replaces the last one in a terminal.
func (p *progress) line(format string, arguments ...any) {
	if p.isTerminal {
		// Ignore the error, as in say: there is nowhere else to report it.
		_, _ = fmt.Fprintf(p.out, "\r\x1b[K"+format, arguments...)
		return
	}
	p.say(format, arguments...)
}

func (p *progress) say(format string, arguments ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", arguments...)
}

// messages are what the go command has said, besides names of packages.
func (p *progress) messages() string { return strings.TrimSpace(p.said.String()) }
