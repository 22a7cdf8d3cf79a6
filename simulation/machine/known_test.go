package machine

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// defect is a known one of the product, to be deleted when it is fixed.
type defect struct {
	// finding says what it is.
	finding string
	// explains reports whether it is the cause of a complaint.
	explains func(m *machine, complaint string) bool
}

// knownDefects are named by a run, which then goes on. FIND=<name> makes one of them fail, so that it shrinks.
var knownDefects = map[string]defect{
	"waves": {"content skips waves when Works are not as they are noted: altered by a webhook, and a restart or a write that is not content", func(m *machine, complaint string) bool {
		return m.alters && strings.Contains(complaint, " was given content at ")
	}},
	"no-op": {"a write that admission undoes has no event, and a rollout stands still", func(m *machine, complaint string) bool {
		return m.alters && (strings.Contains(complaint, "its content differs") || strings.Contains(complaint, "it is missing") || strings.Contains(complaint, "in its status"))
	}},
	"version": {"a newer version of a custom resource rewrites its Works and undoes overrides", func(m *machine, complaint string) bool {
		return m.preferred && strings.Contains(complaint, widget.Kind)
	}},
	"fleet": {"deletions by label are never proved in a large or slow fleet", func(m *machine, complaint string) bool {
		return len(m.clusters) >= fleetSize && strings.Contains(complaint, "it exists, but must not")
	}},
	"stale": {"a watch that starts again is older than what was written", func(m *machine, complaint string) bool {
		return m.judgesAge && (strings.Contains(complaint, "older than what it had") || strings.Contains(complaint, "which nothing asked for") || strings.Contains(complaint, "was released at"))
	}},
	"emptied": {"one mistyped label empties a member, and the breaker lets it", func(m *machine, complaint string) bool {
		return strings.Contains(complaint, "because of its labels")
	}},
	"cost": {"a tenant's annotations make each judgement expensive", func(m *machine, complaint string) bool {
		return strings.Contains(complaint, "of CPU, and")
	}},
	"counts": {"the status of a recreated source drops after a restart", func(m *machine, complaint string) bool {
		return strings.Contains(complaint, "though nothing had changed since")
	}},
	"finalizer": {"a new leader forgets a finalizer that it has seen live only", func(m *machine, complaint string) bool {
		return strings.Contains(complaint, "keeps its finalizer, although a replica led")
	}},
}

// explained returns the names of the known defects that explain all complaints, or none.
func (m *machine) explained(complaints []string) (names map[string]bool) {
	names = map[string]bool{}
	for _, complaint := range complaints {
		isKnown := false
		for name, d := range knownDefects {
			if d.explains(m, complaint) && os.Getenv("FIND") != name {
				names[name], isKnown = true, true
			}
		}
		if !isKnown {
			return nil
		}
	}
	return names
}

// tally counts the known defects that a scene has met.
type tally struct {
	mu    sync.Mutex
	began time.Time
	first map[string]time.Duration
	times map[string]int
	// failed is when the first failure came.
	failed time.Duration
}

func newTally() *tally {
	return &tally{began: time.Now(), first: map[string]time.Duration{}, times: map[string]int{}}
}

func (c *tally) add(names map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range names {
		if c.times[name]++; c.times[name] == 1 {
			c.first[name] = time.Since(c.began)
		}
	}
}

func (c *tally) log(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, times := range c.times {
		t.Logf("known defect %q, %d times, first after %.1f s: %s", name, times, c.first[name].Seconds(), knownDefects[name].finding)
	}
}
