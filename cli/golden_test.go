package cli

import (
	"errors"
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// unstable are the parts of the output of diff(1) that vary: the folder, and the times of files.
var unstable = regexp.MustCompile(`(?m)\S+/karmada-mirror-diff-\d+/|\t\d{4}-.*$`)

// configMapOf returns a ConfigMap as the API server has it.
func configMapOf(namespace, name string, annotations, labels map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"title": "Hello"}}}
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID("1")
	u.SetAnnotations(annotations)
	u.SetLabels(labels)
	return u
}

// reported returns the Work of a source for m1, with what Karmada reports of it.
func reported(t *testing.T, source *unstructured.Unstructured, applied metav1.ConditionStatus, message, health string) *unstructured.Unstructured {
	t.Helper()
	return reportedOn(t, "m1", source, applied, message, health)
}

func reportedOn(t *testing.T, cluster string, source *unstructured.Unstructured, applied metav1.ConditionStatus, message, health string) *unstructured.Unstructured {
	t.Helper()
	work := &unstructured.Unstructured{}
	if err := work.UnmarshalJSON(judge.NewSource(source.DeepCopy(), render.Wishes{}).Template.Work(cluster)); err != nil {
		t.Fatal(err)
	}
	work.Object["status"] = map[string]any{
		"conditions":       []any{map[string]any{"type": "Applied", "status": string(applied), "message": message}},
		"manifestStatuses": []any{map[string]any{"health": health}},
	}
	return work
}

// fleet is a server with a source in each state, in two namespaces.
func fleet(t *testing.T) map[string]any {
	t.Helper()
	asks := func(clusters string) map[string]string { return map[string]string{render.ClustersAnnotation: clusters} }
	page, taken, gone := configMapOf("shop", "page", asks("m1"), nil), configMapOf("shop", "taken", asks("m1"), nil), configMapOf("shop", "gone", asks("m1"), nil)
	claimed := configMapOf("shop", "claimed", map[string]string{
		render.ClustersAnnotation: "m1", policyv1alpha1.PropagationPolicyNamespaceAnnotation: "shop", policyv1alpha1.PropagationPolicyNameAnnotation: "pages",
	}, map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "x"})
	fresh, plain := configMapOf("team", "new", asks("m1,nowhere"), nil), configMapOf("team", "plain", nil, nil)

	paths := server()
	paths["/api/v1"] = serving("v1", namespaced("configmaps", "ConfigMap"), clusterWide("namespaces", "Namespace"), clusterWide("nodes", "Node"))
	var objects []any
	for _, u := range []*unstructured.Unstructured{claimed, page, taken, fresh, plain} {
		objects = append(objects, u.Object)
		paths[path.Join("/api/v1/namespaces", u.GetNamespace(), "configmaps", u.GetName())] = u.Object
	}
	paths["/api/v1/configmaps"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{}, "items": objects}
	var namespaces []any
	for _, name := range []string{"shop", "team"} {
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
		namespaces, paths["/api/v1/namespaces/"+name] = append(namespaces, namespace), namespace
	}
	paths["/api/v1/namespaces"] = map[string]any{"apiVersion": "v1", "kind": "NamespaceList", "metadata": map[string]any{}, "items": namespaces}
	paths["/api/v1/nodes/one"] = map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "one"}}
	var works []any
	for _, work := range []*unstructured.Unstructured{
		reported(t, page, metav1.ConditionTrue, "", "Healthy"),
		reported(t, taken, metav1.ConditionFalse, "Failed to apply all manifests (0/1): resource(kind=ConfigMap, shop/taken) already exists in the cluster m1", "Unknown"),
		reported(t, gone, metav1.ConditionTrue, "", "Healthy"),
	} {
		works = append(works, work.Object)
		paths[path.Join(workAPIPath, "namespaces", work.GetNamespace(), "works", work.GetName())] = work.Object
	}
	paths[worksPath].(map[string]any)["items"] = works
	return paths
}

// held is a server with Works whose deletion is held.
func held() map[string]any {
	work := func(namespace, name, cluster string, age time.Duration) any {
		id := render.Identity{Kind: "ConfigMap", Namespace: namespace, Name: name}
		hold := render.Hold{Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(-age), Resource: "configmaps", Because: "the source does not exist", Whole: true}
		return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": map[string]any{
			"name": id.WorkName(), "namespace": render.ExecutionNamespace(cluster), "labels": map[string]any{render.HeldKey: "true"},
			"annotations": map[string]any{render.HeldKey: hold.String(), render.SourceAnnotation: id.String()},
		}}
	}
	paths := server()
	paths[worksPath] = map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{}, "items": []any{
		work("shop", "page", "m1", 0), work("shop", "page", "m2", time.Minute), work("shop", "other", "m1", 0), work("team", "page", "m1", time.Hour),
	}}
	return paths
}

// rollout is a server with a Deployment in two clusters, one of which lags behind.
func rollout(t *testing.T) map[string]any {
	t.Helper()
	source := webDeployment("m1,m2")
	done := withStatus(reported(t, source, metav1.ConditionTrue, "", "Healthy"), map[string]any{"replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3)})
	lags := withStatus(reportedOn(t, "m2", source, metav1.ConditionTrue, "", "Unhealthy"), map[string]any{"replicas": int64(3), "readyReplicas": int64(1)})
	paths := deploymentServer(source, false, done, lags)
	clusters := paths[clustersPath].(map[string]any)
	clusters["items"] = append(clusters["items"].([]any), map[string]any{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": "m2"}})
	return paths
}

// TestGolden compares what commands print with files. Run it with -update after an intended
// change, and read the diff.
func TestGolden(t *testing.T) {
	cases := map[string]struct {
		paths   map[string]any
		command string
		code    int
	}{
		"status-all":           {fleet(t), "status -A", 0},
		"status-all-wide":      {fleet(t), "status -A -o wide", 0},
		"status-summary":       {fleet(t), "status -A --summary", 0},
		"status-matrix":        {fleet(t), "status configmaps,namespaces -A -o matrix", 0},
		"status-rollout":       {rollout(t), "status deployments/web -n shop", 0},
		"status-rollout-json":  {rollout(t), "status deployments/web -n shop -o json", 0},
		"status-attention":     {rollout(t), "status deployments/web -n shop --needs-attention", 0},
		"status-rollout-m2":    {rollout(t), "status deployments/web -n shop --member m2", 0},
		"diff":                 {fleet(t), "diff -A", exitDiffers},
		"explain-never":        {fleet(t), "explain nodes/one namespaces/shop", 0},
		"explain-claimed":      {fleet(t), "explain configmaps/claimed -n shop", 0},
		"explain-claimed-json": {fleet(t), "explain configmaps/claimed -n shop -o json", 0},
		"deletions":            {held(), "deletions list", 0},
		"deletions-works":      {held(), "deletions list --works", 0},
		"deletions-json":       {held(), "deletions list -o json -n team", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			arguments := append(strings.Fields(c.command), "--kubeconfig", serve(t, c.paths, nil), "--cache-dir", t.TempDir())
			output, err := execute(arguments...)
			code := 0
			if exit := (*exitError)(nil); errors.As(err, &exit) {
				code = exit.code
			}
			if code != c.code || err != nil && err.Error() != "" {
				t.Fatalf("exit code %d, %v\n%s", code, err, output)
			}
			wantGolden(t, name, unstable.ReplaceAllString(output, ""))
		})
	}
}

func wantGolden(t *testing.T, name, output string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(output), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), output); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}
