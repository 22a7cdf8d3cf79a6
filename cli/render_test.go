package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestRenderNamespace renders manifests without a namespace: each Work must be the one that the
// daemon would write, or the user must know that it may not be.
func TestRenderNamespace(t *testing.T) {
	const (
		configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: page}}"
		placed    = "{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: shop}}"
		class     = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: page}}"
		widget    = "{apiVersion: example.io/v1, kind: Widget, metadata: {name: page}}"
	)
	cases := map[string]struct {
		reason, manifest string
		arguments        []string
		source           string // in the Work; empty if nothing is rendered
		says             string
	}{
		"Given":         {"the manifest has none", configMap, []string{"-n", "shop"}, "ConfigMap/shop/page", ""},
		"Own":           {"it has its own", placed, []string{"-n", "other"}, "ConfigMap/shop/page", ""},
		"OwnAlone":      {"none is needed", placed, nil, "ConfigMap/shop/page", ""},
		"Missing":       {"ConfigMaps have one", configMap, nil, "", `cannot render ConfigMap "page": it has no namespace: give --namespace`},
		"Empty":         {"a variable was empty", configMap, []string{"--namespace="}, "", "give --namespace"},
		"ClusterScoped": {"PriorityClasses have none", class, []string{"-n", "shop"}, "PriorityClass.scheduling.k8s.io/page", ""},
		"ClassAlone":    {"and need none", class, nil, "PriorityClass.scheduling.k8s.io/page", ""},
		"Unknown":       {"a custom resource may be either", widget, nil, "Widget.example.io/page", `warning: Widget.example.io "page" has no namespace`},
		"UnknownGiven":  {"the user knows", widget, []string{"-n", "shop"}, "Widget.example.io/shop/page", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(file, []byte(c.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			output, err := execute(append([]string{"render", "-f", file, "--clusters", "m1"}, c.arguments...)...)
			text := told(output, err)
			if (err == nil) != (c.source != "") || !strings.Contains(text, c.says) || c.says == "" && strings.Contains(text, "warning") {
				t.Errorf("%s: %s", c.reason, text)
			}
			if c.source != "" && !strings.Contains(text, "karmada.target/source: "+c.source+"\n") {
				t.Errorf("%s: the Work is not of %s:\n%s", c.reason, c.source, text)
			}
		})
	}
}

// TestRenderWaves: what is rendered is what the clusters will have, whatever the order.
func TestRenderWaves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	manifest := `{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: shop, annotations: {karmada.target/waves: "m1;*"}}}`
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := execute("render", "-f", file, "--clusters", "m1,m2,m3")
	if n := strings.Count(output, "kind: Work\n"); err != nil || n != 3 {
		t.Errorf("%d Works, %v:\n%s", n, err, output)
	}
}

// TestClusterScoped compares the list with what client-go knows.
func TestClusterScoped(t *testing.T) {
	mapper := testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		// Reviews are answered, and not stored.
		if strings.HasSuffix(gvk.Kind, "Review") {
			continue
		}
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot && !slices.Contains(clusterScoped[gvk.Group], gvk.Kind) {
			t.Errorf("%s is not in the list", gvk.GroupKind())
		}
	}
	for group, kinds := range clusterScoped {
		for _, kind := range kinds {
			if gk := (schema.GroupKind{Group: group, Kind: kind}); scheme.Scheme.IsGroupRegistered(group) && len(scheme.Scheme.VersionsForGroupKind(gk)) == 0 {
				t.Errorf("there is no %s", gk)
			}
		}
	}
}

// rendered renders manifests, and returns the Works by source and cluster, their manifests, and what is said.
func rendered(t *testing.T, arguments ...string) (works, manifests map[string]*unstructured.Unstructured, says string) {
	t.Helper()
	var out, errOut bytes.Buffer
	root := New()
	root.SetArgs(append([]string{"render", "-o", "json"}, arguments...))
	root.SetOut(&out)
	root.SetErr(&errOut)
	err := root.Execute()
	works, manifests = map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
	decoder := json.NewDecoder(&out)
	for decoder.More() {
		work := &unstructured.Unstructured{}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		if err := work.UnmarshalJSON(raw); err != nil { // which keeps integers
			t.Fatal(err)
		}
		cluster, _ := render.ClusterOf(work.GetNamespace())
		manifest, err := render.ManifestOf(work.Object)
		if err != nil {
			t.Fatal(err)
		}
		of := work.GetAnnotations()[render.SourceAnnotation] + " " + cluster
		works[of], manifests[of] = work, &unstructured.Unstructured{Object: manifest}
	}
	return works, manifests, told(errOut.String(), err)
}

// field returns an input that was made from a public bug report.
func field(name string) string {
	return filepath.Join("..", "render", "testdata", "field", name+".yaml")
}

// TestRenderFolder renders what stands in one folder: what the daemon would write, and nothing else.
func TestRenderFolder(t *testing.T) {
	works, manifests, says := rendered(t, "-f", field("51-render-whole-folder"), "--clusters", "member1,member2")
	if len(works) != 2 {
		t.Errorf("%d Works", len(works))
	}
	for cluster, isSuspended := range map[string]bool{"member1": false, "member2": true} {
		of := "Deployment.apps/shop/web " + cluster
		if works[of] == nil {
			t.Fatalf("no %s:\n%s", of, says)
		}
		n, _, _ := unstructured.NestedFieldNoCopy(manifests[of].Object, "spec", "replicas")
		variable, _, _ := unstructured.NestedString(manifests[of].Object, "spec", "template", "metadata", "annotations", "example.com/cluster")
		suspended, _, _ := unstructured.NestedBool(works[of].Object, "spec", "suspendDispatching")
		if fmt.Sprint(n) != "2" || variable != cluster || suspended != isSuspended || manifests[of].GetLabels()["tier"] != "front" {
			t.Errorf("%s: %v replicas, variable %q, suspended %v, labels %v", cluster, n, variable, suspended, manifests[of].GetLabels())
		}
	}
	for _, of := range []string{"Namespace/shop", "OverridePolicy.policy.karmada.io/shop/web", "Lease.coordination.k8s.io/shop/operator"} {
		if !strings.Contains(says, "not mirrored: "+of+": ") {
			t.Errorf("%s is not said to stay:\n%s", of, says)
		}
	}
	regions := filepath.Join(t.TempDir(), "clusters.yaml")
	if err := os.WriteFile(regions, []byte("{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: member1}, spec: {region: europe}}\n---\n{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: member3}, spec: {region: asia}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if works, _, says := rendered(t, "-f", "../examples/differences", "--cluster-file", regions); len(works) != 8 || !strings.Contains(says, "a kustomization") {
		t.Errorf("%d Works of examples/differences:\n%s", len(works), says)
	}
	if works, _, says := rendered(t, "-k", "../examples/differences", "--cluster-file", regions); len(works) != 8 || strings.Contains(says, "a kustomization") {
		t.Errorf("%d Works of -k examples/differences:\n%s", len(works), says)
	}
}

// TestRenderField renders what public bug reports show: each file names its reports, and what is right.
func TestRenderField(t *testing.T) {
	cases := map[string]struct {
		arguments []string
		want      string // lines that are among the Works, or in what is said
		fails     bool
	}{
		"22-reserved-namespace":          {nil, `ReservedNamespace: objects in namespace "kube-prometheus-stack" are never mirrored`, true},
		"40-numbers":                     {nil, `"exact":9007199254740993,"max":9223372036854775807,"min":-9223372036854775808,"one":1,"small":1e-7,"thousand":1000`, false},
		"42-override-missing-parent":     {[]string{"--policies", field("42-override-missing-parent.policies")}, "cannot apply OverridePolicy/page: overrideRules[0].overriders.plaintext[0]: cannot \"add\" at \"/data/color\"", true},
		"12-instance-label-of-a-service": {[]string{"--config", "RECOMMENDED"}, `"app.kubernetes.io/instance":"shop"`, false},
		"31-tool-labels-copied":          {[]string{"--config", "RECOMMENDED"}, `"labels":{"karmada.io/managed":"true"}`, false},
		"19-run-once-with-ttl":           {nil, "RunsAgain: by spec.ttlStrategy, members delete it", false},
		"20-argocd-application":          {nil, `ReservedNamespace: objects in namespace "argocd" are never mirrored`, true},
		"29-annotation-inherited":        {nil, "ExternalSecret.external-secrets.io/shop/database member1\nnot mirrored to member1: Secret/shop/database: its owner ExternalSecret.external-secrets.io/shop/database is mirrored there", false},
		"39-autoscaled-others":           {nil, "StatefulSet.apps/shop/db: ReplicasContested: HorizontalPodAutoscaler \"db\"\nRollout.argoproj.io/shop/web: ReplicasContested: HorizontalPodAutoscaler \"web\"", false},
		"24-scaledobject":                {nil, `"resourcetemplate.karmada.io/retain-replicas":"true"`, false},
		"25-autoscaler-beside-division":  {nil, "Deployment.apps/shop/web: ReplicasUnplaced: its replicas are divided, but HorizontalPodAutoscaler\nweb: ReplicasUnplaced: karmada.target/replicas: it has no replicas to divide, and scales in each cluster", false},
	}
	how, err := os.ReadFile("../docs/how-to/argo-cd-and-flux.md")
	if err != nil {
		t.Fatal(err)
	}
	_, strip, _ := strings.Cut(string(how), "\nstrip:\n")
	strip, _, _ = strings.Cut(strip, "```")
	recommended := filepath.Join(t.TempDir(), "config.yaml")
	resources := "resources: [{resource: configmaps}, {resource: services}, {group: monitoring.coreos.com, resource: servicemonitors}]\n"
	if err := os.WriteFile(recommended, []byte(configHead+resources+"strip:\n"+strip), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for i, argument := range c.arguments {
				c.arguments[i] = strings.ReplaceAll(argument, "RECOMMENDED", recommended)
			}
			_, manifests, says := rendered(t, append([]string{"-f", field(name), "--clusters", "member1"}, c.arguments...)...)
			text, err := json.Marshal(manifests)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range strings.Split(c.want, "\n") {
				if !strings.Contains(string(text)+says, want) || strings.Contains(says, "karmada-mirror: ") != c.fails {
					t.Errorf("no %s:\n%s\n%s", want, text, says)
				}
			}
		})
	}
}

// TestRenderCases renders what is not mirrored, what is refused beside what is not, and what a configuration says.
func TestRenderCases(t *testing.T) {
	const (
		good      = "{apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: shop, labels: {a/b: c}}}\n---\n"
		widget    = "{apiVersion: example.io/v1, kind: Gateway, metadata: {name: wide, namespace: shop}, spec: {replicas: 4}}\n---\n"
		namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a}, annotations: {karmada.target/clusters: m1}}}\n---\n"
		owned     = "{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, namespace: shop, ownerReferences: [{apiVersion: example.io/v2, kind: Listener, name: wide, uid: x, controller: true}]}}\n---\n"
		clusters  = "{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: m1}}\n---\n{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: m2}}\n"
		head      = configHead + "resources: [{resource: configmaps, namespaces: [sh*]}, {group: example.io, resource: gateways}]\n"
	)
	cases := map[string]struct {
		reason, manifests, configuration string
		arguments                        []string
		works                            []string
		says                             string // empty for nothing
		fails                            bool
	}{
		"Bad":          {"one bad object hides no good one", good + "{apiVersion: v1, kind: ConfigMap, metadata: {name: Bad_, namespace: shop}}", "", nil, []string{"ConfigMap/shop/good m1"}, "cannot render ConfigMap/shop/Bad_: RenderFailed", true},
		"Undecodable":  {"nor does one without a kind", "{apiVersion: v1, metadata: {name: a}}\n---\n" + good, "", nil, []string{"ConfigMap/shop/good m1"}, "'Kind' is missing", true},
		"System":       {"every cluster has its own", good + "{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: shop}}", "", nil, []string{"ConfigMap/shop/good m1"}, "ForbiddenResource", true},
		"Record":       {"no default covers it", namespace + good + "{apiVersion: v1, kind: ConfigMap, metadata: {name: lock, namespace: shop, annotations: {control-plane.alpha.kubernetes.io/leader: x}}}", "", nil, []string{"ConfigMap/shop/good m1"}, "not mirrored: ConfigMap/shop/lock: neither", false},
		"OptsOut":      {"it opts out of the default", namespace + "{apiVersion: v1, kind: ConfigMap, metadata: {name: out, namespace: shop, annotations: {karmada.target/clusters: ''}}}", "", nil, nil, "not mirrored: ConfigMap/shop/out", false},
		"Reserved":     {"its namespace is the system's", strings.ReplaceAll(good, "shop", "kube-x"), "", nil, nil, "ReservedNamespace", true},
		"Allowed":      {"unless the configuration allows it", strings.ReplaceAll(good, "shop", "kube-x"), configHead + "resources: [{resource: configmaps}]\nallowNamespaces: [kube-x]\n", nil, []string{"ConfigMap/kube-x/good m1"}, "", false},
		"Twice":        {"the last one counts", good + good, "", nil, []string{"ConfigMap/shop/good m1"}, "there is another manifest of it", false},
		"OneName":      {"their Works would have one name", good + "{apiVersion: example.io/v1, kind: ConfigMap, metadata: {name: good, namespace: shop}}", "", nil, []string{"ConfigMap.example.io/shop/good m1", "ConfigMap/shop/good m1"}, "", false},
		"Markup":       {"its angle brackets take no more room", strings.Replace(good, "}}", "}, data: {a: '"+strings.Repeat(`<item key="a">"x" &amp; "y"</item>`, 11_000)+"'}}", 1), "", nil, []string{"ConfigMap/shop/good m1"}, "", false},
		"TooLarge":     {"no API server takes it", good + "{apiVersion: v1, kind: ConfigMap, metadata: {name: large, namespace: shop}, data: {a: " + strings.Repeat("x", 1600<<10) + "}}", "", nil, []string{"ConfigMap/shop/good m1"}, "cannot render ConfigMap/shop/large: TooLarge", true},
		"Unconfigured": {"its resource is not mirrored", good + widget + strings.ReplaceAll(good, "shop", "other"), head, nil, []string{"ConfigMap/shop/good m1", "Gateway.example.io/shop/wide m1"}, `does not include namespace "other"`, false},
		"Unauthorized": {"no rule allows it", namespace + good, head + "authorization: [{namespaceSelector: {matchLabels: {team: b}}, clusters: ['*']}]\n", nil, nil, "NotAuthorized", true},
		"Chooses":      {"the annotations choose among the clusters", namespace + good, "", []string{"--cluster-file", "CLUSTERS"}, []string{"ConfigMap/shop/good m1"}, "", false},
		"ChoosesNone":  {"none is chosen", good, "", []string{"--cluster-file", "CLUSTERS"}, nil, "not mirrored: ConfigMap/shop/good: neither", false},
		"Going":        {"nothing new is written", "{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: shop, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [a/b]}}", "", nil, nil, "not mirrored to m1: ConfigMap/shop/page: the source is being deleted", false},
		"Unselected":   {"no cluster has the label", "{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: shop, annotations: {karmada.target/cluster-selector: tier=edge}}}", "", []string{"--cluster-file", "CLUSTERS"}, nil, "matches no cluster", false},
		"Excluded":     {"the default excludes it", strings.ReplaceAll(namespace, ": m1", ": '*,!m1'") + good, "", nil, nil, "not mirrored: ConfigMap/shop/good: ", false},
		"Misspelt":     {"admission refuses it", good + "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: shop, annotations: {karmada.target/cluster: m1}}}", "", nil, []string{"ConfigMap/shop/good m1"}, "karmada.target/cluster is not an annotation", true},
		"Label":        {"admission refuses it", good + "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: shop, labels: {karmada.target/clusters: m1}}}", "", nil, []string{"ConfigMap/shop/good m1"}, "karmada.target/clusters is a label", true},
		"Plural":       {"its plural is not the usual", "{apiVersion: a.example.io/v1, kind: Search, metadata: {name: a, namespace: shop}}", configHead + "resources: [{group: a.example.io, resource: searches}]\n", nil, []string{"Search.a.example.io/shop/a m1"}, "", false},
		"Scope":        {"its definition says that it has no namespace", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.io}, spec: {group: example.io, scope: Cluster, names: {kind: Widget, plural: widgets}}}\n---\n{apiVersion: example.io/v1, kind: Widget, metadata: {name: w}}", "", []string{"-n", "shop"}, []string{"Widget.example.io/w m1"}, "not mirrored: CustomResourceDefinition", false},
		"Owned":        {"its owner's controller makes it in the member", namespace + owned + strings.Replace(widget, "Gateway", "Listener", 1), "", nil, []string{"Listener.example.io/shop/wide m1"}, "its owner Listener.example.io/shop/wide is mirrored there", false},
		"OwnedHere":    {"its owner is not mirrored", namespace + owned + strings.Replace(strings.Replace(widget, "Gateway", "Listener", 1), "wide", "wide, annotations: {karmada.target/clusters: ''}", 1), "", nil, []string{"ConfigMap/shop/owned m1"}, "not mirrored: Listener", false},
		"OwnedChooses": {"its clusters are its own", namespace + strings.Replace(owned, "owned,", "owned, annotations: {karmada.target/clusters: m1},", 1) + strings.Replace(widget, "Gateway", "Listener", 1), "", []string{"--cluster-file", "CLUSTERS"}, []string{"ConfigMap/shop/owned m1", "Listener.example.io/shop/wide m1"}, "", false},
		"Policy":       {"a policy without a namespace hides no other object", good + "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: q}, spec: {overrideRules: []}}", "", nil, []string{"ConfigMap/shop/good m1"}, "has no namespace", true},
		"Scaled": {"an autoscaler beside it sets its replicas", good + "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 2}}\n---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: shop}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}", "", nil,
			[]string{"ConfigMap/shop/good m1", "Deployment.apps/shop/web m1", "HorizontalPodAutoscaler.autoscaling/shop/web m1"}, "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write := func(name, text string) string {
				path := filepath.Join(folder, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			arguments := append([]string{"-f", write("manifests.yaml", c.manifests)}, c.arguments...)
			if arguments[len(arguments)-1] == "CLUSTERS" {
				arguments[len(arguments)-1] = write("clusters.yaml", clusters)
			} else {
				arguments = append(arguments, "--clusters", "m1")
			}
			if c.configuration != "" {
				arguments = append(arguments, "--config", write("config.yaml", c.configuration))
			}
			works, manifests, says := rendered(t, arguments...)
			if got := slices.Sorted(maps.Keys(works)); !slices.Equal(got, c.works) {
				t.Errorf("%s: the Works are %v:\n%s", c.reason, got, says)
			}
			of := strings.ReplaceAll(says, "not mirrored: Namespace/shop", "")
			if c.says == "" && strings.Contains(of, "not mirrored: ") || !strings.Contains(of, c.says) || strings.Contains(of, "karmada-mirror: ") != c.fails {
				t.Errorf("%s: it says:\n%s", c.reason, says)
			}
			if w := manifests["Deployment.apps/shop/web m1"]; name == "Scaled" && w.GetLabels()["resourcetemplate.karmada.io/retain-replicas"] != "true" {
				t.Errorf("%s: %v", c.reason, w.Object)
			}
			if a, b := works["ConfigMap/shop/good m1"], works["ConfigMap.example.io/shop/good m1"]; name == "OneName" && a.GetName() == b.GetName() {
				t.Errorf("both have the name %s", a.GetName())
			}
		})
	}
}

// TestRenderUnseen: what no API server has seen has no UID and no date, and a variable needs a Cluster to be read from.
func TestRenderUnseen(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "page.yaml")
	for value, want := range map[string]string{"$(cluster.name)": "", "$(cluster.region)": "give --cluster-file"} {
		text := "{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: shop, annotations: {karmada.target/clusters: m1, karmada.target/expand: 'true'}}, data: {a: " + value + "}}"
		if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		works, _, says := rendered(t, "-f", manifest, "--clusters", "m1")
		if !strings.Contains(says, want) || (len(works) == 1) != (want == "") {
			t.Errorf("%s: %d Works, %s", value, len(works), says)
		}
		for _, work := range works {
			_, hasUID := work.GetAnnotations()[render.SourceUIDAnnotation]
			_, hasDate := work.GetAnnotations()[render.SourceCreatedAnnotation]
			if hasUID || hasDate || work.GetAnnotations()[render.SourceAnnotation] == "" {
				t.Errorf("%v", work.GetAnnotations())
			}
		}
	}
}
