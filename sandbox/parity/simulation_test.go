package parity

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	"github.com/karmada-io/karmada/pkg/util/names"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/karmada-target/karmada-mirror/simulation/karmada"
)

// simulatedKinds are those that the simulated Karmada knows more of than it knows of all.
var simulatedKinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "PersistentVolumeClaim"}, {Version: "v1", Kind: "Node"},
}

// TestSimulation compares the simulated Karmada with what it stands for: its webhook, what it retains in members, reports
// of them and calls healthy.
func TestSimulation(t *testing.T) {
	s, interpreter := newServer(t), native.NewDefaultInterpreter()
	for _, gvk := range simulatedKinds {
		t.Run(gvk.Kind, func(t *testing.T) {
			filler, random := newFiller(1), rand.New(rand.NewSource(1))
			before := fill(t, filler, random, gvk, "before")
			for i := range 100 {
				o := fill(t, filler, random, gvk, fmt.Sprint("Object:", i))
				if want, got := names.GenerateWorkName(gvk.Kind, o.GetName(), o.GetNamespace()), karmada.WorkName(gvk.Kind, o.GetName(), o.GetNamespace()); got != want {
					t.Fatalf("the name of a Work is %q, not %q", got, want)
				}
				compareAdmission(t, s, o)
				makePlausible(o, random)
				compareStatus(t, interpreter, o)
				if gvk.Kind == "Deployment" && i%2 == 0 {
					_ = unstructured.SetNestedField(before.Object, int64(0), "spec", "replicas") // it has a spec
				}
				compareRetention(t, interpreter, o, before)
				before = o
			}
		})
	}
	for _, kind := range prunedKinds {
		random := rand.New(rand.NewSource(1))
		for range 100 {
			compareAdmission(t, s, oddKind(random, kind))
		}
	}
}

// makePlausible gives an object a small generation and small counts, which agree often.
func makePlausible(o *unstructured.Unstructured, random *rand.Rand) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey] = []string{"0", "7", "7", "x"}[random.Intn(4)]
	o.SetAnnotations(annotations)
	o.SetGeneration(int64(random.Intn(3)))
	if o.GetKind() == "Service" && random.Intn(3) > 0 {
		_ = unstructured.SetNestedField(o.Object, "LoadBalancer", "spec", "type") // it has a spec
	}
	for _, part := range []string{"spec", "status"} {
		fields, _, _ := unstructured.NestedMap(o.Object, part)
		for key, value := range fields {
			if _, is := value.(int64); is {
				_ = unstructured.SetNestedField(o.Object, int64(random.Intn(3)), part, key) // it is there
			}
		}
	}
}

func fail(t *testing.T, what string, o *unstructured.Unstructured, diff string) {
	t.Helper()
	if diff != "" {
		t.Fatalf("%s: %s %v", what, diff, o.Object)
	}
}

func compareAdmission(t *testing.T, s *server, o *unstructured.Unstructured) {
	work := map[string]any{
		"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": map[string]any{"name": "w", "labels": map[string]any{workv1alpha2.WorkPermanentIDLabel: "id"}},
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{o.DeepCopy().Object}}},
	}
	encoded, err := json.Marshal(work)
	if err != nil {
		t.Fatal(err)
	}
	admitted, err := s.admit(t, encoded)
	got, gotErr := karmada.AdmitWork("CREATE", schema.GroupResource{Group: "work.karmada.io", Resource: "works"}, "", decode(t, encoded), nil)
	if (err != nil) != (gotErr != nil) {
		t.Fatalf("the webhook: %v, not %v: %v", gotErr, err, o.Object)
	}
	if err == nil {
		fail(t, "the webhook", o, cmp.Diff(decode(t, admitted)["spec"], got["spec"]))
	}
}

func compareStatus(t *testing.T, interpreter *native.DefaultInterpreter, o *unstructured.Unstructured) {
	raw, err := interpreter.ReflectStatus(o)
	got, gotErr := karmada.Reflect(o.Object)
	if (err != nil) != (gotErr != nil) {
		t.Fatalf("reflect: %v, not %v: %v", gotErr, err, o.Object)
	}
	var want map[string]any
	if raw != nil {
		if err := kjson.Unmarshal(raw.Raw, &want); err != nil {
			t.Fatal(err)
		}
	}
	fail(t, "reflect", o, cmp.Diff(want, got))
	isInterpreted := interpreter.HookEnabled(o.GroupVersionKind(), configv1alpha1.InterpreterOperationInterpretHealth)
	wantHealth, err := interpreter.InterpretHealth(o)
	if got, gotInterpreted := karmada.Health(o.Object); gotInterpreted != isInterpreted || isInterpreted && (err != nil || got != wantHealth) {
		t.Fatalf("health: %t, not %t: %v", got, wantHealth, o.Object)
	}
}

func compareRetention(t *testing.T, interpreter *native.DefaultInterpreter, o, before *unstructured.Unstructured) {
	if !interpreter.HookEnabled(o.GroupVersionKind(), configv1alpha1.InterpreterOperationRetain) {
		return
	}
	want, err := func() (kept *unstructured.Unstructured, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("it panics: %v", r)
			}
		}()
		return interpreter.Retain(o.DeepCopy(), before.DeepCopy())
	}()
	got := o.DeepCopy()
	if gotErr := karmada.Retain(got.Object, before.DeepCopy().Object); (err != nil) != (gotErr != nil) {
		t.Fatalf("retain: %v, not %v: %v", gotErr, err, o.Object)
	}
	if err == nil { // an API server takes nil for nothing
		fail(t, "retain", o, cmp.Diff(want.Object, got.Object, cmpopts.IgnoreMapEntries(func(_ string, value any) bool {
			list, is := value.([]any)
			return is && list == nil
		})))
	}
}
