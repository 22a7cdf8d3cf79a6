package shared

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// comesAndGoes is the group of a custom resource whose definition comes and goes.
const comesAndGoes = "definition.example"

var blobs = schema.GroupVersionResource{Group: comesAndGoes, Version: "v2", Resource: "blobs"}

// define applies the definition.
func define(t *testing.T) {
	t.Helper()
	definition := fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: blobs.%[1]s}
spec:
  group: %[1]s
  names: {kind: Blob, listKind: BlobList, plural: blobs, singular: blob}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, comesAndGoes)
	Must(t, karmada.Apply(t.Context(), Env.Config(), definition))
	Must(t, karmada.Apply(t.Context(), Env.MemberConfig(Push), definition))
}

func blob(ns, name, clusters string) *unstructured.Unstructured {
	return Asking(Object(comesAndGoes+"/v2", "Blob", ns, name, map[string]any{"content": "one"}), clusters)
}

// createBlob creates one as soon as it is served.
func createBlob(t *testing.T, ns, name, clusters string) {
	t.Helper()
	Eventually(t, "the resource to be served", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(blobs).Namespace(ns).Create(ctx, blob(ns, name, clusters), metav1.CreateOptions{})
		return err
	})
}

// wantWatch waits until the daemon's watch of the resource is in a state.
func wantWatch(t *testing.T, state string) {
	t.Helper()
	Eventually(t, "the resource to be "+state, Env.Mirror.WantMetric(WatchState(blobs.GroupResource().String(), state), 1))
}

// undefine deletes the definition, and its objects with it. Creation timestamps are whole
// seconds: a definition that comes next has another one.
func undefine(t *testing.T) {
	t.Helper()
	Pass(t, 1100*time.Millisecond)
	Remove(t, Definitions, "", blobs.GroupResource().String())
	WantNone(t, Definitions, "", blobs.GroupResource().String())
}

// TestDefinition has a definition come, be served no longer, go with its objects, come back, and go for good.
func TestDefinition(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	Must(t, karmada.Apply(t.Context(), Env.Config(), fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: blobs.%[1]s, labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}}
rules:
- {apiGroups: [%[1]s], resources: [blobs], verbs: [get, list, watch]}
`, comesAndGoes)))
	wantWatch(t, "pending")
	define(t)
	wantWatch(t, "ready")
	for _, name := range []string{"a", "b", "c"} {
		createBlob(t, ns, name, Push)
		Eventually(t, name+" in the member", InMember(Push, blobs, ns, name, "one", "content"))
	}
	Create(t, blobs, blob(ns, "elsewhere", Pull)) // whose member does not serve it
	WantEvent(t, ns, "elsewhere", "KindNotServed", Pull, "Blob")
	Remove(t, blobs, ns, "elsewhere")
	WantNone(t, Works, render.ExecutionNamespace(Pull), WorkOf(blobID(ns, "elsewhere"), Pull).Name)

	serve := func(served bool) {
		Change(t, Definitions, "", blobs.GroupResource().String(), func(u *unstructured.Unstructured) {
			versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
			for _, version := range versions {
				version.(map[string]any)["served"] = served
			}
			SetField(versions, "spec", "versions")(u)
		})
	}
	edit := func(value string) { // which only a resumed watch sees
		t.Helper()
		Eventually(t, "an edit", func(ctx context.Context) error {
			_, err := Env.Admin.Resource(blobs).Namespace(ns).Patch(ctx, "a", types.MergePatchType, []byte(`{"content":"`+value+`"}`), metav1.PatchOptions{})
			return err
		})
		Eventually(t, "the edit in the member", InMember(Push, blobs, ns, "a", value, "content"))
	}
	audit := AuditFromNow(t)
	serve(false)
	wantWatch(t, "pending")
	serve(true)
	edit("two")
	work := WorkOf(blobID(ns, "a"), Push)
	if writes := audit.WorkWrites(t, work.Name); strings.Contains(strings.Join(writes, " "), "delete") {
		t.Errorf("the daemon has deleted Works: %v", writes)
	}

	undefine(t)
	held := fmt.Sprintf("karmada_mirror_deletions_held{resource=%q}", blobs.GroupResource().String())
	Eventually(t, "deletions of objects deleted with their definition to be held", Env.Mirror.WantMetric(held, 3))
	WantEvent(t, System, Account, "DeletionHeld", blobs.GroupResource().String(), "their CRD was deleted")
	define(t)
	createBlob(t, ns, "a", Push)
	Eventually(t, "the recreated object to be mirrored", Env.Mirror.WantMetric(held, 2))
	WantLine(t, MustKarmadaMirror(t, "deletions", "list", "-n", ns), `^`+blobs.GroupResource().String()+` +`+ns+` +2 +2 +`+Push)
	Must(t, InMember(Push, blobs, ns, "b", "one", "content")(t.Context()))
	MustKarmadaMirror(t, "deletions", "approve", "--yes", "--resource", blobs.GroupResource().String(), "-n", ns)
	approved, err := Env.Admin.Resource(ConfigMaps).Namespace(System).Get(t.Context(), "karmada-mirror", metav1.GetOptions{})
	Must(t, err)
	if at := config.WrittenAt(approved, config.ApprovalsAnnotation); time.Since(at) > time.Minute { // by which the daemon tells old approvals
		t.Errorf("the API server says that the approval was written at %s", at)
	}
	WantGone(t, blobs, ns, "b", Push)
	WantGone(t, blobs, ns, "c", Push)
	Eventually(t, "the recreated object in the member", InMember(Push, blobs, ns, "a", "one", "content"))
}

func blobID(ns, name string) render.Identity {
	return render.Identity{Group: comesAndGoes, Kind: "Blob", Namespace: ns, Name: name}
}
