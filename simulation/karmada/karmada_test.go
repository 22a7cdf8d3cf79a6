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

func ref(gr schema.GroupResource, namespace, name string) apiserver.Ref {
	return apiserver.Ref{Resource: gr, Namespace: namespace, Name: name}
}

func workRef(name string) apiserver.Ref { return ref(works, "karmada-es-m1", name) }

// condition is the status and the reason of a condition of a Work.
func (w *world) condition(work, of string) string {
	list, _, _ := unstructured.NestedSlice(w.control.Get(workRef(work)), "status", "conditions")
	for _, item := range list {
		if c := item.(object); c["type"] == of {
			return fmt.Sprint(c["status"], " ", c["reason"])
		}
	}
	return ""
}

func (w *world) want(what string, got, want any) {
	w.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		w.t.Errorf("%s: %s", what, d)
	}
}

func (w *world) edit(s *apiserver.Store, r apiserver.Ref, change func(object)) {
	w.t.Helper()
	_, err := s.Modify(r, "", change)
	w.must(err)
	w.wait(0)
}

func set(value any, path ...string) func(object) {
	return func(o object) { _ = unstructured.SetNestedField(o, value, path...) }
}

// editManifest sets a field of the manifest of a Work.
func (w *world) editManifest(work string, value any, path ...string) {
	w.edit(w.control, workRef(work), func(o object) {
		list, _, _ := unstructured.NestedSlice(o, "spec", "workload", "manifests")
		set(value, path...)(list[0].(object))
		set(list, "spec", "workload", "manifests")(o)
	})
}

func (w *world) inMember(gr schema.GroupResource, name string, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(w.m1.Store.Get(ref(gr, "n", name)), path...)
	return value
}

// TestVersions are the differences of 1.19.
func TestVersions(t *testing.T) {
	for version, want := range map[karmada.Version]struct{ repair, recreated, unknown string }{
		karmada.V118: {"True AppliedSuccessful", "", "False AppliedFailed"},
		karmada.V119: {"False AppliedFailed", "again", ""},
	} {
		inWorld(t, version, func(w *world) {
			w.create(w.control, works, workOf("misnamed", configMap("again")))
			w.wait(time.Second)
			w.must(w.m1.Store.Delete(ref(configMaps, "n", "c"), metav1.DeleteOptions{}))
			w.wait(time.Second)
			recreated, _ := w.inMember(configMaps, "c", "data", "k").(string)
			w.want("a deleted object, whose Work has another name", recreated, want.recreated)

			w.create(w.control, works, workOf("d", deployment(1)))
			w.wait(time.Second)
			w.edit(w.m1.Store, ref(deployments, "n", "d"), set(int64(5), "spec", "replicas"))
			w.want("a repair", w.inMember(deployments, "d", "spec", "replicas"), any(int64(1)))
			w.m1.Sick(true)
			w.edit(w.m1.Store, ref(deployments, "n", "d"), set(int64(5), "spec", "replicas"))
			w.want("a repair that fails", w.condition("d", "Applied"), want.repair)
			w.m1.Sick(false)
			w.wait(time.Minute)
			w.want("a repair that failed at first", w.inMember(deployments, "d", "spec", "replicas"), any(int64(1)))

			stop := w.m1.Refuse(func(o object) error { return errors.New(fmt.Sprint("no ", o["kind"])) })
			w.create(w.control, works, workOf("r", configMap("refused")))
			w.wait(time.Minute)
			w.want("an object that is refused", w.condition("r", "Applied"), "False AppliedFailed")
			stop()
			w.wait(2 * time.Minute)
			w.want("an object that was refused", w.condition("r", "Applied"), "True AppliedSuccessful")

			w.create(w.control, works, workOf("u", object{"apiVersion": "example.com/v1", "kind": "Unknown", "metadata": object{"name": "u"}}))
			w.wait(time.Second)
			w.want("a kind that the member has not", w.condition("u", "Applied"), want.unknown)
			w.must(w.m1.Serve(apiserver.Resource{Group: "example.com", Versions: []string{"v1"}, Resource: "unknowns", Kind: "Unknown", ListKind: "UnknownList", Namespaced: true, Custom: true}))
			w.wait(10 * time.Second)
			w.want("a kind that the member has got", w.condition("u", "Applied"), "True AppliedSuccessful")
		})
	}
}

// TestEvents: 25 about a Work at once, then one in five minutes, and none is older than an hour.
func TestEvents(t *testing.T) {
	inWorld(t, karmada.V118, func(w *world) {
		succeeded := func() (count int64) {
			for _, e := range w.control.List(schema.GroupResource{Resource: "events"}, "karmada-es-m1") {
				if about, _, _ := unstructured.NestedString(e, "involvedObject", "name"); about == "c" && e["reason"] == "SyncSucceed" {
					count = e["count"].(int64)
				}
			}
			return count
		}
		w.create(w.control, works, workOf("c", configMap("0")))
		w.wait(0)
		for i := range 40 {
			w.editManifest("c", fmt.Sprint(i+1), "data", "k")
		}
		w.want("at once", succeeded(), int64(24)) // and one about the condition Dispatching
		w.wait(5 * time.Minute)
		w.editManifest("c", "later", "data", "k")
		w.want("later", succeeded(), int64(42))
		w.wait(2 * time.Hour)
		w.want("in the end", succeeded(), int64(0))
	})
}
