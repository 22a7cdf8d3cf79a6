package machine

import (
	"slices"
	"sync"
	"time"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// audit is the part of the API servers' audit logs that is judged.
type audit struct {
	mu        sync.Mutex
	deletions []deletion
	writes    int
	calls     []call
}

// deletion is a request to delete a Work.
type deletion struct {
	work        string // namespace/name
	at          time.Time
	hasHappened bool
}

// takeDeletions returns those since the last call.
func (a *audit) takeDeletions() []deletion {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.deletions
	a.deletions = nil
	return all
}

// call is a request of a replica that was answered.
type call struct {
	by string
	apiserver.AuditEvent
}

// isWrite reports whether it may have changed anything.
func (c call) isWrite() bool { return !slices.Contains([]string{"get", "list", "watch"}, c.Verb) }

// mostCalls bounds what is kept of the calls.
const mostCalls = 100_000

// those are the calls since a time that fit.
func (a *audit) those(since time.Time, fits func(call) bool) (all []call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.calls {
		if !c.Time.Before(since) && fits(c) {
			all = append(all, c)
		}
	}
	return all
}

func (a *audit) note(by string, e apiserver.AuditEvent) {
	if e.Code == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls) < mostCalls {
		a.calls = append(a.calls, call{by, e})
	}
	if e.Resource != works {
		return
	}
	switch e.Verb {
	case "delete":
		a.deletions = append(a.deletions, deletion{e.Namespace + "/" + e.Name, e.Time, e.Code < 300})
	case "create", "patch", "update":
		a.writes++
	}
}
