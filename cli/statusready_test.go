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
		s := readWorkStatus(withStatus(reported(t, source, metav1.ConditionTrue, "", "Unhealthy"), map[string]any{"replicas": pods, "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods}))
		if got := readyCell(s.Ready, s.Wanted); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	rolling := readWorkStatus(withStatus(reported(t, source, metav1.ConditionTrue, "", "Unhealthy"), map[string]any{"replicas": int64(3), "updatedReplicas": int64(1), "readyReplicas": int64(3), "availableReplicas": int64(3)}))
	if got := readyCell(rolling.Ready, rolling.Wanted); got != "3/3" {
		t.Errorf("no Pod is missing: %q", got)
	}
	idle := readWorkStatus(withStatus(reported(t, source, metav1.ConditionTrue, "", "Healthy"), map[string]any{"observedGeneration": int64(1)}))
	if got := readyCell(idle.Ready, idle.Wanted); got != "0/0" {
		t.Errorf("scaled to zero: %q", got)
	}
}

// TestAils: what changes all the time because it is down needs attention as much as what stands still.
func TestAils(t *testing.T) {
	type fields = map[string]any
	now := time.Now()
	deployment := func(available string, since time.Duration) fields {
		return fields{"replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3), "conditions": []any{
			fields{"type": "Available", "status": available, "lastTransitionTime": now.Add(-since).UTC().Format(time.RFC3339)},
		}}
	}
	for name, tc := range map[string]struct {
		reason   string
		health   string
		status   fields
		reported time.Duration // ago
		want     bool
	}{
		"Crashing":    {"a Pod comes and goes", "Unhealthy", deployment("False", time.Hour), time.Second, true},
		"Down":        {"it is down since a moment ago", "Unhealthy", deployment("False", 10*time.Second), time.Second, false},
		"DownForLong": {"nothing has changed since", "Unhealthy", deployment("False", 24*time.Hour), 24 * time.Hour, true},
		"NoCondition": {"a kind without conditions", "Unhealthy", fields{"replicas": int64(3)}, time.Second, false},
		"RollingOut":  {"enough of it stays available", "Unhealthy", deployment("True", time.Hour), time.Second, false},
		"Stuck":       {"it goes no further", "Unhealthy", deployment("True", time.Hour), 2 * time.Minute, true},
		"Healthy":     {"all is well", "Healthy", deployment("True", time.Hour), time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			work := withStatus(reported(t, webDeployment("m1"), metav1.ConditionTrue, "", tc.health), tc.status)
			work.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "b", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: now.Add(-tc.reported)}, Subresource: "status"}})
			if got := readWorkStatus(work).ails(now); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
