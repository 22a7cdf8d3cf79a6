//go:build long

// Package traces plays the scripts of simulation/karmada/trace on a real Karmada. The simulated one must do the same.
package traces

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/simulation/karmada/trace"
)

var update = flag.Bool("update", false, "record the traces again")

const (
	// settle is how long a state must not change to count as the end. A status of a member is reported within a second.
	settle = 4 * time.Second
	// patience is for a Work that is retried with a backoff while its cluster was away.
	patience = 4 * time.Minute
)

// TestTraces compares what a real Karmada does, with a member in push and one in pull mode, with what was recorded.
func TestTraces(t *testing.T) {
	k := startKarmada(t, karmada.Member{Name: "push", Mode: clusterv1alpha1.Push}, karmada.Member{Name: "pull", Mode: clusterv1alpha1.Pull})
	control := dynamic.NewForConfigOrDie(k.Config())
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": trace.Namespace}}}
	if _, err := control.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{"push", "pull"} {
		member := dynamic.NewForConfigOrDie(k.MemberConfig(cluster))
		if err := k.Wait(t.Context(), "the Namespace in "+cluster, func(ctx context.Context) error {
			_, err := member.Resource(namespaces).Get(ctx, trace.Namespace, metav1.GetOptions{})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, script := range trace.Scripts {
		t.Run(script.Name, func(t *testing.T) {
			for _, cluster := range []string{"push", "pull"} {
				moments, err := playerOf(t, k, control, cluster).Play(script)
				if err != nil {
					t.Fatal(cluster, err)
				}
				file := filepath.Join("..", "..", "..", "simulation", "karmada", "testdata", "traces", script.Name+".json")
				if *update && cluster == "push" {
					if err := os.WriteFile(file, encode(moments), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var recorded []trace.Moment
				if err := json.Unmarshal(data, &recorded); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(recorded, moments); d != "" {
					t.Errorf("%s: %s", cluster, d)
				}
			}
		})
	}
}

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	policies   = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	bindings   = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	clusters   = schema.GroupVersionResource{Group: clusterv1alpha1.GroupName, Version: clusterv1alpha1.GroupVersion.Version, Resource: clusterv1alpha1.ResourcePluralCluster}
)

func playerOf(t *testing.T, k *karmada.Karmada, control dynamic.Interface, cluster string) *trace.Player {
	ctx := t.Context()
	return &trace.Player{
		Ctx: ctx, Control: control, Member: dynamic.NewForConfigOrDie(k.MemberConfig(cluster)), Cluster: cluster,
		Away: func(isAway bool) error {
			server := k.Component(karmada.MemberAPIServer(cluster))
			if isAway {
				if err := server.Stop(); err != nil {
					return err
				}
			} else if err := server.Restart(ctx); err != nil {
				return err
			}
			return k.Wait(ctx, fmt.Sprintf("cluster %s to be away: %t", cluster, isAway), func(ctx context.Context) error {
				u, err := control.Resource(clusters).Get(ctx, cluster, metav1.GetOptions{})
				if err != nil {
					return err
				}
				var c clusterv1alpha1.Cluster
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &c); err != nil {
					return err
				}
				if isReady := meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady); isReady == isAway {
					return fmt.Errorf("it is ready: %t", isReady)
				}
				return nil
			})
		},
		Claim: func(gvr schema.GroupVersionResource, source *unstructured.Unstructured) error {
			if _, err := control.Resource(gvr).Namespace(trace.Namespace).Create(ctx, source, metav1.CreateOptions{}); err != nil {
				return err
			}
			policy := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": policies.GroupVersion().String(), "kind": "PropagationPolicy", "metadata": map[string]any{"name": "policy"},
				"spec": map[string]any{
					"resourceSelectors": []any{map[string]any{"apiVersion": source.GetAPIVersion(), "kind": source.GetKind(), "name": source.GetName()}},
					"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{cluster}}},
				},
			}}
			_, err := control.Resource(policies).Namespace(trace.Namespace).Create(ctx, policy, metav1.CreateOptions{})
			return err
		},
		Release: func(gvr schema.GroupVersionResource, source *unstructured.Unstructured) error {
			if err := control.Resource(policies).Namespace(trace.Namespace).Delete(ctx, "policy", metav1.DeleteOptions{}); err != nil {
				return err
			}
			all, err := control.Resource(bindings).Namespace(trace.Namespace).List(ctx, metav1.ListOptions{LabelSelector: workv1alpha2.ResourceBindingPermanentIDLabel})
			if err != nil {
				return err
			}
			for _, b := range all.Items {
				if err := control.Resource(bindings).Namespace(trace.Namespace).Delete(ctx, b.GetName(), metav1.DeleteOptions{}); err != nil {
					return err
				}
			}
			return control.Resource(gvr).Namespace(trace.Namespace).Delete(ctx, source.GetName(), metav1.DeleteOptions{})
		},
		Settle: func(look func() (trace.State, error), isRight func(trace.State) bool) (trace.State, error) {
			var last trace.State
			since := time.Now()
			for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
				state, err := look()
				switch {
				case err != nil:
					return state, err
				case !cmp.Equal(state, last):
					last, since = state, time.Now()
				case time.Since(since) > settle && (isRight == nil || isRight(state)):
					return state, nil
				case time.Now().After(deadline):
					return state, fmt.Errorf("it is not right: %v", state)
				}
			}
		},
	}
}

// startKarmada starts a Karmada until the test ends.
func startKarmada(t *testing.T, members ...karmada.Member) *karmada.Karmada {
	builder, err := build.New(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	hyperkarmada, err := builder.Hyperkarmada(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k, err := karmada.Start(t.Context(), karmada.Options{
		Dir: t.TempDir(), Programs: karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: builder.KarmadaSources()},
		Members: members, Scheduler: true, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// encode writes a moment a line.
func encode(moments []trace.Moment) []byte {
	lines := make([]string, len(moments))
	for i, m := range moments {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(m) // it has been decoded from JSON
		lines[i] = strings.TrimSpace(b.String())
	}
	return []byte("[\n" + strings.Join(lines, ",\n") + "\n]\n")
}
