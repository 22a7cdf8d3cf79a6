package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows how far a long step has come: on a terminal in one line that changes,
// elsewhere in lines of their own. A step that takes less than a second shows nothing.
type progress struct {
	out      io.Writer
	what     string
	terminal bool
	count    int
	next     time.Time
	told     bool
}

// How often progress is shown.
const (
	progressOnTerminal = 200 * time.Millisecond
	progressElsewhere  = 10 * time.Second
	progressPatience   = time.Second
)

func newProgress(out io.Writer, what string) *progress {
	p := &progress{out: out, what: what, next: time.Now().Add(progressElsewhere)}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.onTerminal()
	}
	return p
}

func (p *progress) onTerminal() {
	p.terminal, p.next = true, time.Now().Add(progressPatience)
}

// step counts one more.
func (p *progress) step() {
	p.count++
	now := time.Now()
	switch {
	case now.Before(p.next):
	case p.terminal:
		fmt.Fprintf(p.out, "\r%s: %d", p.what, p.count)
		p.next, p.told = now.Add(progressOnTerminal), true
	default:
		fmt.Fprintf(p.out, "%s: %d\n", p.what, p.count)
		p.next = now.Add(progressElsewhere)
	}
}

// done clears the line on a terminal for what follows.
func (p *progress) done() {
	if p.terminal && p.told {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
