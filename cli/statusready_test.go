package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestReadiness compares with what kubectl prints in the member.
func TestReadiness(t *testing.T) {
	type fields = map[string]any
	containers := []any{fields{"name": "web"}, fields{"name": "log"}}
	is := func(name string, ready bool) any { return fields{"name": name, "ready": ready} }
	cases := map[string]struct {
		reason           string
		apiVersion, kind string
		spec, status     fields
		want             string // empty if it is not known
	}{
		"Deployment":     {"three are wanted", "apps/v1", "Deployment", fields{"replicas": int64(3)}, fields{"replicas": int64(4), "readyReplicas": int64(2)}, "2/3"},
		"NoneReady":      {"a zero is omitted", "apps/v1", "Deployment", fields{"replicas": int64(3)}, fields{"replicas": int64(3)}, "0/3"},
		"ToZero":         {"a Deployment may want nothing", "apps/v1", "Deployment", fields{"replicas": int64(0)}, fields{"observedGeneration": int64(1)}, "0/0"},
		"Unreported":     {"unknown is not zero", "apps/v1", "Deployment", fields{"replicas": int64(3)}, nil, ""},
		"StatefulSet":    {"a StatefulSet without replicas has one", "apps/v1", "StatefulSet", fields{}, fields{"readyReplicas": int64(1)}, "1/1"},
		"ReplicaSet":     {"a ReplicaSet is like a Deployment", "apps/v1", "ReplicaSet", fields{"replicas": int64(2)}, fields{"readyReplicas": int64(2)}, "2/2"},
		"DaemonSet":      {"nodes decide how many there are to be", "apps/v1", "DaemonSet", fields{}, fields{"desiredNumberScheduled": int64(5), "numberReady": int64(4)}, "4/5"},
		"Job":            {"completions count", "batch/v1", "Job", fields{"completions": int64(3)}, fields{"succeeded": int64(2), "failed": int64(1)}, "2/3"},
		"JobOfOne":       {"the default is 1", "batch/v1", "Job", fields{"parallelism": int64(4)}, fields{"active": int64(4)}, "0/1"},
		"Pod":            {"containers count", "v1", "Pod", fields{"containers": containers}, fields{"containerStatuses": []any{is("web", true), is("log", false)}}, "1/2"},
		"PendingPod":     {"no container has started", "v1", "Pod", fields{"containers": containers}, fields{"phase": "Pending"}, "0/2"},
		"Sidecar":        {"so do sidecars, and no other init containers", "v1", "Pod", fields{"containers": containers, "initContainers": []any{fields{"name": "proxy", "restartPolicy": "Always"}, fields{"name": "init"}}}, fields{"containerStatuses": []any{is("web", true), is("log", true)}, "initContainerStatuses": []any{is("proxy", true), is("init", true)}}, "3/3"},
		"BadPod":         {"a member may report anything", "v1", "Pod", fields{"containers": containers}, fields{"containerStatuses": "all"}, ""},
		"Service":        {"it runs no Pods", "v1", "Service", fields{}, fields{"loadBalancer": fields{}}, ""},
		"ForeignJob":     {"another API has a kind of that name", "batch.volcano.sh/v1alpha1", "Job", fields{"completions": int64(3)}, fields{"succeeded": int64(2)}, ""},
		"BadCount":       {"a text is not a count", "apps/v1", "Deployment", fields{"replicas": int64(3)}, fields{"readyReplicas": "2"}, "0/3"},
		"OlderThanAPIv1": {"the version makes no difference", "apps/v1beta2", "Deployment", fields{"replicas": int64(3)}, fields{"readyReplicas": int64(3)}, "3/3"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source := configMapOf("shop", "web", map[string]string{render.ClustersAnnotation: "m1"}, nil)
			source.SetAPIVersion(c.apiVersion)
			source.SetKind(c.kind)
			source.Object["spec"] = c.spec
			work := reported(t, source, metav1.ConditionTrue, "", "Healthy")
			if c.status != nil {
				withStatus(work, c.status)
			}
			s := readWorkStatus(work)
			if got := readyCell(s.Ready, s.Wanted); got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

// TestReadinessRetained: where the member sets the number of replicas, that of the manifest means
// nothing.
func TestReadinessRetained(t *testing.T) {
	source := webDeployment("m1")
	source.SetAnnotations(map[string]string{render.ClustersAnnotation: "m1", render.ReplicasAnnotation: "retain"})
	work := withStatus(reported(t, source, metav1.ConditionTrue, "", "Healthy"), map[string]any{"replicas": int64(10), "readyReplicas": int64(9)})
	s := readWorkStatus(work)
	if got := readyCell(s.Ready, s.Wanted); got != "9/10" {
		t.Errorf("%q", got)
	}
	for pods, want := range map[int64]string{0: "0/?", 2: "2/?"} { // a quota allows no more: no report says how many the autoscaler wants
		s := readWorkStatus(withStatus(reported(t, source, metav1.ConditionTrue, "", "Unhealthy"), map[string]any{"replicas": pods, "readyReplicas": pods}))
		if got := readyCell(s.Ready, s.Wanted); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	idle := readWorkStatus(withStatus(reported(t, source, metav1.ConditionTrue, "", "Healthy"), map[string]any{"observedGeneration": int64(1)}))
	if got := readyCell(idle.Ready, idle.Wanted); got != "0/0" {
		t.Errorf("scaled to zero: %q", got)
	}
}

// TestAils: what changes all the time because it is down needs attention as much as what stands still.
func TestAils(t *testing.T) {
	type fields = map[string]any
	available := func(status string) []any { return []any{fields{"type": "Available", "status": status}} }
	deployment := func(ready int64, conditions []any) fields {
		return fields{"replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": ready, "availableReplicas": ready, "conditions": conditions}
	}
	for name, tc := range map[string]struct {
		reason            string
		health            string
		status            fields
		written, reported time.Duration // ago
		want              bool
	}{
		"Crashing":   {"a Pod comes and goes", "Unhealthy", deployment(2, available("False")), time.Hour, time.Second, true},
		"NoneReady":  {"a kind without conditions", "Unhealthy", deployment(0, nil), time.Hour, time.Second, true},
		"New":        {"its Pods start", "Unhealthy", deployment(0, available("False")), 30 * time.Second, time.Second, false},
		"RollingOut": {"enough of it stays available", "Unhealthy", deployment(3, available("True")), time.Hour, time.Second, false},
		"Stuck":      {"it goes no further", "Unhealthy", deployment(3, available("True")), time.Hour, 2 * time.Minute, true},
		"Healthy":    {"all is well", "Healthy", deployment(3, available("True")), time.Hour, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			source, now := webDeployment("m1"), time.Now()
			work := withStatus(reported(t, source, metav1.ConditionTrue, "", tc.health), tc.status)
			work.SetManagedFields([]metav1.ManagedFieldsEntry{
				{Manager: "a", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: now.Add(-tc.written)}},
				{Manager: "b", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: now.Add(-tc.reported)}, Subresource: "status"},
			})
			if got := readWorkStatus(work).ails(now); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
