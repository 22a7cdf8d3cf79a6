package build

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// packageLog parses what `go build -v` writes to standard error: the path of
// each package that it compiles, one per line, and the compiler's errors. It
// is safe for concurrent use.
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
	// Package paths contain no blanks, errors do; their heading begins with a
	// hash sign.
	if line != "" && !strings.ContainsAny(line, " #") {
		l.count++
		l.last = line
		return
	}
	l.other = append(l.other, line)
}

// progress describes in one line how far the build has come.
func (l *packageLog) progress() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == 0 {
		return "finding out what to compile, or linking"
	}
	return fmt.Sprintf("packages compiled: %d, now at %s", l.count, l.last)
}

// complaint returns the compiler's errors in one line.
func (l *packageLog) complaint() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.other
	if len(l.partial) > 0 {
		lines = append(slices.Clone(lines), string(l.partial))
	}
	return strings.Join(lines, "; ")
}
