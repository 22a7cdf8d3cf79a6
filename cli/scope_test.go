package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/purge"
	"github.com/karmada-target/karmada-mirror/render"
)

// heldIn is the answer to a list of held Works, one for each cluster.
func heldIn(since time.Time, clusters ...string) any {
	hold, items := render.Hold{Since: since, Resource: "configmaps", Because: "this is a test"}, []any{}
	for _, cluster := range clusters {
		items = append(items, map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": map[string]any{
			"name": render.Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}.WorkName(), "namespace": render.ExecutionNamespace(cluster), "labels": map[string]any{render.HeldKey: "true"},
			"annotations": map[string]any{render.HeldKey: hold.String(), render.SourceAnnotation: "ConfigMap/shop/page"},
		}})
	}
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{}, "items": items}
}

// answers are the bodies of the answers to one request after another.
type answers []any

func (a *answers) MarshalJSON() ([]byte, error) {
	defer func() { *a = (*a)[1:] }()
	return json.Marshal((*a)[0])
}

// TestApproveOnlyWhatWasSeen: the daemon's clock may be behind, so that what becomes held later has the same date.
func TestApproveOnlyWhatWasSeen(t *testing.T) {
	since := time.Now().Add(-time.Minute)
	paths := server()
	paths[worksPath] = &answers{heldIn(since, "m1"), heldIn(since, "m1", "prod")}
	output, err := execute("deletions", "approve", "--yes", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "more deletions have become held meanwhile") {
		t.Errorf("approved what was not seen: %v, %s", err, output)
	}
}

// TestEmptyFlags proves that an unset variable in a script does not select everything.
func TestEmptyFlags(t *testing.T) {
	paths := server()
	paths[worksPath] = heldIn(time.Now(), "m1", "prod")
	from := serve(t, paths, nil)
	approve := func(more ...string) (string, error) {
		return execute(append([]string{"deletions", "approve", "--dry-run", "--kubeconfig", from, "--cache-dir", t.TempDir()}, more...)...)
	}
	if output, err := approve("--member", "m1"); err != nil || strings.Contains(output, "prod") || !strings.Contains(output, "1 deletions") {
		t.Errorf("approving one cluster: %v, %s", err, output)
	}
	for _, flag := range []string{"--member=", "--resource=", "--namespace="} {
		if output, err := approve(flag); err == nil || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("%s is accepted: %s", flag, output)
		}
	}
	for _, flag := range []string{"--filename=", "--kustomize=", "--selector="} {
		output, err := execute("diff", flag, "-n", "shop", "--kubeconfig", from, "--cache-dir", t.TempDir())
		if exit := (*exitError)(nil); !errors.As(err, &exit) || exit.code != exitTrouble || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("diff %s compares everything: %v\n%s", flag, err, output)
		}
	}
}

// TestHeldOfAnUnservedKind: the definition of what is held is gone, so that only its full name says what it is.
func TestHeldOfAnUnservedKind(t *testing.T) {
	paths := server()
	paths[worksPath] = heldIn(time.Now(), "m1", "prod")
	paths["/api/v1"] = serving("v1", namespaced("secrets", "Secret"))
	from := serve(t, paths, nil)
	for resource, want := range map[string]string{
		"configmaps": "2", "secrets": "o deletion is held", "ConfigMap": "deletions are held of configmaps: give the full name", "cm": "deletions are held of configmaps: give the full name", "widgets.example.io": "o deletion is held",
	} {
		for _, command := range []string{"list", "approve"} {
			if output := told(execute("deletions", command, "--resource", resource, "--kubeconfig", from, "--cache-dir", t.TempDir())); !strings.Contains(output, want) {
				t.Errorf("%s --resource %s: no %q:\n%s", command, resource, want, output)
			}
		}
	}
}

// TestHeldOfAnUnservedGroup: the kind, or a name with a version, is not what the marks say.
func TestHeldOfAnUnservedGroup(t *testing.T) {
	paths := server()
	held := heldIn(time.Now(), "m1").(map[string]any)
	id, hold := render.Identity{Group: "example.io", Kind: "Widget", Namespace: "shop", Name: "page"}, render.Hold{Since: time.Now(), Resource: "widgets.example.io", Because: "this is a test"}
	metadata := held["items"].([]any)[0].(map[string]any)["metadata"].(map[string]any)
	metadata["name"], metadata["annotations"] = id.WorkName(), map[string]any{render.HeldKey: hold.String(), render.SourceAnnotation: id.String()}
	paths[worksPath] = held
	from := serve(t, paths, nil)
	for resource, want := range map[string]string{
		"widgets.example.io": "widgets.example.io", "gadgets.example.org": "No deletion is held.",
		"widget.example.io": "give the full name", "widgets.v1.example.io": "give the full name", "widget": "give the full name",
	} {
		if output := told(execute("deletions", "list", "--resource", resource, "--kubeconfig", from, "--cache-dir", t.TempDir())); !strings.Contains(output, want) {
			t.Errorf("%s: no %q:\n%s", resource, want, output)
		}
	}
}

// TestUnknownIsNotUnserved: what is served in some group is not known for now.
func TestUnknownIsNotUnserved(t *testing.T) {
	paths := server()
	paths["/apis"] = metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{{
		Name: "example.io", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "example.io/v1", Version: "v1"}}, PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "example.io/v1", Version: "v1"},
	}}}
	paths["/apis/example.io/v1"] = refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	paths["/api/v1/namespaces/karmada-system/configmaps"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
	from := serve(t, paths, nil)
	for resource, isUnknown := range map[string]bool{"widgets.example.io": true, "widgets": true, "widgets.example.org": false} {
		output := told(execute("purge", "--resource", resource, "--finalizers", "--dry-run", "--kubeconfig", from, "--cache-dir", t.TempDir()))
		if strings.Contains(output, "retrieve the complete list of server APIs: example.io/v1") != isUnknown {
			t.Errorf("%s:\n%s", resource, output)
		}
	}
}

// TestApproveIsForOneDaemon: what another daemon holds is not said to be approved.
func TestApproveIsForOneDaemon(t *testing.T) {
	for name, c := range map[string]struct{ resources, approved, refused string }{
		"All":     {"{resource: configmaps}", "would be approved: 4 deletions", ""},
		"Some":    {"{resource: configmaps, namespaces: [team]}", "would be approved: 1 deletions of configmaps in namespace team in m1", "3 deletions are held by another daemon"},
		"None":    {"{group: apps, resource: deployments}", "", "4 deletions are held by another daemon: they are not in the configuration of ConfigMap \"karmada-system/karmada-mirror\". To approve them, give --config-map"},
		"Mistake": {"nonsense", "would be approved: 4 deletions", ""}, // the last good one is in force
	} {
		paths := held()
		paths[configMapPath].(map[string]any)["data"] = map[string]any{config.Key: configHead + "resources: [" + c.resources + "]\n"}
		output, err := execute("deletions", "approve", "--dry-run", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())
		if err != nil {
			output += err.Error()
		}
		if (err != nil) != (c.approved == "") || !strings.Contains(output, c.approved) || !strings.Contains(output, c.refused) {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
}

// TestPurgeReadsAllParts proves that purge keeps what another daemon mirrors, whichever key
// configures it.
func TestPurgeReadsAllParts(t *testing.T) {
	configMap := func(name string, data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-system", Name: name}, Data: data}
	}
	const jobs = configHead + "resources: [{group: batch, resource: jobs}]\n"
	cases := map[string]struct {
		reason string
		data   map[string]string
		known  int // configurations
		fails  bool
	}{
		"Own":     {"a second part counts", map[string]string{config.Key: configHead, "own.yaml": jobs}, 2, false},
		"Lost":    {"a daemon whose config.yaml is lost continues with the last good one", map[string]string{"own.yaml": jobs}, 0, true},
		"Mistake": {"an unreadable part may name it", map[string]string{config.Key: configHead, "own.yaml": jobs + "x: y\n"}, 0, true},
		"Other":   {"another application's ConfigMap is not a configuration", map[string]string{"app.yaml": "a: b"}, 1, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &purgeCommand{configMap: "karmada-system/karmada-mirror", leftovers: purge.Leftovers{Resource: schema.GroupResource{Group: "batch", Resource: "jobs"}}}
			p.client = fake.NewClientset(configMap("karmada-mirror", map[string]string{config.Key: configHead}), configMap("team-b", tc.data))
			err := p.configure(t.Context())
			if (err != nil) != tc.fails || err == nil && len(p.leftovers.Configurations) != tc.known {
				t.Errorf("%s: %d configurations, error %v", tc.reason, len(p.leftovers.Configurations), err)
			}
		})
	}
}

// TestPurgeGuardsEachName proves that purge recognizes what is configured by each of its names.
func TestPurgeGuardsEachName(t *testing.T) {
	for _, name := range []string{"configmaps", "configmap", "ConfigMap"} {
		_, err := execute("purge", "--resource", name, "--yes", "--kubeconfig", serve(t, server(), nil), "--cache-dir", t.TempDir())
		if err == nil || !strings.Contains(err.Error(), "configmaps is in the configuration, for all namespaces") {
			t.Errorf("purge --resource %s: %v", name, err)
		}
	}
}
