package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// manifests are files with objects that the user may apply.
type manifests struct {
	resource.FilenameOptions
}

func (m *manifests) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&m.Filenames, "filename", "f", nil, "files, folders or URLs with manifests; - for standard input")
	cmd.Flags().StringVarP(&m.Kustomize, "kustomize", "k", "", "a folder with a kustomization")
	cmd.Flags().BoolVarP(&m.Recursive, "recursive", "R", false, "with -f, include subfolders")
}

func (m *manifests) given() bool { return len(m.Filenames) > 0 || m.Kustomize != "" }

// manifest is one object in them.
type manifest struct {
	ref gather.SourceRef
	// written is the object in the file, and obj what the API server would make of it.
	written, obj *unstructured.Unstructured
}

func (m manifest) isNamespace() bool {
	return m.ref.Mapping.Resource.GroupResource() == state.NamespacesResource.GroupResource()
}

// overrides reports whether a manifest is an override policy that counts.
func (d *differ) overrides(m *manifest) bool {
	if !slices.Contains(state.PolicyResources(), m.ref.Mapping.Resource) {
		return false
	}
	if d.configuration == nil {
		d.tell("%s: does not count here, since you may not read whether the daemon's configuration honors override policies", m.ref.Identity())
		return false
	}
	return d.configuration.HonorsPolicies()
}

// assumed visits the sources that applying the manifests would affect.
func (d *differ) assumed(ctx context.Context, visit func(judge.Facts) error) error {
	all, err := d.readManifests()
	if err != nil {
		return err
	}
	// Namespaces first: the objects in them depend on them.
	for _, namespaces := range []bool{true, false} {
		for i := range all {
			if all[i].isNamespace() == namespaces {
				err = errors.Join(err, d.assume(ctx, &all[i]))
			}
		}
	}
	if err != nil {
		return err
	}
	seen := map[render.Identity]bool{}
	once := func(f judge.Facts) error {
		if seen[f.ID] {
			return nil
		}
		seen[f.ID] = true
		return visit(f)
	}
	for _, m := range all {
		switch {
		case m.isNamespace():
			err = d.inNamespace(ctx, m.ref.Name, once)
		case d.mayBeSource(m.ref):
			err = errors.Join(d.one(ctx, m.ref, m.obj, once), d.scaled(ctx, m, once))
		default:
			err = d.one(ctx, m.ref, m.written, once)
		}
		if err != nil {
			return err
		}
	}
	if n := len(slices.DeleteFunc(all, func(m manifest) bool { return !d.refused.Has(m.ref.Identity()) })); n > 0 {
		return fmt.Errorf("refused on some cluster, as said above: %d of these objects", n)
	}
	return nil
}

// scaled visits the workload that a manifest scales, if it is an autoscaler: the workload's
// replicas are then left to the members.
func (d *differ) scaled(ctx context.Context, m manifest, visit func(judge.Facts) error) error {
	id, isAutoscaler := state.NewObject(m.obj.DeepCopy()).Scales()
	if !isAutoscaler {
		return nil
	}
	mapper, err := d.mapper()
	if err != nil {
		return err
	}
	mapping, err := mapper.RESTMapping(id.GroupKind())
	if err != nil {
		return nil // the API server does not serve what it scales
	}
	return d.one(ctx, gather.SourceRef{Mapping: mapping, Namespace: id.Namespace, Name: id.Name}, nil, visit)
}

func (d *differ) readManifests() (all []manifest, err error) {
	namespace, enforce, err := d.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	err = resource.NewBuilder(genericclioptions.RESTClientGetter(d.flags)).Unstructured().
		NamespaceParam(namespace).DefaultNamespace().FilenameParam(enforce, &d.FilenameOptions).Flatten().Do().
		Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			if info.Name == "" {
				return fmt.Errorf("%s: a %s has no name: give it one, because kubectl apply does not take generateName", info.Source, info.Mapping.GroupVersionKind.Kind)
			}
			ref, err := d.refer(info.Mapping, info.Namespace, info.Name)
			if err != nil {
				return err
			}
			all = append(all, manifest{ref: ref, written: info.Object.(*unstructured.Unstructured)})
			return nil
		})
	return all, err
}

// mayBeSource reports whether the daemon watches an object's resource, as far as we may read its
// configuration.
func (d *differ) mayBeSource(ref gather.SourceRef) bool {
	if d.configuration == nil {
		return true
	}
	_, ok := d.configuration.Resource(ref.Mapping.Resource.GroupResource())
	return ok
}

// assume asks the API server what applying an object would make of it, and continues as if it
// were applied. For an object in a Namespace that does not exist yet, it assumes the manifest.
func (d *differ) assume(ctx context.Context, m *manifest) error {
	overrides := d.overrides(m)
	if !m.isNamespace() && !overrides && !d.mayBeSource(m.ref) {
		return nil
	}
	if overrides {
		d.tell("%s: counts for the objects in these manifests; others that it selects are not compared", m.ref.Identity())
	}
	var err error
	m.obj, err = dryRun{client: d.client.Resource(m.ref.Mapping.Resource).Namespace(m.ref.Namespace)}.apply(ctx, m.written)
	switch {
	case apierrors.IsNotFound(err) && m.ref.Namespace != "":
		d.tell("%s: compared as in the file: namespace %q does not exist yet", m.ref.Identity(), m.ref.Namespace)
		m.obj = m.written
	case apierrors.IsForbidden(err): // by rights, or by a webhook
		return fmt.Errorf("cannot dry-run %s, which needs the same rights as applying it: %v", m.ref.Identity(), err)
	case err != nil:
		return fmt.Errorf("cannot tell what applying %s would do: %w", m.ref.Identity(), err)
	}
	d.survey.Assume(m.obj)
	return nil
}

// inNamespace visits all sources in a Namespace that the manifests change.
func (d *differ) inNamespace(ctx context.Context, name string, visit func(judge.Facts) error) error {
	in := &selection{sources: d.sources, namespace: name, namespaced: true, survey: d.survey, kinds: kindsMet{}, unread: d.unread}
	return in.list(ctx, nil, visit)
}
