package karmada_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/karmada"
)

type object = apiserver.Object

var (
	works       = schema.GroupResource{Group: "work.karmada.io", Resource: "works"}
	configMaps  = schema.GroupResource{Resource: "configmaps"}
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
	namespaces  = schema.GroupResource{Resource: "namespaces"}
)

// world is a control plane with one member, m1.
type world struct {
	t       *testing.T
	control *apiserver.Store
	k       *karmada.Karmada
	m1      *karmada.Member
}

func inWorld(t *testing.T, version karmada.Version, f func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, control: apiserver.NewStore(append(apiserver.Builtin(), apiserver.KarmadaResources()...)...)}
		w.k = karmada.New(w.control, karmada.Options{Version: version})
		defer w.k.Close()
		var err error
		w.m1, err = w.k.Join(karmada.Cluster{Name: "m1", Labels: map[string]string{"tier": "a"}})
		w.must(err)
		w.create(w.control, namespaces, object{"kind": "Namespace", "metadata": object{"name": "n"}})
		w.wait(time.Second)
		f(w)
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(s *apiserver.Store, gr schema.GroupResource, o object) {
	w.t.Helper()
	_, err := s.Create(gr, o)
	w.must(err)
}

func (w *world) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// workOf is a Work as the daemon writes it.
func workOf(name string, manifest object) object {
	u := unstructured.Unstructured{Object: manifest}
	u.SetNamespace("n")
	u.SetLabels(map[string]string{"karmada.io/managed": "true"})
	u.SetAnnotations(map[string]string{
		"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": name, "resourcetemplate.karmada.io/uid": "u1", "resourcetemplate.karmada.io/generation": "7",
	})
	return object{
		"kind": "Work", "metadata": object{"namespace": "karmada-es-m1", "name": name, "finalizers": []any{"karmada.io/execution-controller"}},
		"spec": object{"workload": object{"manifests": []any{manifest}}},
	}
}

func configMap(value string) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "c"}, "data": object{"k": value}}
}

func deployment(replicas int64) object {
	return object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "d"},
		"spec": object{"replicas": replicas, "selector": object{}, "template": object{"spec": object{"containers": []any{object{"name": "c", "image": "i"}}}}},
	}
}

// These are the names that GenerateWorkName gives.
const (
	configMapWork  = "c-6d4f5c9f"
	deploymentWork = "d-x"
)

func ref(gr schema.GroupResource, namespace, name string) apiserver.Ref {
	return apiserver.Ref{Resource: gr, Namespace: namespace, Name: name}
}

func workRef(name string) apiserver.Ref { return ref(works, "karmada-es-m1", name) }

func conditions(o object) map[string]string {
	found := map[string]string{}
	list, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, item := range list {
		c := item.(object)
		found[fmt.Sprint(c["type"])] = fmt.Sprint(c["status"], " ", c["reason"])
	}
	return found
}

func TestApply(t *testing.T) {
	for _, version := range []karmada.Version{karmada.V118, karmada.V119} {
		inWorld(t, version, func(w *world) {
			if w.m1.Store.Get(ref(namespaces, "", "n")) == nil {
				t.Fatal("the Namespace has not been synced")
			}
			w.create(w.control, works, workOf("d-a", deployment(2)))
			w.wait(0)
			want := map[string]string{"Applied": "True AppliedSuccessful", "Dispatching": "True Dispatching"}
			if d := cmp.Diff(want, conditions(w.control.Get(workRef("d-a")))); d != "" {
				t.Error(d)
			}
			w.wait(2 * time.Second)
			reports, _, _ := unstructured.NestedSlice(w.control.Get(workRef("d-a")), "status", "manifestStatuses")
			if d := cmp.Diff([]any{object{
				"identifier": object{"ordinal": int64(0), "group": "apps", "version": "v1", "kind": "Deployment", "resource": "", "namespace": "n", "name": "d"},
				"health":     "Healthy",
				"status": object{
					"replicas": int64(2), "updatedReplicas": int64(2), "readyReplicas": int64(2), "availableReplicas": int64(2),
					"observedGeneration": int64(1), "generation": int64(1), "resourceTemplateGeneration": int64(7),
				},
			}}, reports); d != "" {
				t.Error(d)
			}
			_, err := w.m1.Store.Modify(ref(deployments, "n", "d"), "", func(o object) {
				_ = unstructured.SetNestedField(o, int64(5), "spec", "replicas")
			})
			w.must(err)
			w.wait(0)
			if n, _, _ := unstructured.NestedInt64(w.m1.Store.Get(ref(deployments, "n", "d")), "spec", "replicas"); n != 2 {
				t.Error("drift has not been repaired:", n)
			}
			w.must(w.control.Delete(workRef("d-a"), metav1.DeleteOptions{}))
			w.wait(0)
			if w.control.Get(workRef("d-a")) != nil || w.m1.Store.Get(ref(deployments, "n", "d")) != nil {
				t.Error("the Work or its object are left")
			}
		})
	}
}

func TestRefused(t *testing.T) {
	inWorld(t, karmada.V118, func(w *world) {
		stop := w.m1.Refuse(func(o object) error {
			if o["kind"] == "ConfigMap" {
				return errors.New("no")
			}
			return nil
		})
		w.create(w.control, works, workOf("c-a", configMap("1")))
		w.wait(time.Minute)
		if got := conditions(w.control.Get(workRef("c-a")))["Applied"]; got != "False AppliedFailed" {
			t.Error(got)
		}
		stop()
		w.wait(2 * time.Minute)
		if got := conditions(w.control.Get(workRef("c-a")))["Applied"]; got != "True AppliedSuccessful" {
			t.Error(got)
		}
		w.must(w.k.Unjoin("m1"))
		w.wait(time.Minute)
		if left := w.control.List(works, ""); len(left) > 0 || w.m1.Store.Get(ref(configMaps, "n", "c")) != nil {
			t.Error("left:", left)
		}
	})
}
