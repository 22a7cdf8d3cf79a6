package karmada_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/karmada"
	"github.com/karmada-target/karmada-mirror/simulation/karmada/trace"
)

// TestReplay plays the scripts that a real Karmada 1.18.2 was recorded with (sandbox/pinned).
func TestReplay(t *testing.T) {
	for _, script := range trace.Scripts {
		t.Run(script.Name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "traces", script.Name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want []trace.Moment
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			inWorld(t, karmada.V118, func(w *world) {
				moments, err := w.player().Play(script)
				w.must(err)
				if d := cmp.Diff(want, moments); d != "" {
					w.t.Error(d)
				}
			})
		})
	}
}

func (w *world) player() *trace.Player {
	client := func(s *apiserver.Store) dynamic.Interface {
		return dynamic.NewForConfigOrDie(&rest.Config{Host: "http://simulated", QPS: -1, Transport: s.NewServer()})
	}
	w.m1.SetFailing(func(object) bool { return true }) // as in a member without nodes
	w.create(w.control, namespaces, object{"kind": "Namespace", "metadata": object{"name": trace.Namespace}})
	w.wait(time.Second)
	source := func(gvr schema.GroupVersionResource, o *unstructured.Unstructured) apiserver.Ref {
		return ref(gvr.GroupResource(), o.GetNamespace(), o.GetName())
	}
	return &trace.Player{
		Ctx: w.t.Context(), Control: client(w.control), Member: client(w.m1.Store), Cluster: w.m1.Name,
		Away: func(isAway bool) error { return w.k.SetReady(w.m1.Name, !isAway) },
		Claim: func(gvr schema.GroupVersionResource, o *unstructured.Unstructured) error {
			w.create(w.control, gvr.GroupResource(), o.Object)
			return w.k.Claim(source(gvr, o), w.m1.Name)
		},
		Release: func(gvr schema.GroupVersionResource, o *unstructured.Unstructured) error {
			defer func() { w.must(w.control.Delete(source(gvr, o), metav1.DeleteOptions{})) }()
			return w.k.Release(source(gvr, o))
		},
		Settle: func(look func() (trace.State, error), isRight func(trace.State) bool) (trace.State, error) {
			for deadline := time.Now().Add(20 * time.Minute); ; w.wait(10 * time.Second) {
				w.wait(10 * time.Second)
				s, err := look()
				if err != nil || isRight == nil || isRight(s) || time.Now().After(deadline) {
					return s, err
				}
			}
		},
	}
}
