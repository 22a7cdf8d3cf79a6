package apart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

const reportedRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: karmada-mirror-reported, labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}}
rules:
- {apiGroups: [example.com, external-secrets.io], resources: ["*"], verbs: [get, list, watch, patch]}
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}
`

// externalSecrets is as much of their definition as matters.
const externalSecrets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: externalsecrets.external-secrets.io}
spec:
  group: external-secrets.io
  scope: Namespaced
  names: {plural: externalsecrets, singular: externalsecret, kind: ExternalSecret}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestReported applies what public bug reports show, and what came of it then must not come of it now: the files say what.
func TestReported(t *testing.T) {
	install(t, "- {resource: secrets}\n- {resource: serviceaccounts}\n- {group: apps, resource: deployments}\n- {group: external-secrets.io, resource: externalsecrets}\n- {group: example.com, resource: widgets, aggregateStatus: true}\n- {group: example.com, resource: gadgets, aggregateStatus: true}\n")
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(reportedRole)))
	definitions := map[string][]byte{"externalsecrets.external-secrets.io": []byte(externalSecrets)}
	for resource, input := range map[string]string{"widgets": "06-custom-resource-generation", "gadgets": "28-status-without-subresource"} {
		text, _, _ := strings.Cut(string(RepositoryFile(t, "render", "testdata", "field", input+".yaml")), "\n---\n")
		definitions[resource+".example.com"] = []byte(text)
	}
	for name, definition := range definitions {
		Must(t, karmada.Apply(t.Context(), Env.Config(), definition), karmada.Apply(t.Context(), Env.MemberConfig(Push), definition))
		t.Cleanup(func() { _ = Env.Admin.Resource(Definitions).Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	StartDaemon(t, DaemonOptions{})
	t.Run("Generation", customGeneration)
	t.Run("Status", statusOfItsOwn)
	t.Run("Owned", ownedSecret)
	t.Run("PullSecret", pullSecret)
	t.Run("MadeInMember", madeInMember)
}

// apply applies an input until it is taken: its definition is not served at once.
func apply(t *testing.T, ns, input string) {
	t.Helper()
	file := fieldIn(t, ns, input)
	Eventually(t, input+" to be applied", func(context.Context) error { _, err := TryKubectl(t, "apply", "-f", file); return err })
}

func customGeneration(t *testing.T) {
	widgets, ns := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, NewNamespace(t)
	apply(t, ns, "06-custom-resource-generation")
	sized := func(size int64) {
		t.Helper()
		Eventually(t, fmt.Sprintf("size %d in the member", size), InMember(Push, widgets, ns, "one", size, "spec", "size"))
	}
	sized(1)
	for size := int64(2); size <= 4; size++ {
		Change(t, widgets, ns, "one", SetField(size, "spec", "size"))
	}
	sized(4)
	u, err := Env.Member(Push).Resource(widgets).Namespace(ns).Get(t.Context(), "one", metav1.GetOptions{})
	Must(t, err)
	u.Object["status"] = map[string]any{"observedGeneration": u.GetGeneration(), "conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": u.GetGeneration()}}}
	_, err = Env.Member(Push).Resource(widgets).Namespace(ns).UpdateStatus(t.Context(), u, metav1.UpdateOptions{})
	Must(t, err)
	Eventually(t, "its generation to be observed", func(ctx context.Context) error {
		u, err := Env.Admin.Resource(widgets).Namespace(ns).Get(ctx, "one", metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		if observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); observed != u.GetGeneration() || len(conditions) != 1 || conditions[0].(map[string]any)["observedGeneration"] != u.GetGeneration() {
			return fmt.Errorf("generation %d, status %v", u.GetGeneration(), u.Object["status"])
		}
		return nil
	})
}

// statusOfItsOwn: Karmada undoes a status without a subresource (which the docs say), and no status is written to the source for ever.
func statusOfItsOwn(t *testing.T) {
	gadgets, ns := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}, NewNamespace(t)
	apply(t, ns, "28-status-without-subresource")
	Eventually(t, "the gadget in the member", InMember(Push, gadgets, ns, "one", int64(1), "spec", "size"))
	work := MustWork(t, WorkOf(render.Identity{Group: "example.com", Kind: "Gadget", Namespace: ns, Name: "one"}, Push))
	manifest, err := render.ManifestOf(work.Object)
	Must(t, err)
	if manifest["status"] != nil {
		t.Errorf("the Work has a status: %v", manifest["status"])
	}
	u, err := Env.Admin.Resource(gadgets).Namespace(ns).Get(t.Context(), "one", metav1.GetOptions{})
	Must(t, err)
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != "Pending" {
		t.Errorf("the source's own status is %v", u.Object["status"])
	}
}

// ownedSecret: what an operator makes of an object that is mirrored, it makes in the member itself.
func ownedSecret(t *testing.T) {
	secrets, ns := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, NewNamespace(t)
	text, err := os.ReadFile(fieldIn(t, ns, "29-annotation-inherited"))
	Must(t, err)
	parts := strings.SplitN(string(text), "\n---\n", 2)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name+".yaml")
		WriteFile(t, path, []byte(text))
		return path
	}
	owner := file("owner", parts[0])
	Eventually(t, "the owner to be applied", func(context.Context) error { _, err := TryKubectl(t, "apply", "-f", owner); return err })
	externals := schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1", Resource: "externalsecrets"}
	u, err := Env.Admin.Resource(externals).Namespace(ns).Get(t.Context(), "database", metav1.GetOptions{})
	Must(t, err)
	Kubectl(t, "apply", "-f", file("secret", strings.ReplaceAll(parts[1], "12121212-3434-5656-7878-909090909090", string(u.GetUID()))))
	Eventually(t, "the owner in the member", InMember(Push, externals, ns, "database", "1h", "spec", "refreshInterval"))
	Settle(t)
	isMirrored := func(ctx context.Context) error {
		_, err := Env.Member(Push).Resource(secrets).Namespace(ns).Get(ctx, "database", metav1.GetOptions{})
		return err
	}
	if err := Absent(isMirrored(t.Context())); err != nil {
		t.Errorf("the Secret is mirrored, too: %v", err)
	}
	if output := MustKarmadaMirror(t, "explain", "secret/database", "-n", ns); !strings.Contains(output, "its owner ExternalSecret.external-secrets.io/"+ns+"/database is mirrored there") {
		t.Errorf("explain says:\n%s", output)
	}
	Change(t, externals, ns, "database", DropAnnotations)
	Eventually(t, "the Secret in the member, once its owner is not mirrored", isMirrored)
}

// pullSecret: Karmada keeps what is removed from a ServiceAccount, and the Work does not have it.
func pullSecret(t *testing.T) {
	accounts, ns := schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, NewNamespace(t)
	apply(t, ns, "35-pull-secret-removed")
	Eventually(t, "the account in the member", func(ctx context.Context) error {
		_, err := Env.Member(Push).Resource(accounts).Namespace(ns).Get(ctx, "ci", metav1.GetOptions{})
		return err
	})
	Kubectl(t, "-n", ns, "patch", "sa", "ci", "--type", "json", "-p", `[{"op":"remove","path":"/imagePullSecrets"}]`)
	Eventually(t, "the Work without it", func(ctx context.Context) error {
		work, err := GetWork(ctx, WorkOf(render.Identity{Kind: "ServiceAccount", Namespace: ns, Name: "ci"}, Push))
		if err != nil {
			return err
		}
		if manifest, err := render.ManifestOf(work.Object); err != nil || manifest["imagePullSecrets"] != nil {
			return errors.New("it still has the reference")
		}
		return nil
	})
}

// madeInMember: a Secret that members make themselves is not missed where the workload is healthy.
func madeInMember(t *testing.T) {
	Must(t, Env.Configure(t.Context(), ConfigurationHead+"resources:\n- {group: apps, resource: deployments}\n"))
	ns := NewName(t, "made")
	Kubectl(t, "apply", "-f", fieldIn(t, ns, "17-dependency-made-in-member"))
	t.Cleanup(func() { _ = Env.Admin.Resource(Namespaces).Delete(context.Background(), ns, metav1.DeleteOptions{}) })
	Eventually(t, "no notice", func(context.Context) error {
		output, err := KarmadaMirror(t, "wait", "deploy/web", "-n", ns, "--for=healthy", "--timeout=2s")
		if err != nil {
			return errors.New(output)
		}
		if output := MustKarmadaMirror(t, "explain", "deploy/web", "-n", ns); strings.Contains(output, "DependencyNotMirrored") {
			return errors.New(output)
		}
		return nil
	})
}
