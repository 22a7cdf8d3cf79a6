package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestWritesAreCounted judges by the audit log: one create per source and
// member, nothing on a restart, and nothing on a hundred syncs of everything.
func TestWritesAreCounted(t *testing.T) {
	const sources = 100
	members := []string{push, push2, pull}
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	audit := auditFromNow(t)
	for i := range sources {
		create(t, configMaps, configMap(ns, fmt.Sprintf("page-%d", i), push+","+push2+","+pull, "one"))
	}
	for i := range sources {
		wantInMembers(t, ns, fmt.Sprintf("page-%d", i), "one", members...)
	}
	if diff := cmp.Diff(map[string]int{"create works": sources * len(members)}, audit.writes(t)); diff != "" {
		t.Errorf("writes of the daemon, -want +got:\n%s", diff)
	}

	configure(t, resources("configmaps"))
	audit = auditFromNow(t)
	versions := workGenerations(t, ns, sources)
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t)
	eventually(t, "the syncs after a restart", atLeastSyncs(d, sources))
	for i := range 100 {
		setConfiguration(t, resources("configmaps")+fmt.Sprintf("# resync %d\n", i))
		eventually(t, "the resync", func(context.Context) error {
			if got := d.logged("configuration in force"); got < i+2 {
				return fmt.Errorf("%d configurations so far", got)
			}
			return nil
		})
	}
	eventually(t, "the queue to be empty", d.wantMetric(`workqueue_depth{name="mirror"}`, "0"))
	if writes := audit.writes(t); len(writes) > 0 {
		t.Errorf("a restart and 100 resyncs wrote %v", writes)
	}
	if diff := cmp.Diff(versions, workGenerations(t, ns, sources)); diff != "" {
		t.Errorf("generations of the Works, -before +after:\n%s", diff)
	}
}

func atLeastSyncs(d *daemon, want int) func(context.Context) error {
	return func(context.Context) error {
		got, err := d.reading(`karmada_mirror_sync_duration_seconds_count{result="success"}`)
		if err == nil && int(got) < want {
			err = fmt.Errorf("%g syncs so far", got)
		}
		return err
	}
}

// workGenerations tell how often the specs of the Works of a namespace's ConfigMaps
// were written, and the label of each.
func workGenerations(t *testing.T, namespace string, sources int) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, cluster := range []string{push, push2, pull} {
		for i := range sources {
			name := configMapWork(namespace, fmt.Sprintf("page-%d", i), cluster)
			work := mustWork(t, name)
			versions[name.String()] = fmt.Sprint(work.GetGeneration(), " ", work.GetLabels()[render.SourceIDLabel])
		}
	}
	return versions
}
