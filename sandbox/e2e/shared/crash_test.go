package shared

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// needed is how many writes life takes: 10 creations or updates and 5 deletions. There are
// more if Karmada writes the status of a Work between our read and our write, which then
// conflicts and is retried; their number varies between runs.
const needed = 15

// life is a scenario of everything that happens to sources: they are created, updated,
// retargeted, deleted and recreated. settled is called after each step.
func life(t *testing.T, f *FaultRow, ns string, settled func()) {
	t.Helper()
	page := func(i int) render.Identity {
		return render.Identity{Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprintf("page-%d", i)}
	}
	for i := range 3 {
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprintf("page-%d", i), Push+","+Push2, "one"))
	}
	settled()
	f.Allow(page(1), Push)
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	f.Allow(page(2), Push, Push2)
	Change(t, ConfigMaps, ns, "page-1", SetAnnotation(render.ClustersAnnotation, Push2+","+Pull))
	Remove(t, ConfigMaps, ns, "page-2")
	settled()
	Create(t, ConfigMaps, ConfigMap(ns, "page-2", Pull, "three"))
	f.Allow(page(1), Push2, Pull)
	Change(t, ConfigMaps, ns, "page-1", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	settled()
}

// outcomeOf is the content of each Work of a namespace's sources, by cluster and source.
func outcomeOf(t *testing.T, ns string) map[string]string {
	t.Helper()
	contents := map[string]string{}
	for _, work := range WorksOf(t, ns) {
		manifest, err := ManifestOf(work)
		Must(t, err)
		cluster := strings.TrimPrefix(work.GetNamespace(), "karmada-es-")
		contents[cluster+"/"+manifest.GetName()], _, _ = unstructured.NestedString(manifest.Object, "data", "key")
	}
	return contents
}

// crash runs the scenario and kills the daemon at one write. It returns the number of
// writes, the final content, and the time from the crash until everything was as it should
// be at that point.
func crash(t *testing.T, at fault.Write) (writes int64, contents map[string]string, took time.Duration) {
	t.Helper()
	ns := Isolate(t)
	p := StartProxy(t)
	var daemon *Supervised
	f := NewFault(t, "kill -9 at a write", ns)
	defer f.WantNoDeletes()
	var count atomic.Int64 // the writes come from several connections
	var crashed atomic.Pointer[time.Time]
	p.Witness("works", func(w fault.Write) bool {
		raise(&count, int64(w.Number))
		if w.Number != at.Number || w.Done != at.Done || crashed.Load() != nil {
			return true
		}
		now := time.Now()
		crashed.Store(&now)
		daemon.Kill()
		return false
	})
	daemon = Supervise(t, append(behind(t, p), "--deletion-settle-period", "100ms")...)
	settle := func() {
		daemon.WantSources(t, ns)
		if when := crashed.Load(); when != nil && took == 0 {
			took = time.Since(*when)
		}
	}
	life(t, f, ns, settle)
	if at.Number > 0 {
		// The awaited effect of the last writes is visible before their responses.
		Eventually(t, "the crash", func(context.Context) error {
			if crashed.Load() == nil {
				return errors.New("not yet")
			}
			return nil
		})
		if daemon.Starts == 1 {
			<-daemon.Current.Load().Ended()
		}
		settle()
		if daemon.Starts != 2 {
			t.Errorf("the daemon was started %d times", daemon.Starts)
		}
	}
	return count.Load(), outcomeOf(t, ns), took
}

// raise raises n to at least to.
func raise(n *atomic.Int64, to int64) {
	for now := n.Load(); now < to && !n.CompareAndSwap(now, to); now = n.Load() {
	}
}

// TestCrashAtEveryWrite kills the daemon just before and just after each of its writes.
func TestCrashAtEveryWrite(t *testing.T) {
	var total int64
	var want map[string]string
	t.Run("First", func(t *testing.T) { // ends when its parallel subtests have ended
		t.Run("Undisturbed", func(t *testing.T) { total, want, _ = crash(t, fault.Write{}) })
	})
	if diff := cmp.Diff(map[string]string{Push + "/page-0": "two", Push2 + "/page-0": "two", Pull + "/page-2": "three"}, want); diff != "" {
		t.Fatalf("the undisturbed run, -want +got:\n%s", diff)
	}
	if total < needed {
		t.Fatalf("the undisturbed run made %d writes: the scenario needs %d", total, needed)
	}
	var longest atomic.Int64
	t.Run("Disturbed", func(t *testing.T) {
		for k := 1; k <= needed; k += crashEvery {
			for _, done := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d-%t", k, done), func(t *testing.T) {
					_, got, took := crash(t, fault.Write{Number: k, Done: done})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("the outcome, -undisturbed +disturbed:\n%s", diff)
					}
					raise(&longest, int64(took))
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	AddRow(Row{
		Fault: fmt.Sprintf("kill -9 just before and just after each of %d writes", (needed+crashEvery-1)/crashEvery), Converged: time.Duration(longest.Load()),
		Note: fmt.Sprintf("%d runs, each with the outcome of an undisturbed one; the longest of them", 2*((needed+crashEvery-1)/crashEvery)),
	})
}
