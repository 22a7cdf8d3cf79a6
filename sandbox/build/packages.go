package build

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// packageLog reads what `go build -v` writes to standard error: the path of
// each package that it compiles, a line each, and what the compiler complains
// about. It is safe for concurrent use.
type packageLog struct {
	mu      sync.Mutex
	partial []byte
	count   int
	last    string
	other   []string
}

// Write never fails.
func (l *packageLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.partial = rest
		l.addLocked(strings.TrimSpace(string(line)))
	}
}

func (l *packageLog) addLocked(line string) {
	// A package path has no blank in it, a complaint has; its heading begins
	// with a hash sign.
	if line != "" && !strings.ContainsAny(line, " #") {
		l.count++
		l.last = line
		return
	}
	l.other = append(l.other, line)
}

// progress says in one line how far the build has come.
func (l *packageLog) progress() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == 0 {
		return "looking at what there is to compile, or linking"
	}
	return fmt.Sprintf("packages compiled: %d, now at %s", l.count, l.last)
}

// complaint is what was said beside the progress, in one line.
func (l *packageLog) complaint() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.other
	if len(l.partial) > 0 {
		lines = append(slices.Clone(lines), string(l.partial))
	}
	return strings.Join(lines, "; ")
}
