package command

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// leg is the path of one source to one member.
type leg struct {
	resource schema.GroupVersionResource
	source   render.Identity
	cluster  string
}

// legs are the pairs of source and member in the examples.
var legs = []leg{
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, render.Identity{Kind: "ConfigMap", Namespace: "hello", Name: "page"}, "member1"},
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, render.Identity{Kind: "ConfigMap", Namespace: "hello", Name: "page"}, "member3"},
	{schema.GroupVersionResource{Version: "v1", Resource: "services"}, render.Identity{Kind: "Service", Namespace: "hello", Name: "nginx"}, "member1"},
	{schema.GroupVersionResource{Version: "v1", Resource: "services"}, render.Identity{Kind: "Service", Namespace: "hello", Name: "nginx"}, "member3"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, render.Identity{Group: "apps", Kind: "Deployment", Namespace: "hello", Name: "nginx"}, "member1"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, render.Identity{Group: "apps", Kind: "Deployment", Namespace: "hello", Name: "nginx"}, "member3"},
	{schema.GroupVersionResource{Group: "cloudnative.czs", Version: "v1alpha1", Resource: "virtualmachines"}, render.Identity{Group: "cloudnative.czs", Kind: "VirtualMachine", Namespace: "machines", Name: "builder"}, "member1"},
}

// works is not taken from package mirror: that would compile the whole daemon before
// the first line of the demo.
var works = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}

// journey follows the examples from source to members.
type journey struct {
	works   dynamic.Interface
	members map[string]dynamic.Interface
	arrived map[leg]bool
}

func newJourney(k *karmada.Karmada) (*journey, error) {
	j := &journey{members: map[string]dynamic.Interface{}, arrived: map[leg]bool{}}
	var err error
	if j.works, err = dynamic.NewForConfig(k.Config()); err != nil {
		return nil, fmt.Errorf("cannot create a client: %w", err)
	}
	for _, member := range members() {
		if j.members[member.Name], err = dynamic.NewForConfig(k.MemberConfig(member.Name)); err != nil {
			return nil, fmt.Errorf("cannot create a client for %q: %w", member.Name, err)
		}
	}
	return j, nil
}

// follow reports every leg that was completed since the last call, and returns an
// error that names an incomplete one.
func (j *journey) follow(ctx context.Context, tell func(line string)) error {
	var missing error
	for _, l := range legs {
		if j.arrived[l] {
			continue
		}
		if err := j.look(ctx, l); err != nil {
			missing = err
			continue
		}
		j.arrived[l] = true
		tell(fmt.Sprintf("%-45s → Work %s/%s → %s", l.source, render.ExecutionNamespace(l.cluster), l.source.WorkName(), l.cluster))
	}
	return missing
}

func (j *journey) look(ctx context.Context, l leg) error {
	work, err := j.works.Resource(works).Namespace(render.ExecutionNamespace(l.cluster)).Get(ctx, l.source.WorkName(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", l.source, err)
	}
	if work.GetLabels()[render.ManagedByLabel] != render.ManagedByValue {
		return fmt.Errorf("the Work of %s is not managed by karmada-mirror", l.source)
	}
	mirrored, err := j.members[l.cluster].Resource(l.resource).Namespace(l.source.Namespace).Get(ctx, l.source.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("%s in %s: %w", l.source, l.cluster, err)
	}
	if value, found, _ := unstructured.NestedString(mirrored.Object, "metadata", "annotations", render.ClustersAnnotation); found {
		return fmt.Errorf("%s in %s still asks for %q", l.source, l.cluster, value)
	}
	return nil
}
