package render

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const notCopiedHead = `# What is not copied, and why

A member gets an object as its user has written it. What the control plane adds stays at home. This table is made from the code's own, by ` + "`go test ./render -run TestNotCopied -update`" + `. [What else can be stripped](configuration.md) is in the configuration.

| objects | fields | why |
|---|---|---|
`

const notCopiedFoot = `
A field of a custom resource that its operator writes into the spec is copied: nothing tells it from the user's. So is what the control plane's own defaults fill in when an object is created: a default StorageClass, IngressClass or PriorityClass by its name, and what a LimitRange adds to a Pod. Where members have others, name the class in the object, or give the control plane no default.

## What Karmada does by design, and the way out

| what | way out |
|---|---|
| An Argo CD Application has an ` + "`operation`" + ` while it is synced: copied, it begins a sync in the member, again and again. Its finalizer, ` + "`resources-finalizer.argocd.argoproj.io`" + `, is not copied: deleting the Application leaves its objects in the member | mirror what the Application deploys, not the Application; or remove ` + "`/operation`" + ` and set the finalizer by an [override policy](../how-to/differences-between-clusters.md) |
| A custom resource whose definition has no status subresource: its ` + "`status`" + ` is a field like any other, and Karmada replaces the member's object without it | add the subresource to the definition; or a ResourceInterpreterCustomization that retains ` + "`status`" + ` |
| ` + "`imagePullSecrets`" + ` and ` + "`secrets`" + ` that are removed from a ServiceAccount stay in the member: Karmada merges them with what it finds there | remove them in the member |
| What an operator writes into a spec in the member is undone | a ResourceInterpreterCustomization that retains the field |
`

// TestNotCopied compares the page with the tables.
func TestNotCopied(t *testing.T) {
	var b strings.Builder
	b.WriteString(notCopiedHead)
	for _, n := range allNotCopied() {
		b.WriteString(n.row() + "\n")
	}
	b.WriteString(notCopiedFoot)
	const file = "../docs/reference/not-copied.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil || string(page) != b.String() {
		t.Errorf("%s is not as the tables say (go test ./render -run TestNotCopied -update): %v", file, err)
	}
}

// TestNotCopiedIsStripped: what the page says of a field is what becomes of it, in an object that has it.
func TestNotCopiedIsStripped(t *testing.T) {
	checked := 0
	for _, n := range allNotCopied() {
		kind, group, _ := strings.Cut(n.Kinds, ".")
		for _, field := range n.Fields {
			path := strings.Split(field, ".")
			if n.Kinds == "all" || path[0] != "spec" || strings.ContainsAny(field, anyItem+"/") || field == "spec.volumes" || field == "spec.tolerations" {
				continue
			}
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetAPIVersion(strings.TrimPrefix(group+"/v1", "/"))
			u.SetKind(kind)
			u.SetAnnotations(map[string]string{"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"})
			unowned := map[string]any{"manager": "a", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": map[string]any{}}}
			err := unstructured.SetNestedField(u.Object, "x", path...)
			if err := errors.Join(err, unstructured.SetNestedField(u.Object, "10.0.0.1", "spec", "clusterIP"), unstructured.SetNestedSlice(u.Object, []any{unowned}, "metadata", "managedFields")); err != nil {
				t.Fatal(err)
			}
			Strip(u.Object)
			if value, found, _ := unstructured.NestedFieldNoCopy(u.Object, path...); found {
				t.Errorf("%s of %s stays: %v", field, n.Kinds, value)
			}
			checked++
		}
	}
	if checked < 15 {
		t.Errorf("only %d fields were checked", checked)
	}
}

// notCopied are fields that do not reach a member.
type notCopied struct {
	// Kinds are those of the objects, and Why is the reason.
	Kinds, Why string
	// Fields are paths, in which * is any item or the rest of a key.
	Fields []string
}

// allNotCopied returns what does not reach a member, by the tables that [Strip] uses.
func allNotCopied() (all []notCopied) {
	const every = "all"
	add := func(kinds, why string, fields ...string) { all = append(all, notCopied{kinds, why, fields}) }
	add(every, "each member has its own", "status")
	add(every, "the API server, or a controller of the control plane, sets it", joined("metadata.", serverSet)...)
	add(every, "labels and annotations of karmada-mirror, of Karmada and of `kubectl apply`", Domain+"*", "karmada.io/*", "*.karmada.io/*", corev1.LastAppliedConfigAnnotation)
	for _, kind := range kindsIn(leftBehind) {
		add(nameOfKind(kind, every), "labels and annotations that the control plane leaves", leftBehind[kind]...)
	}
	for _, kind := range kindsIn(allocatedFields) {
		add(nameOfKind(kind, ""), whyAllocated[kind.Kind], paths(allocatedFields[kind])...)
	}
	for _, kind := range slices.Sorted(maps.Keys(pruners)) {
		of, fields := nameOfKind(schema.GroupKind{Group: pruners[kind].group, Kind: kind}, ""), pruners[kind].fields
		switch kind {
		case "Secret":
			of += " of a ServiceAccount's token"
		case "ServiceAccount":
			fields = [][]string{{"secrets"}}
			of += ", of generated tokens"
		}
		add(of, "each member makes its own, or would repeat it; Karmada's policies remove it, too", paths(fields)...)
	}
	add("all but custom resources and resource.k8s.io", "they mean the same as a missing field", "nulls")
	return all
}

// whyAllocated says why allocatedFields are not copied, and when they are.
var whyAllocated = map[string]string{
	"PersistentVolume":      "it is that of the claim on the control plane; who has provisioned a volume is copied if a user has written it",
	"PersistentVolumeClaim": "a controller has bound it, as its annotations say; it is copied if a user has chosen it",
	"Pod":                   "admission adds it, and each member's adds its own; other volumes, mounts and tolerations are copied, and a node that someone has chosen, by `managedFields`",
	"Service":               "the API server allocates it; it is copied if someone has chosen it, by `managedFields`, and if there are none",
}

func paths(fields [][]string) (all []string) {
	for _, field := range fields {
		all = append(all, strings.Join(field, "."))
	}
	return all
}

func joined(prefix string, names []string) (all []string) {
	for _, name := range names {
		all = append(all, prefix+name)
	}
	return all
}

func nameOfKind(kind schema.GroupKind, every string) string {
	if kind.Empty() {
		return every
	}
	return kind.String()
}

func kindsIn[V any](of map[schema.GroupKind]V) []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(of), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}

// row returns the row of a table.
func (n notCopied) row() string {
	return fmt.Sprintf("| %s | `%s` | %s |", n.Kinds, strings.Join(n.Fields, "`, `"), n.Why)
}
