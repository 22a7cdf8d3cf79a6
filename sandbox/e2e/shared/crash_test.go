package shared

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/model"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// needed is how many writes life takes: 12 creations or updates and 6 deletions of Works, and two
// of a finalizer. There are more if Karmada writes the status of a Work between our read and our write, which then
// conflicts and is retried; their number varies between runs.
const needed = 20

// life is a scenario of everything that happens to sources: they are created, updated,
// retargeted, deleted and recreated, one of them in the foreground. The pages are overridden on one cluster, until their policy
// goes, and the replicas of the Deployment are divided. settled is called after each step.
func life(t *testing.T, f *FaultRow, ns string, settled func()) {
	t.Helper()
	page := func(i int) render.Identity {
		return render.Identity{Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprintf("page-%d", i)}
	}
	web := render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: "web"}
	divided := func(clusters string) *unstructured.Unstructured {
		u := overridable(ns, web.Name)
		u.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters, render.ReplicasAnnotation: "divide"})
		return u
	}
	for i := range 2 {
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprintf("page-%d", i), Push+","+Push2, "one"))
	}
	held := ConfigMap(ns, "held", Push, "one")
	SetAnnotation(render.DeletionAnnotation, "foreground")(held)
	Create(t, ConfigMaps, held)
	Create(t, Deployments, divided(Push+","+Push2))
	settled()
	f.Allow(render.Identity{Kind: "ConfigMap", Namespace: ns, Name: "held"}, Push)
	Remove(t, ConfigMaps, ns, "held")
	f.Allow(page(1), Push)
	Change(t, ConfigMaps, ns, "page-0", SetField("two", "data", "key"))
	f.Allow(web, Push, Push2)
	Change(t, ConfigMaps, ns, "page-1", SetAnnotation(render.ClustersAnnotation, Push2+","+Pull))
	Remove(t, Deployments, ns, web.Name)
	settled()
	Create(t, Deployments, divided(Pull))
	f.Allow(page(1), Push2, Pull)
	Change(t, ConfigMaps, ns, "page-1", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	Remove(t, OverridePolicies, ns, "pages")
	settled()
}

// overrideLife makes the policies that life needs, before a daemon runs: how many writes it takes
// does not depend on what the daemon sees first then.
func overrideLife(t *testing.T, ns string) {
	t.Helper()
	for name, p := range map[string]*model.Policy{
		"pages": {Kind: "ConfigMap", Labels: map[string]string{"stage": "edge"}, Clusters: []string{Push2}},
		"web":   {Kind: "Deployment", Labels: map[string]string{"stage": "edge"}},
	} {
		Create(t, OverridePolicies, Overriding(model.Key{Kind: "OverridePolicy", Namespace: ns, Name: name}, p))
	}
}

// outcomeOf is the content of each Work of a namespace's sources, by cluster and source: its
// value or its replicas, and its stage.
func outcomeOf(t *testing.T, ns string) map[string]string {
	t.Helper()
	contents := map[string]string{}
	for _, work := range WorksOf(t, ns) {
		manifest, err := ManifestOf(work)
		Must(t, err)
		cluster := strings.TrimPrefix(work.GetNamespace(), "karmada-es-")
		value, _, _ := unstructured.NestedString(manifest.Object, "data", "key")
		if replicas, isDivided, _ := unstructured.NestedInt64(manifest.Object, "spec", "replicas"); isDivided {
			value = fmt.Sprint(replicas)
		}
		contents[cluster+"/"+manifest.GetName()] = strings.TrimSpace(value + " " + manifest.GetLabels()["stage"])
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
	p.Witness(func(w fault.Write) bool {
		raise(&count, int64(w.Number))
		if w.Number != at.Number || w.Done != at.Done || crashed.Load() != nil {
			return true
		}
		now := time.Now()
		crashed.Store(&now)
		daemon.Kill()
		return false
	}, "works", "configmaps")
	overrideLife(t, ns)
	file := filepath.Join(t.TempDir(), "config.yaml")
	WriteFile(t, file, []byte(withBreaker(t, "deployments.apps")+HonorPolicies))
	daemon = Supervise(t, "--config", file, "--kubeconfig", p.Kubeconfig(), "--leader-elect=false", "--deletion-settle-period", "100ms")
	settle := func() {
		daemon.WantSources(t, ns, Deployments, OverridePolicies)
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
	if diff := cmp.Diff(map[string]string{Push + "/page-0": "two", Push2 + "/page-0": "two", Pull + "/web": "3 edge"}, want); diff != "" {
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
