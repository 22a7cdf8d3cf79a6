package machine

import (
	"cmp"
	"encoding/json"
	"fmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"slices"
	"strings"
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
	calls     []call
	patched   map[string]int // how often each Work was, since the last quiet moment
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

// mostPatches are how many patches of one Work a day of some steps may lead to: a step can change a Namespace, a cluster, an
// autoscaler and a policy one after the other, and begins waves.
func mostPatches(steps int) int { return 20 + 8*steps }

// busyWorks lists the Works that were patched too often, and forgets all.
func (a *audit) busyWorks(steps int) (wrong []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for work, n := range a.patched {
		if n > mostPatches(steps) && !isHostile(work) {
			wrong = append(wrong, fmt.Sprintf("Work %s was patched %d times for %d steps", work, n, steps))
		}
	}
	clear(a.patched)
	return wrong
}

// call is a request of a replica that was answered.
type call struct {
	by string
	apiserver.AuditEvent
}

// isWrite reports whether it may have changed anything.
func (c call) isWrite() bool { return !slices.Contains([]string{"get", "list", "watch"}, c.Verb) }

// created is the name of what it was to create.
func (c call) created() string {
	var o metav1.PartialObjectMetadata
	_ = json.Unmarshal(c.Body, &o) // it was accepted
	return o.Name
}

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

// requests checks how many answered requests since a time fit.
func (m *machine) requests(since *time.Time, least, most int, fits func(call) bool) act {
	return func() error {
		all := m.audit.those(*since, fits)
		if len(all) >= least && len(all) <= most {
			return nil
		}
		var b strings.Builder
		for _, c := range all[:min(len(all), 20)] {
			fmt.Fprintf(&b, "\n%s %s %s %v %d", c.Time.Format(clockFormat), c.by, c.Verb, c.Ref, c.Code)
		}
		return fmt.Errorf("%d requests, not %d to %d:%s", len(all), least, most, b.String())
	}
}

// of are the requests with one of some verbs for a resource, or that write if there are none; done are those
// that succeeded.
func of(gr schema.GroupResource, verbs ...string) func(call) bool {
	return func(c call) bool {
		return c.Ref.Resource == gr && (slices.Contains(verbs, c.Verb) || len(verbs) == 0 && c.isWrite())
	}
}

func done(gr schema.GroupResource, verbs ...string) func(call) bool {
	return func(c call) bool { return c.Code < 300 && of(gr, verbs...)(c) }
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
	if e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" {
		a.lastWrite = e.Time
	}
	switch e.Verb {
	case "delete":
		a.deletions = append(a.deletions, deletion{e.Namespace + "/" + e.Name, cmp.Or(e.Sent, e.Time), e.Code < 300})
	case "create", "patch", "update":
		a.writes++
		if e.Code < 300 {
			a.patched[e.Namespace+"/"+e.Name]++
		}
	}
}

// busyUntil is when the daemons wrote a Work last, or tried to.
func (a *audit) busyUntil() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lastWrite
}
