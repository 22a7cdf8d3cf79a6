package karmada

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

func in(o Object) *unstructured.Unstructured { return &unstructured.Unstructured{Object: o} }

func copyOf(o Object) Object { return runtime.DeepCopyJSON(o) }

func isEnding(o Object) bool { return in(o).GetDeletionTimestamp() != nil }

func refOf(gr schema.GroupResource, o Object) apiserver.Ref {
	return apiserver.Ref{Resource: gr, Namespace: in(o).GetNamespace(), Name: in(o).GetName()}
}

// at is the value at a path, not copied; nil if there is none.
func at(o Object, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	return value
}

func stringAt(o Object, path ...string) string { s, _ := at(o, path...).(string); return s }
func boolAt(o Object, path ...string) bool     { b, _ := at(o, path...).(bool); return b }
func intAt(o Object, path ...string) int64     { n, _ := at(o, path...).(int64); return n }
func listAt(o Object, path ...string) []any    { l, _ := at(o, path...).([]any); return l }
func objectAt(o Object, path ...string) Object { m, _ := at(o, path...).(Object); return m }

// merge adds labels or annotations to an object, or replaces their values.
func merge(o Object, field string, values map[string]string) {
	have, _, _ := unstructured.NestedStringMap(o, "metadata", field)
	if have == nil {
		have = map[string]string{}
	}
	if maps.Copy(have, values); len(have) > 0 {
		_ = unstructured.SetNestedStringMap(o, have, "metadata", field) // metadata is an object
	}
}

// without removes labels and annotations from an object.
func without(o Object, labels, annotations []string) {
	for field, keys := range map[string][]string{"labels": labels, "annotations": annotations} {
		for _, key := range keys {
			unstructured.RemoveNestedField(o, "metadata", field, key)
		}
		if m := objectAt(o, "metadata", field); m != nil && len(m) == 0 {
			unstructured.RemoveNestedField(o, "metadata", field)
		}
	}
}

// setStatus changes an object's status, and writes nothing unless something has changed. What it passes is a copy, but
// not the values in it.
func setStatus(s *apiserver.Store, ref apiserver.Ref, change func(status Object)) error {
	for {
		old := s.Get(ref)
		if old == nil {
			return apierrors.NewNotFound(ref.Resource, ref.Name)
		}
		status := Object{}
		maps.Copy(status, objectAt(old, "status"))
		if change(status); len(status) == 0 || equality.Semantic.DeepEqual(status, objectAt(old, "status")) {
			return nil
		}
		_, err := s.Update(ref.Resource, Object{"metadata": old["metadata"], "status": status}, "status")
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// setCondition does what meta.SetStatusCondition does.
func setCondition(status Object, of, value, reason, message string) {
	conditions := slices.Clone(listAt(status, "conditions"))
	condition := Object{"type": of, "status": value, "reason": reason, "message": message, "lastTransitionTime": now()}
	i := slices.IndexFunc(conditions, func(c any) bool { return stringAt(c.(Object), "type") == of })
	if i < 0 {
		i, conditions = len(conditions), append(conditions, nil)
	} else if old := conditions[i].(Object); old["status"] == value {
		condition["lastTransitionTime"] = old["lastTransitionTime"]
	}
	conditions[i] = condition
	status["conditions"] = conditions
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// conditionOf is the status of a condition, "" if there is none.
func conditionOf(o Object, of string) string {
	for _, item := range listAt(o, "status", "conditions") {
		if c, _ := item.(Object); stringAt(c, "type") == of {
			return stringAt(c, "status")
		}
	}
	return ""
}

func isTrue(o Object, of string) bool { return conditionOf(o, of) == string(metav1.ConditionTrue) }

func removeFinalizer(s *apiserver.Store, ref apiserver.Ref, finalizer string) error {
	_, err := s.Modify(ref, "", func(o Object) {
		in(o).SetFinalizers(slices.DeleteFunc(in(o).GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// manifests are the objects in a Work, as they are stored.
func manifests(work Object) (all []Object) {
	for _, item := range listAt(work, "spec", "workload", "manifests") {
		if o, is := item.(Object); is {
			all = append(all, o)
		}
	}
	return all
}

// WorkName is the name of a Work (GenerateWorkName, pkg/util/names/names.go).
func WorkName(kind, name, namespace string) string {
	name = strings.ToLower(strings.ReplaceAll(name, ":", "."))
	full := strings.ToLower(name + "-" + kind)
	if namespace != "" {
		full = strings.ToLower(namespace + "-" + full)
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(full))
	return name + "-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// record writes down which labels and annotations Karmada manages (SetLabelsAndAnnotationsForWorkload, pkg/util/work.go).
func record(o Object, permanentID string) {
	keys := map[string]string{workv1alpha2.ManagedAnnotation: "", workv1alpha2.ManagedLabels: ""}
	maps.Copy(keys, in(o).GetAnnotations())
	annotations := map[string]string{workv1alpha2.ManagedAnnotation: joined(keys)}
	if permanentID != "" {
		merge(o, "labels", map[string]string{workv1alpha2.WorkPermanentIDLabel: permanentID})
	}
	annotations[workv1alpha2.ManagedLabels] = joined(in(o).GetLabels())
	merge(o, "annotations", annotations)
}

func joined(keys map[string]string) string { return strings.Join(slices.Sorted(maps.Keys(keys)), ",") }
