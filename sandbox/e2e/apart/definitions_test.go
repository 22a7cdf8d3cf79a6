package apart

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestDefinitions: the definition of a custom resource goes along with its first object to a member that lacks it, changes as it does,
// and stays when the object goes. A member that has one of its own keeps it, until it is to be overwritten.
func TestDefinitions(t *testing.T) {
	const definition = "virtualmachines.cloudnative.czs"
	machines, ns := schema.GroupVersionResource{Group: "cloudnative.czs", Version: "v1alpha1", Resource: "virtualmachines"}, NewNamespace(t)
	install(t, "- {group: cloudnative.czs, resource: virtualmachines, definitions: Mirror}\n")
	for _, file := range []string{"crd.yaml", "clusterrole.yaml"} {
		Must(t, karmada.Apply(t.Context(), Env.Config(), RepositoryFile(t, "examples", "virtualmachine", file)))
	}
	Must(t, karmada.Apply(t.Context(), Env.MemberConfig(Pull), RepositoryFile(t, "examples", "virtualmachine", "crd.yaml")))
	t.Cleanup(func() {
		_ = Env.Admin.Resource(Definitions).Delete(context.Background(), definition, metav1.DeleteOptions{})
	})
	StartDaemon(t, DaemonOptions{})

	machine := func(name, clusters string) *unstructured.Unstructured {
		return Asking(Object("cloudnative.czs/v1alpha1", "VirtualMachine", ns, name, map[string]any{"spec": map[string]any{
			"action": "start", "resource": map[string]any{"cpu": int64(1), "memory": "1Gi", "rootDisk": "1Gi"},
		}}), clusters)
	}
	hasShortName := func(ctx context.Context) error {
		u, err := Env.Member(Push).Resource(Definitions).Get(ctx, definition, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if names, _, err := unstructured.NestedStringSlice(u.Object, "spec", "names", "shortNames"); err != nil || !slices.Contains(names, "vmx") {
			return fmt.Errorf("its short names are %v: %w", names, err)
		}
		return nil
	}
	isManaged := func(member string, want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			u, err := Env.Member(member).Resource(Definitions).Get(ctx, definition, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if has := u.GetLabels()["karmada.io/managed"] == "true"; has != want {
				return fmt.Errorf("it is managed by Karmada: %t", has)
			}
			return nil
		}
	}
	Eventually(t, "the first machine", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(machines).Namespace(ns).Create(ctx, machine("one", Push), metav1.CreateOptions{})
		return err
	})
	Eventually(t, "the machine in the member", InMember(Push, machines, ns, "one", "start", "spec", "action"))
	Must(t, isManaged(Push, true)(t.Context()))
	Change(t, Definitions, "", definition, SetField([]any{"vmx"}, "spec", "names", "shortNames"))
	Eventually(t, "the change in the member", hasShortName)

	Create(t, machines, machine("two", Pull))
	Eventually(t, "the machine in the member with a definition of its own", InMember(Pull, machines, ns, "two", "start", "spec", "action"))
	Must(t, isManaged(Pull, false)(t.Context()))
	WantLine(t, MustKarmadaMirror(t, "status", "crd"), definition+` +`+Pull+` .*already exists in the cluster`)
	Change(t, Definitions, "", definition, SetAnnotation("karmada.target/conflict-resolution", "overwrite"))
	Eventually(t, "the definition to be taken over", isManaged(Pull, true))
	if output, err := TryKubectl(t, "annotate", "crd", definition, "karmada.target/clusters=*"); err == nil {
		t.Errorf("it may choose clusters: %s", output)
	}

	Remove(t, machines, ns, "one")
	WantGone(t, machines, ns, "one", Push)
	workName := WorkOf(render.Identity{Group: Definitions.Group, Kind: "CustomResourceDefinition", Name: definition}, Push)
	work := MustWork(t, workName)
	if preserves, _, _ := unstructured.NestedBool(work.Object, "spec", "preserveResourcesOnDeletion"); !preserves {
		t.Error("its Work does not preserve it")
	}
	Must(t, Env.Admin.Resource(Definitions).Delete(t.Context(), definition, metav1.DeleteOptions{}))
	Eventually(t, "its Work to be gone", func(ctx context.Context) error {
		_, err := GetWork(ctx, workName)
		return Absent(err)
	})
	for _, member := range []string{Push, Pull} {
		if _, err := Env.Member(member).Resource(Definitions).Get(t.Context(), definition, metav1.GetOptions{}); err != nil {
			t.Errorf("%s has lost the definition: %v", member, err)
		}
	}
}
