package shared

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// enforce binds the admission policy of the manifests to a namespace for the length of
// a test: others write there what it would refuse.
func enforce(t *testing.T, ns string) {
	t.Helper()
	Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) { u.SetLabels(enforced(t)) })
	name := "enforce-" + Home(t)
	binding := fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %s}
spec:
  policyName: karmada-mirror
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {enforce: %s}}}
`, name, enforced(t)["enforce"])
	if err := karmada.Apply(t.Context(), Env.Config(), []byte(binding)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = Env.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		if err := dryRun(ctx, Env.Admin, ns, annotations{render.SuspendAnnotation: "perhaps"}); err == nil {
			return fmt.Errorf("nothing is refused yet")
		}
		return nil
	})
}

// enforced are the labels of the Namespaces that the policy is bound to.
func enforced(t *testing.T) map[string]string { return map[string]string{"enforce": Home(t)} }

type annotations = map[string]string

// dryRun creates a ConfigMap with annotations, but for the last step.
func dryRun(ctx context.Context, as dynamic.Interface, namespace string, a annotations) error {
	u := Plain(namespace, "", "one")
	u.SetGenerateName("page-")
	u.SetAnnotations(a)
	_, err := as.Resource(ConfigMaps).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// TestPolicyParses has the API server read values as the daemon does.
func TestPolicyParses(t *testing.T) {
	ns := Isolate(t)
	enforce(t, ns)
	clusters, selector := render.ClustersAnnotation, render.ClusterSelectorAnnotation
	good := []annotations{
		{clusters: "member1"}, {clusters: "member1,member2"}, {clusters: " member1 ,\tmember2 ,"}, {clusters: "1"}, {clusters: "a-b-c"},
		{clusters: "*"}, {clusters: "prod-*"}, {clusters: "prod-?"}, {clusters: "*-eu,!prod-eu"}, {clusters: "!b,*"}, {clusters: "a,!a"}, {clusters: "*,!b*"},
		{clusters: strings.Repeat("a", 48)}, {clusters: strings.Repeat("a,", 200)},
		{selector: "tier=edge"}, {selector: "tier==edge"}, {selector: "tier!=edge"}, {selector: "tier"}, {selector: "!tier"}, {selector: "tier in (edge)"},
		{selector: "tier in (edge, core),region notin (eu),!drained"}, {selector: "example.com/tier=edge"}, {selector: "generation>3"}, {selector: "generation < 3"},
		{selector: "a=b,c=d"}, {selector: " a = b , c "}, {selector: "tier="}, {selector: "tier in (,a)"},
		{clusters: "!a", selector: "tier=edge"}, {clusters: "b,!a", selector: "tier=edge"},
		{clusters: "a", render.SuspendAnnotation: "true"}, {clusters: "a", render.SuspendAnnotation: "false"}, {render.PreserveOnDeletionAnnotation: "true"},
		{clusters: "a", render.ConflictResolutionAnnotation: "abort"}, {clusters: "a", render.ConflictResolutionAnnotation: "overwrite"},
	}
	bad := []annotations{
		{clusters: ","}, {clusters: " , "}, {clusters: "a,,b"}, {clusters: ",a"}, {clusters: "a,,"}, {clusters: "a, ,b"}, {clusters: "Member1"}, {clusters: "a_b"},
		{clusters: "a.b"}, {clusters: "a b"}, {clusters: "a\nb"}, {clusters: "münchen"}, {clusters: "🚀"}, {clusters: "../"}, {clusters: "a[bc]"}, {clusters: `a\*`},
		{clusters: "-a"}, {clusters: "a-"}, {clusters: "!"}, {clusters: "!!a"}, {clusters: "a!"}, {clusters: "!a"}, {clusters: "!a,!b"}, {clusters: "a;b"}, {clusters: "a,!"},
		{clusters: strings.Repeat("a", 49)}, {clusters: `["a"]`}, {clusters: "a/b"},
		{selector: ""}, {selector: "  "}, {selector: "tier in edge"}, {selector: "tier in (edge"}, {selector: "tier=a b"}, {selector: "=edge"}, {selector: "tier=,="},
		{selector: "a=b,"}, {selector: ",a=b"}, {selector: "tier in ()x"}, {selector: "tier=-a"}, {selector: "-tier"}, {selector: `{"matchLabels":{"a":"b"}}`}, {selector: "a > b"}, {selector: "!a=b"},
		{clusters: "a", render.SuspendAnnotation: "True"}, {clusters: "a", render.SuspendAnnotation: ""}, {render.PreserveOnDeletionAnnotation: "yes"},
		{clusters: "a", render.ConflictResolutionAnnotation: "Overwrite"},
	}
	check := func(a annotations, isGood bool) {
		wishes := render.ReadWishes(a)
		_, termsErr := wishes.Terms()
		if !wishes.Ask() {
			termsErr = nil
		}
		_, optionsErr := wishes.Options()
		if parses := termsErr == nil && optionsErr == nil; parses != isGood {
			t.Errorf("%q: the daemon says %v, %v", a, termsErr, optionsErr)
		}
		err := dryRun(t.Context(), Env.Admin, ns, a)
		if (err == nil) != isGood {
			t.Errorf("%q: the API server says %v", a, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "karmada.target/") || strings.Contains(err.Error(), "expression")) {
			t.Errorf("%q is refused without saying why: %v", a, err)
		}
	}
	for _, a := range good {
		check(a, true)
	}
	for _, a := range bad {
		check(a, false)
	}
	t.Logf("%d good and %d bad values", len(good), len(bad))
	if err := dryRun(t.Context(), Env.Admin, ns, annotations{clusters: ""}); err != nil {
		t.Errorf("an object cannot opt out: %v", err)
	}
}

// tenant is a user who may write ConfigMaps and Namespaces, and mirror to some
// clusters; nil for all.
func tenant(t *testing.T, name string, clusters ...string) dynamic.Interface {
	t.Helper()
	names := ""
	if clusters != nil {
		names = fmt.Sprintf("resourceNames: [%s]", strings.Join(clusters, ","))
	}
	roles := fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: ["", apps], resources: [configmaps, namespaces, Deployments, deployments/status, deployments/scale], verbs: ["*"]}
- {apiGroups: [cluster.karmada.io], resources: [clusters], verbs: [mirror], %[2]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, name, names)
	if err := karmada.Apply(t.Context(), Env.Config(), []byte(roles)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = Env.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = Env.Client.RbacV1().ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	config := rest.CopyConfig(Env.Config())
	config.Impersonate.UserName = name
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the tenant to have rights", func(ctx context.Context) error {
		_, err := client.Resource(ConfigMaps).Namespace("default").List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	return client
}

// TestPolicyAuthorizes has users write annotations that they may, and may not.
func TestPolicyAuthorizes(t *testing.T) {
	ns := Isolate(t)
	enforce(t, ns)
	clusters, selector := render.ClustersAnnotation, render.ClusterSelectorAnnotation
	some, all := tenant(t, "tenant-of-some", "c1", "c2"), tenant(t, "tenant-of-all")
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("m%d", i))
	}
	lots := tenant(t, "tenant-of-many", many...)
	cases := map[string]struct {
		reason      string
		as          dynamic.Interface
		before, now annotations // before nil: the object is created
		forbidden   bool
	}{
		"Named":              {"the tenant may", some, nil, annotations{clusters: "c1,c2"}, false},
		"OneOfThem":          {"one that is not granted spoils the rest", some, nil, annotations{clusters: "c1,c3"}, true},
		"Star":               {"a glob needs all", some, nil, annotations{clusters: "*"}, true},
		"Glob":               {"even if it fits only what is granted", some, nil, annotations{clusters: "c?"}, true},
		"Selector":           {"so does a selector", some, nil, annotations{selector: "a=b"}, true},
		"Excluded":           {"an exclusion needs nothing", some, nil, annotations{clusters: "c1,!c3"}, false},
		"StarOfAll":          {"all is all", all, nil, annotations{clusters: "*"}, false},
		"SelectorOfAll":      {"all is all", all, nil, annotations{selector: "a=b"}, false},
		"ManyOfAll":          {"all is any number", all, nil, annotations{clusters: strings.Join(many, ",")}, false},
		"TwentyFour":         {"what the API server can ask for", lots, nil, annotations{clusters: strings.Join(many[:24], ",")}, false},
		"TwentyFive":         {"and what it cannot", lots, nil, annotations{clusters: strings.Join(many[:25], ",")}, true},
		"InSteps":            {"they can be added in steps", lots, annotations{clusters: strings.Join(many[:24], ",")}, annotations{clusters: strings.Join(many, ",")}, false},
		"LastOfTwentyFour":   {"each place is looked at", lots, nil, annotations{clusters: strings.Join(many[:23], ",") + ",c1"}, true},
		"Unchanged":          {"somebody else's annotation may stay", some, annotations{clusters: "c3,*"}, annotations{clusters: "c3,*", "other": "x"}, false},
		"Shrunk":             {"taking a cluster away needs nothing", some, annotations{clusters: "c3,c4"}, annotations{clusters: "c4"}, false},
		"Removed":            {"nor does taking all", some, annotations{clusters: "c3", selector: "a=b"}, annotations{}, false},
		"Widened":            {"adding does", some, annotations{clusters: "c1"}, annotations{clusters: "c1,c3"}, true},
		"WidenedByMine":      {"what is there is not asked for again", some, annotations{clusters: "c3"}, annotations{clusters: "c3,c1"}, false},
		"ExclusionGone":      {"taking an exclusion away adds", some, annotations{clusters: "*,!c3"}, annotations{clusters: "*"}, true},
		"NameUnexcluded":     {"also by name", some, annotations{clusters: "c1,c3,!c3"}, annotations{clusters: "c1,c3"}, true},
		"SelectorUnexcluded": {"and by labels", some, annotations{clusters: "c1,!c3", selector: "a=b"}, annotations{clusters: "c1", selector: "a=b"}, true},
		"SelectorChanged":    {"another selector is another set", some, annotations{selector: "a=b"}, annotations{selector: "a=c"}, true},
		"OptionsOnly":        {"options say nothing of where", some, annotations{clusters: "c3"}, annotations{clusters: "c3", render.SuspendAnnotation: "true"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := func() error {
				if tc.before == nil {
					return dryRun(t.Context(), tc.as, ns, tc.now)
				}
				u := Plain(ns, strings.ToLower(name), "one")
				u.SetAnnotations(tc.before)
				u = Create(t, ConfigMaps, u)
				defer Remove(t, ConfigMaps, ns, u.GetName())
				u.SetAnnotations(tc.now)
				_, err := tc.as.Resource(ConfigMaps).Namespace(ns).Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
				return err
			}()
			if apierrors.IsForbidden(err) != tc.forbidden || err != nil && !tc.forbidden {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if err != nil && !strings.Contains(err.Error(), "verb mirror") {
				t.Errorf("it is not said what is missing: %v", err)
			}
		})
	}
	t.Run("Namespace", func(t *testing.T) {
		u, err := some.Resource(Namespaces).Get(t.Context(), ns, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for list, forbidden := range map[string]bool{"c1": false, "c3": true} {
			u.SetAnnotations(annotations{clusters: list})
			_, err = some.Resource(Namespaces).Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsForbidden(err) != forbidden || err != nil && !forbidden {
				t.Errorf("a default of %q: %v", list, err)
			}
		}
	})
	t.Run("NamespaceExclusions", func(t *testing.T) {
		selecting := NewNamespace(t)
		Change(t, Namespaces, "", selecting, func(u *unstructured.Unstructured) {
			u.SetLabels(enforced(t))
			u.SetAnnotations(annotations{selector: "a=b", clusters: "c2,!c3"})
		})
		dropped := Plain(selecting, "dropped", "one")
		dropped.SetAnnotations(annotations{clusters: "c1,c2"}) // by an administrator
		dropped = Create(t, ConfigMaps, dropped)
		for list, forbidden := range map[string]bool{"c1": true, "c1,!c3": false, "!c3": false, "!c2": true, "": false} {
			if err := dryRun(t.Context(), some, selecting, annotations{clusters: list}); apierrors.IsForbidden(err) != forbidden || err != nil && !forbidden {
				t.Errorf("%q without the exclusions of the Namespace: %v", list, err)
			}
		}
		if err := dryRun(t.Context(), Env.Admin, selecting, annotations{clusters: "c1"}); err != nil {
			t.Errorf("who may mirror everywhere is refused: %v", err)
		}
		dropped.SetAnnotations(annotations{clusters: "c1", render.SuspendAnnotation: "true"})
		if _, err := some.Resource(ConfigMaps).Namespace(selecting).Update(t.Context(), dropped, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("a list cannot shrink: %v", err)
		}
	})
	t.Run("Subresource", func(t *testing.T) {
		u := Create(t, Deployments, Object("apps/v1", "Deployment", ns, "web", map[string]any{"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web"}}},
			},
		}}))
		u.SetAnnotations(annotations{clusters: "c3"})
		_, err := some.Resource(Deployments).Namespace(ns).UpdateStatus(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsForbidden(err) {
			t.Errorf("an annotation written through /status: %v", err)
		}
	})
}

// TestTenant has the same tenant refused by the API server, and where nobody asks it,
// by the daemon.
func TestTenant(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	client := tenant(t, "tenant-of-member1", Push)
	t.Run("Admission", func(t *testing.T) {
		guarded := NewNamespace(t)
		enforce(t, guarded)
		if _, err := client.Resource(ConfigMaps).Namespace(guarded).Create(t.Context(), ConfigMap(guarded, "page", Push2, "one"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Fatalf("the tenant is not refused %s: %v", Push2, err)
		}
		if _, err := client.Resource(ConfigMaps).Namespace(guarded).Create(t.Context(), ConfigMap(guarded, "page", Push, "one"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		WantInMembers(t, guarded, "page", "one", Push)
	})
	t.Run("Configuration", func(t *testing.T) {
		Create(t, ConfigMaps, ConfigMap(ns, "before", Push2, "one"))
		WantInMembers(t, ns, "before", "one", Push2)
		d.Reconfigure(t, func() {
			Configure(t, Resources(t, "configmaps")+"authorization:\n- {namespaces: ["+ns+"], resources: [configmaps], clusters: ["+Push+"]}\n")
		})
		if _, err := client.Resource(ConfigMaps).Namespace(ns).Create(t.Context(), ConfigMap(ns, "page", Push+","+Push2, "one"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		WantInMembers(t, ns, "page", "one", Push)
		WantEvent(t, ns, "page", "NotAuthorized", Push2)
		WantEvent(t, ns, "before", "NotAuthorized", Push2)
		WantNoWork(t, ConfigMapWork(ns, "page", Push2))
		// The labels of a cluster do not give what its name does not.
		selected := Plain(ns, "selected", "one")
		selected.SetAnnotations(annotations{render.ClusterSelectorAnnotation: "!never.example.com/drained"})
		Create(t, ConfigMaps, selected)
		WantInMembers(t, ns, "selected", "one", Push)
		WantEvent(t, ns, "selected", "NotAuthorized", Push2)
		WantNoWork(t, ConfigMapWork(ns, "selected", Push2))
		before := MustWork(t, ConfigMapWork(ns, "before", Push2)).GetGeneration()
		Change(t, ConfigMaps, ns, "before", SetField("two", "data", "key"))
		Change(t, ConfigMaps, ns, "page", SetField("two", "data", "key"))
		WantInMembers(t, ns, "page", "two", Push)
		Settle(t)
		if now := MustWork(t, ConfigMapWork(ns, "before", Push2)); now.GetGeneration() != before || now.GetDeletionTimestamp() != nil {
			t.Errorf("the Work of what is not authorized any more was touched: %v", now.Object["metadata"])
		}
	})
}
