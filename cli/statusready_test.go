package cli

import (
	"testing"

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
}
