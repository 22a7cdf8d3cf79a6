package shared

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestWritesAreCounted judges by the audit log: one create per source and member, no
// writes after a restart, and none in dozens of syncs of everything.
func TestWritesAreCounted(t *testing.T) {
	ns := Isolate(t)
	const sources, resyncs = 50, 30
	members := []string{Push, Push2, Pull}
	d := StartDaemon(t)
	audit := AuditFromNow(t)
	for i := range sources {
		Create(t, ConfigMaps, ConfigMap(ns, fmt.Sprintf("page-%d", i), Push+","+Push2+","+Pull, "one"))
	}
	for i := range sources {
		WantInMembers(t, ns, fmt.Sprintf("page-%d", i), "one", members...)
	}
	if diff := cmp.Diff(map[string]int{"create works": sources * len(members)}, audit.Writes(t)); diff != "" {
		t.Errorf("writes of the daemon, -want +got:\n%s", diff)
	}

	Configure(t, Resources(t, "configmaps"))
	audit = AuditFromNow(t)
	versions := workGenerations(t, ns, sources)
	d.MustStop(t)
	d = StartDaemon(t)
	Eventually(t, "the syncs after a restart", AtLeastSyncs(d, sources))
	Eventually(t, "all sources to have been synced", settled(d))
	for i := range resyncs {
		SetConfiguration(t, Resources(t, "configmaps")+fmt.Sprintf("# resync %d\n", i))
		Eventually(t, "the resync", d.WantLogged(InForce, i+2))
	}
	Eventually(t, "the queue to be empty", d.WantMetric(QueueEmpty, 0))
	if writes := audit.Writes(t); len(writes) > 0 {
		t.Errorf("a restart and %d resyncs wrote %v", resyncs, writes)
	}
	if diff := cmp.Diff(versions, workGenerations(t, ns, sources)); diff != "" {
		t.Errorf("generations of the Works, -before +after:\n%s", diff)
	}
}

// workGenerations are the generations of the Works of a namespace's ConfigMaps, which
// count the writes of their specs, and a label of each.
func workGenerations(t *testing.T, namespace string, sources int) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, cluster := range []string{Push, Push2, Pull} {
		for i := range sources {
			name := ConfigMapWork(namespace, fmt.Sprintf("page-%d", i), cluster)
			work := MustWork(t, name)
			versions[name.String()] = fmt.Sprint(work.GetGeneration(), " ", work.GetLabels()[render.SourceIDLabel])
		}
	}
	return versions
}
