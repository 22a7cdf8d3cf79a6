package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karmada-io/karmada/pkg/util/names"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// Only sandbox/e2e/machine uses what is in this file: it goes with it.

const (
	uidAnnotation    = "karmada.target/source-uid"
	heldAnnotation   = "karmada.target/deletion-held"
	overriddenBy     = "karmada.target/overridden-by"
	finalizer        = "karmada.target/works"
	conflictMark     = "work.karmada.io/conflict-resolution"
	retainMark       = "resourcetemplate.karmada.io/retain-replicas"
	sourceAnnotation = "karmada.target/source"
	// BreakerOff and HonorPolicies are sections of a configuration.
	BreakerOff    = "deletion: {holdAbove: {works: 0, percent: 25}}\n"
	HonorPolicies = "overridePolicies: Honor\n"
)

// These are Karmada's override policies.
var (
	OverridePolicies        = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "overridepolicies"}
	ClusterOverridePolicies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "clusteroverridepolicies"}
)

// StartOwn starts a Karmada until the test ends, with karmada-mirror installed, but without
// admission policies.
func StartOwn(t *testing.T, o karmada.Options) {
	t.Helper()
	before := Env
	t.Cleanup(func() { Env = before })
	Env = &Environment{Builder: before.Builder, Daemon: before.Daemon}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	Must(t, Env.Start(ctx, o))
	t.Cleanup(func() {
		if err := Env.Stop(); err != nil {
			t.Error(err)
		}
	})
	Must(t, Env.Install(ctx))
	bindings := Env.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	Must(t, errors.Join(bindings.Delete(ctx, Account, metav1.DeleteOptions{}), bindings.Delete(ctx, Account+"-spelling", metav1.DeleteOptions{})))
}

// Named returns members in push mode, except [Pull], which is in pull mode.
func Named(names ...string) []karmada.Member {
	members := Members(names...)
	for i := range members {
		members[i].Nodes = 0
	}
	return members
}

// Carries returns an error unless a Work puts this copy into its cluster.
func Carries(work *unstructured.Unstructured, want model.Copy) error {
	switch {
	case work.GetDeletionTimestamp() != nil:
		return fmt.Errorf("it is being deleted")
	case work.GetAnnotations()[heldAnnotation] != "":
		return fmt.Errorf("its deletion is held")
	}
	got, err := CopyOf(work)
	switch {
	case err != nil:
		return err
	case got.UID != want.UID:
		return fmt.Errorf("its source has UID %q", got.UID)
	case !equality.Semantic.DeepEqual(got.Content, want.Content):
		return fmt.Errorf("its content differs: %.300q, not %.300q", fmt.Sprint(got.Content), fmt.Sprint(want.Content))
	}
	got.Content, want.Content = nil, nil
	if got != want {
		return fmt.Errorf("it says %+v, not %+v", got, want)
	}
	return nil
}

// CopyOf returns the copy that a Work puts into its cluster.
func CopyOf(work *unstructured.Unstructured) (model.Copy, error) {
	manifest, err := ManifestOf(work)
	if err != nil {
		return model.Copy{}, err
	}
	says := func(field string) bool {
		set, _, _ := unstructured.NestedBool(work.Object, "spec", field)
		return set
	}
	return model.Copy{
		UID: work.GetAnnotations()[uidAnnotation], Content: contentOf(manifest),
		Suspended: says("suspendDispatching"), Preserved: says("preserveResourcesOnDeletion"),
		Overwrites: manifest.GetAnnotations()[conflictMark] == "overwrite", Retains: manifest.GetLabels()[retainMark] == "true",
		OverriddenBy: work.GetAnnotations()[overriddenBy],
	}, nil
}

// contentOf is what is in an object, without what only concerns the control plane.
func contentOf(u *unstructured.Unstructured) *model.Content {
	return &model.Content{
		Identity: u.GetAPIVersion() + " " + u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName(),
		Payload:  payload(u), Labels: own(u.GetLabels()), Annotations: own(u.GetAnnotations()),
	}
}

// payload is an object without the fields that all objects have.
func payload(u *unstructured.Unstructured) map[string]any {
	content := maps.Clone(u.Object)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, field)
	}
	return content
}

// own filters labels or annotations down to the user's: not Karmada's, karmada-mirror's or
// kubectl's bookkeeping.
func own(all map[string]string) map[string]string {
	mine := map[string]string{}
	for key, value := range all {
		domain, _, _ := strings.Cut(key, "/")
		if domain != "karmada.target" && domain != "karmada.io" && !strings.HasSuffix(domain, ".karmada.io") && domain != "kubectl.kubernetes.io" {
			mine[key] = value
		}
	}
	return mine
}

// Applied converts an object for [model], and returns its key there.
func Applied(u *unstructured.Unstructured) (model.Key, *model.Object) {
	o := &model.Object{
		UID: string(u.GetUID()), Annotations: u.GetAnnotations(), Labels: u.GetLabels(), Content: contentOf(u),
		Finalized: slices.Contains(u.GetFinalizers(), finalizer),
	}
	o.Leaving = o.Finalized && u.GetDeletionTimestamp() != nil
	if u.GetKind() == "Cluster" {
		o.Region, _, _ = unstructured.NestedString(u.Object, "spec", "region")
		o.Provider, _, _ = unstructured.NestedString(u.Object, "spec", "provider")
		o.Zones, _, _ = unstructured.NestedStringSlice(u.Object, "spec", "zones")
	}
	return model.Key{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}, o
}

// Scaled is the object that an autoscaler scales.
func Scaled(autoscaler *unstructured.Unstructured) model.Key {
	kind, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", "kind")
	name, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", "name")
	return model.Key{Kind: kind, Namespace: autoscaler.GetNamespace(), Name: name}
}

// WorkKey is the namespace/name of an object's Work on a cluster, by Karmada's rule.
func WorkKey(cluster string, k model.Key) string {
	return names.ExecutionSpacePrefix + cluster + "/" + names.GenerateWorkName(k.Kind, k.Name, k.Namespace)
}

// Overriding makes an override policy, of the form that [model] knows. The kind in its key says
// whether it is cluster-wide.
func Overriding(key model.Key, p *model.Policy) *unstructured.Unstructured {
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
	return Object("policy.karmada.io/v1alpha1", key.Kind, key.Namespace, key.Name, map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": versionOf(p.Kind), "kind": p.Kind}},
		"overrideRules":     []any{rule},
	}})
}

// versionOf is the API version of the kinds that override policies select in tests.
func versionOf(kind string) string {
	if kind == "ConfigMap" {
		return "v1"
	}
	return "apps/v1"
}

// SourceNamespace is the namespace of the source that a Work names: the second of three
// parts, <kind>[.<group>]/<namespace>/<name>.
func SourceNamespace(work *unstructured.Unstructured) string {
	if parts := strings.Split(work.GetAnnotations()[sourceAnnotation], "/"); len(parts) == 3 {
		return parts[1]
	}
	return ""
}

// Writes counts the daemons' writes, by "verb resource". A write that failed with a
// conflict is not counted: Karmada's status updates change Works all the time.
func (a AuditLog) Writes(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, r := range a.Requests(t) {
		isConflict := r.ResponseStatus.Code == http.StatusConflict && r.Verb != "create"
		if isConflict || slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			continue
		}
		key := r.Verb + " " + r.ObjectRef.Resource
		if !r.Succeeded() {
			key += fmt.Sprintf(" failed with %d", r.ResponseStatus.Code)
		}
		counts[key]++
	}
	return counts
}
