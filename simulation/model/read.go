package model

import (
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
)

// The model says what should exist; the code below reads what does exist. It does not use the
// daemon's code, which would only confirm itself.

const (
	uidAnnotation  = "karmada.target/source-uid"
	heldAnnotation = "karmada.target/deletion-held"
	overriddenBy   = "karmada.target/overridden-by"
	finalizer      = "karmada.target/works"
	conflictMark   = "work.karmada.io/conflict-resolution"
	retainMark     = "resourcetemplate.karmada.io/retain-replicas"
)

// Applied converts an object for the model, and returns its key there.
func Applied(u *unstructured.Unstructured) (Key, *Object) {
	o := &Object{
		UID: string(u.GetUID()), Annotations: u.GetAnnotations(), Labels: u.GetLabels(), Content: contentOf(u),
		Finalized: slices.Contains(u.GetFinalizers(), finalizer),
	}
	o.Leaving = o.Finalized && u.GetDeletionTimestamp() != nil
	if u.GetKind() == "Cluster" {
		o.Region, _, _ = unstructured.NestedString(u.Object, "spec", "region")
		o.Provider, _, _ = unstructured.NestedString(u.Object, "spec", "provider")
		o.Zones, _, _ = unstructured.NestedStringSlice(u.Object, "spec", "zones")
	}
	return Key{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}, o
}

// Scaled is the object that an autoscaler scales.
func Scaled(autoscaler *unstructured.Unstructured) Key {
	kind, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", "kind")
	name, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", "name")
	return Key{Kind: kind, Namespace: autoscaler.GetNamespace(), Name: name}
}

// Carries returns an error unless a Work puts this copy into its cluster.
func Carries(work *unstructured.Unstructured, want Copy) error {
	switch {
	case work.GetDeletionTimestamp() != nil:
		return fmt.Errorf("it is being deleted")
	case IsHeld(work):
		return fmt.Errorf("its deletion is held")
	}
	got, err := CopyOf(work)
	switch {
	case err != nil:
		return err
	case got.UID != want.UID:
		return fmt.Errorf("its source has UID %q", got.UID)
	case !equality.Semantic.DeepEqual(got.Content, want.Content):
		return fmt.Errorf("its content differs: %.300q, not %.300q", fmt.Sprint(*got.Content), fmt.Sprint(*want.Content))
	}
	got.Content, want.Content = nil, nil
	if got != want {
		return fmt.Errorf("it says %+v, not %+v", got, want)
	}
	return nil
}

// IsHeld reports whether the deletion of a Work is held.
func IsHeld(work *unstructured.Unstructured) bool { return work.GetAnnotations()[heldAnnotation] != "" }

// CarriesMore reports whether a Work would put this copy into its cluster, but for more replicas.
func CarriesMore(work *unstructured.Unstructured, want Copy) bool {
	got, err := CopyOf(work)
	has, divided := got.Content.replicas()
	share, _ := want.Content.replicas()
	if err != nil || !divided || has <= share {
		return false
	}
	want.Content = want.Content.WithReplicas(has)
	return Carries(work, want) == nil
}

// CopyOf returns the copy that a Work puts into its cluster.
func CopyOf(work *unstructured.Unstructured) (Copy, error) {
	manifest, err := ManifestOf(work)
	if err != nil {
		return Copy{}, err
	}
	says := func(field string) bool {
		set, _, _ := unstructured.NestedBool(work.Object, "spec", field)
		return set
	}
	return Copy{
		UID: work.GetAnnotations()[uidAnnotation], Content: contentOf(manifest),
		Suspended: says("suspendDispatching"), Preserved: says("preserveResourcesOnDeletion"),
		Overwrites: manifest.GetAnnotations()[conflictMark] == "overwrite", Retains: manifest.GetLabels()[retainMark] == "true",
		OverriddenBy: work.GetAnnotations()[overriddenBy],
	}, nil
}

// ManifestOf returns the only manifest of a Work, which the caller must not change.
func ManifestOf(work *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found, _, _ := unstructured.NestedFieldNoCopy(work.Object, "spec", "workload", "manifests")
	manifests, _ := found.([]any)
	if len(manifests) != 1 {
		return nil, fmt.Errorf("it has %d manifests", len(manifests))
	}
	manifest, ok := manifests[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("its manifest is a %T", manifests[0])
	}
	return &unstructured.Unstructured{Object: manifest}, nil
}

// contentOf is what is in an object, without what only concerns the control plane.
func contentOf(u *unstructured.Unstructured) *Content {
	payload := maps.Clone(u.Object)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(payload, field)
	}
	return &Content{
		Identity: u.GetAPIVersion() + " " + u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName(),
		Payload:  payload, Labels: own(u.GetLabels()), Annotations: own(u.GetAnnotations()),
	}
}

// AlteredLabel is what a webhook may add to the manifests of Works; no copy is judged by it.
const AlteredLabel = "admission.example/altered"

// own filters labels or annotations down to the user's: not Karmada's, karmada-mirror's or
// kubectl's bookkeeping.
func own(all map[string]string) map[string]string {
	mine := map[string]string{}
	for key, value := range all {
		domain, _, _ := strings.Cut(key, "/")
		if key != AlteredLabel && domain != "karmada.target" && domain != "karmada.io" && !strings.HasSuffix(domain, ".karmada.io") && domain != "kubectl.kubernetes.io" {
			mine[key] = value
		}
	}
	return mine
}

// WorkKey is the namespace/name of an object's Work on a cluster, by Karmada's rule
// (names.GenerateWorkName in pkg/util/names, v1.18.2).
func WorkKey(cluster string, k Key) string {
	name := strings.ToLower(strings.ReplaceAll(k.Name, ":", "."))
	qualified := name + "-" + k.Kind
	if k.Namespace != "" {
		qualified = k.Namespace + "-" + qualified
	}
	hash := fnv.New32a()
	hash.Write([]byte(strings.ToLower(qualified)))
	return "karmada-es-" + cluster + "/" + name + "-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// longEnd matches the suffix of a Work's name if another object already has the short name.
var longEnd = regexp.MustCompile("-[0-9a-f]{32}$")

// ShortKey is the namespace/name of a Work without that suffix.
func ShortKey(work string) string { return longEnd.ReplaceAllString(work, "") }

// Resource is the override policy with a key, whose kind says whether it is cluster-wide.
func (p *Policy) Resource(key Key) *unstructured.Unstructured {
	overriders := map[string]any{}
	if p.Value != "" {
		overriders["plaintext"] = []any{map[string]any{"path": "/data/key", "operator": "replace", "value": p.Value}}
	}
	if len(p.Labels) > 0 {
		labels := map[string]any{}
		for key, value := range p.Labels {
			labels[key] = value
		}
		overriders["labelsOverrider"] = []any{map[string]any{"operator": "add", "value": labels}}
	}
	rule := map[string]any{"overriders": overriders}
	if len(p.Clusters) > 0 {
		names := make([]any, len(p.Clusters))
		for i, name := range p.Clusters {
			names[i] = name
		}
		rule["targetCluster"] = map[string]any{"clusterNames": names}
	}
	version := map[string]string{"ConfigMap": "v1", "Widget": "example.io/v1"}[p.Kind]
	if version == "" {
		version = "apps/v1"
	}
	metadata := map[string]any{"name": key.Name}
	if key.Namespace != "" {
		metadata["namespace"] = key.Namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": key.Kind, "metadata": metadata,
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": version, "kind": p.Kind}}, "overrideRules": []any{rule},
		},
	}}
}
