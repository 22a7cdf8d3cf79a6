package parity

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apifuzzer "k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

// builtinKinds returns all kinds of Kubernetes that have metadata, in all
// versions.
func builtinKinds(t *testing.T) []schema.GroupVersionKind {
	t.Helper()
	var kinds []schema.GroupVersionKind
	for gvk := range scheme.Scheme.AllKnownTypes() {
		obj, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := obj.(metav1.ObjectMetaAccessor); ok && gvk.Version != runtime.APIVersionInternal && !meta.IsListType(obj) {
			kinds = append(kinds, gvk)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

const prunedObjects = 200

// forEachKind calls do in parallel with filled objects of each built-in kind,
// manyObjects in all. The objects are the same each time.
func forEachKind(t *testing.T, do func(t *testing.T, sources []*unstructured.Unstructured)) {
	t.Helper()
	kinds := builtinKinds(t)
	for i, gvk := range kinds {
		t.Run(strings.ReplaceAll(gvk.GroupVersion().String()+"."+gvk.Kind, "/", "."), func(t *testing.T) {
			t.Parallel()
			objects := manyObjects/len(kinds) + 1
			if slices.Contains(prunedKinds, gvk.Kind) {
				objects = prunedObjects
			}
			filler, random := newFiller(int64(i)), rand.New(rand.NewSource(int64(i)))
			sources := make([]*unstructured.Unstructured, objects)
			for n := range sources {
				sources[n] = fill(t, filler, random, gvk, fmt.Sprint("object-", n))
			}
			do(t, sources)
		})
	}
}

// prunedKinds are the kinds that Karmada prunes by their name.
var prunedKinds = []string{"Job", "Service", "Secret", "ServiceAccount", "Deployment", "PersistentVolumeClaim"}

// newFiller fills built-in types with meaningless values of the right types.
func newFiller(seed int64) *randfill.Filler {
	raw := func(serializer.CodecFactory) []any {
		return []any{
			func(r *runtime.RawExtension, c randfill.Continue) {
				r.Raw = fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Parameters","number":%d,"null":null}`, c.Intn(100))
			},
		}
	}
	funcs := apifuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, raw)
	return apifuzzer.FuzzerFor(funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme.Scheme)).NumElements(0, 2).MaxDepth(10)
}

// fill makes an object as the API server would return it, named and salted with
// what Strip and Karmada's prune look for.
func fill(t *testing.T, filler *randfill.Filler, random *rand.Rand, gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	t.Helper()
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	filler.Fill(typed)
	encoded, err := json.Marshal(typed)
	if err != nil {
		t.Fatalf("cannot encode a %s: %v", gvk, err)
	}
	obj := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(encoded, &obj.Object); err != nil {
		t.Fatalf("cannot decode a %s: %v", gvk, err)
	}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace("shop")
	obj.SetName(name)
	salt(obj, random)
	return obj
}

var saltyLabels = []string{
	"app", "karmada.target/any", "karmada.io/managed", "karmada.io/system", "work.karmada.io/permanent-id",
	"resourcetemplate.karmada.io/retain-replicas", "resourcetemplate.karmada.io/claimed-by", "namespace.karmada.io/skip-auto-propagation",
	"propagationpolicy.karmada.io/permanent-id", "clusterpropagationpolicy.karmada.io/permanent-id", "resourcebinding.karmada.io/permanent-id",
}

var saltyAnnotations = []string{
	"team", "karmada.target/clusters", "karmada.target/conflict-resolution", corev1.LastAppliedConfigAnnotation, "work.karmada.io/conflict-resolution",
	"work.karmada.io/name", "work.karmada.io/namespace", "propagationpolicy.karmada.io/name", "clusterpropagationpolicy.karmada.io/permanent-id", "karmada.io/any",
	"resourcetemplate.karmada.io/managed-annotations", "resourcetemplate.karmada.io/managed-labels", "resourcetemplate.karmada.io/uid",
	"resourcetemplate.karmada.io/generation", "resourcetemplate.karmada.io/retain-replicas", "deployment.kubernetes.io/revision",
	"deployment.kubernetes.io/revision-history", "volume.kubernetes.io/selected-node", corev1.ServiceAccountUIDKey,
}

func salt(obj *unstructured.Unstructured, random *rand.Rand) {
	some := func(existing map[string]string, keys []string) map[string]string {
		for _, key := range keys {
			if random.Intn(4) == 0 {
				if existing == nil {
					existing = map[string]string{}
				}
				existing[key] = []string{"true", "x", "overwrite"}[random.Intn(3)]
			}
		}
		return existing
	}
	obj.SetLabels(some(obj.GetLabels(), saltyLabels))
	obj.SetAnnotations(some(obj.GetAnnotations(), saltyAnnotations))
	saltKind(obj, random)
}

// saltKind sets the fields that depend on the kind, where there is room.
func saltKind(obj *unstructured.Unstructured, random *rand.Rand) {
	set := func(value any, path ...string) {
		if random.Intn(3) > 0 {
			// If something else is in the way, the object stays as it is.
			_ = unstructured.SetNestedField(obj.Object, value, path...)
		}
	}
	generated := map[string]any{"controller-uid": "1", "batch.kubernetes.io/controller-uid": "1", "job-name": "j", "batch.kubernetes.io/job-name": "j", "a": "b"}
	switch obj.GetKind() {
	case "Job":
		set(random.Intn(2) == 0, "spec", "manualSelector")
		set(int64(60), "spec", "ttlSecondsAfterFinished")
		set(generated, "spec", "selector", "matchLabels")
		set(generated, "spec", "template", "metadata", "labels")
	case "Service":
		ip := []string{"10.0.0.1", "None", ""}[random.Intn(3)]
		set(ip, "spec", "clusterIP")
		set([]any{ip}, "spec", "clusterIPs")
	case "Secret":
		set(string(corev1.SecretTypeServiceAccountToken), "type")
		set(map[string]any{"token": "eA=="}, "data")
	case "ServiceAccount":
		secrets := []any{}
		for i := range random.Intn(6) {
			name := []string{obj.GetName() + "-token-", "mine-"}[random.Intn(2)]
			secrets = append(secrets, map[string]any{"name": fmt.Sprint(name, i)})
		}
		set(secrets, "secrets")
	}
}

// vocabulary is what random shapes are made of.
var vocabulary = []string{
	"spec", "status", "data", "type", "secrets", "name", "selector", "matchLabels", "template", "metadata", "labels", "annotations",
	"clusterIP", "clusterIPs", "manualSelector", "ttlSecondsAfterFinished", "controller-uid", "job-name", "items",
}

// shape makes arbitrary JSON from the vocabulary.
func shape(random *rand.Rand, depth int) any {
	choice := random.Intn(10)
	switch {
	case depth > 0 && choice < 5:
		fields := map[string]any{}
		for range random.Intn(6) {
			fields[vocabulary[random.Intn(len(vocabulary))]] = shape(random, depth-1)
		}
		return fields
	case depth > 0 && choice < 7:
		list := make([]any, random.Intn(4))
		for i := range list {
			list[i] = shape(random, depth-1)
		}
		return list
	}
	leaves := []any{
		nil, true, false, int64(0), int64(7), -1.5, 2.0, 1e21, 1e-7, "", "x", "None", "10.0.0.1", "odd-token-1",
		string(corev1.SecretTypeServiceAccountToken), "\u2028<&>\"\\\x00",
	}
	return leaves[random.Intn(len(leaves))]
}

// oddKind makes an object of a foreign group whose kind has the name of a
// built-in one.
func oddKind(random *rand.Rand, kind string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	for range 2 + random.Intn(10) {
		obj.Object[vocabulary[random.Intn(len(vocabulary))]] = shape(random, 4)
	}
	delete(obj.Object, "metadata")
	obj.SetAPIVersion("example.com/v1")
	obj.SetKind(kind)
	obj.SetNamespace("shop")
	obj.SetName("odd")
	salt(obj, random)
	return obj
}
