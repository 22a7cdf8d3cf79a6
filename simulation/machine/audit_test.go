package machine

import (
	"sync"
	"time"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// audit is the part of the API servers' audit logs that is judged.
type audit struct {
	mu        sync.Mutex
	deletions []deletion
	writes    int
	lastWrite time.Time
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

func (a *audit) note(e apiserver.AuditEvent) {
	if e.Code == 0 || e.Resource != works {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" {
		a.lastWrite = e.Time
	}
	switch e.Verb {
	case "delete":
		a.deletions = append(a.deletions, deletion{e.Namespace + "/" + e.Name, e.Time, e.Code < 300})
	case "create", "patch", "update":
		a.writes++
	}
}

// busyUntil is when the daemons wrote a Work last, or tried to.
func (a *audit) busyUntil() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lastWrite
}
