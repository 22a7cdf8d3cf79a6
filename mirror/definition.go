package mirror

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// definition is what the cache keeps of a CustomResourceDefinition or an
// APIService.
type definition struct {
	keptMeta
	created time.Time
}

// What tells that a resource is served, or not served any more.
var (
	definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServicesResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

func newDefinition(u *unstructured.Unstructured) *definition {
	return &definition{keepMeta(u), u.GetCreationTimestamp().Time}
}

// newDefinitionWatch makes a watch of what tells that a resource is served or
// not served any more.
func (c *Controller) newDefinitionWatch(resource schema.GroupVersionResource) *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  watch.In(resource),
		Resolver:  watch.Fixed{Resource: resource},
		Transform: watch.Keep(newDefinition),
		Handler: watch.Handler{
			Changed: func(_, new any) {
				if d, ok := new.(*definition); ok {
					c.definitions.add(d.Name)
				}
				c.sources.Recheck()
				c.works.Recheck()
				c.clusters.Recheck()
			},
			Synced: c.enqueueEverything,
		},
	})
}

// describe adds what is known of the definition of the source's kind.
func (f *Facts) describe(d *definition) {
	f.Definition, f.DefinitionCreated = DefinitionServed, d.created
	if d.Terminating {
		f.Definition = DefinitionTerminating
	}
}

// readDefinition asks the API server how a source went that it has just said to be
// absent: by itself, or with the definition of its kind. The cache cannot tell, for
// a definition that was deleted and made again looks the same until the watch says
// so; and the source must have been read first, since the definition that is read
// here is then that one or a later one.
func (c *Controller) readDefinition(ctx context.Context, f *Facts, r schema.GroupResource) error {
	if !mayBeDefined(r) {
		return nil
	}
	obj, err := c.Dynamic.Resource(definitionsResource).Get(ctx, r.String(), metav1.GetOptions{})
	switch {
	case err == nil:
		f.describe(newDefinition(obj))
	case !provesAbsence(err, r.String()):
		return fmt.Errorf("cannot tell how source %q went: cannot read the definition of its kind: %w", f.ID, err)
	case c.definitions.has(r.String()):
		f.Definition = DefinitionDeleted
	}
	return nil
}

// names is a set that only grows.
type names struct{ set sync.Map }

func (n *names) add(name string) { n.set.Store(name, true) }

func (n *names) has(name string) bool {
	_, ok := n.set.Load(name)
	return ok
}

// mayBeDefined reports whether a resource may come from a CustomResourceDefinition:
// the API server demands a dot of its group.
func mayBeDefined(r schema.GroupResource) bool { return strings.Contains(r.Group, ".") }

// resourceOfKind is the resource of a kind that need not be served: the configured
// one that was served with this kind, or else a guess. Where the guess is wrong
// nothing is found, and nothing is deleted.
func (c *Controller) resourceOfKind(kind schema.GroupKind) schema.GroupResource {
	for _, w := range c.sources.All() {
		if w.Status().LastKind == kind {
			return w.Resource.GroupResource
		}
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return plural.GroupResource()
}

// definitionIsGone reports whether a source's resource is configured, and not
// served because there is no definition of it. All must be known for certain.
func (c *Controller) definitionIsGone(id render.Identity) bool {
	gr := c.resourceOfKind(id.GroupKind())
	if c.configuration.Load() == nil || !mayBeDefined(gr) {
		return false
	}
	resource, ok := c.configuration.Load().Resource(gr)
	if !ok || !resource.SelectsNamespace(id.Namespace) {
		return false
	}
	_, found, synced := c.customResources.Get("", gr.String())
	return synced && !found && slices.ContainsFunc(c.sources.All(), func(w *watch.Watch) bool {
		return w.Resource.GroupResource == gr && w.Status().Unserved
	})
}

// confirmDefinitionIsGone returns nil if live reads prove it: there is none, and no
// version of the resource is served, as that of a built-in one may be when the
// configuration asks for another.
func (c *Controller) confirmDefinitionIsGone(ctx context.Context, id render.Identity) error {
	r := c.resourceOfKind(id.GroupKind())
	_, err := c.Dynamic.Resource(definitionsResource).Get(ctx, r.String(), metav1.GetOptions{})
	if err == nil {
		return fmt.Errorf("cannot tell whether source %q exists: its definition %q is there and not served", id, r)
	}
	if !provesAbsence(err, r.String()) {
		return fmt.Errorf("cannot read the definition %q of source %q: %w", r, id, err)
	}
	served, ok, err := c.Resolver.Resolve(ctx, watch.Resource{GroupResource: r})
	if err != nil {
		return fmt.Errorf("cannot tell whether source %q exists: %w", id, err)
	}
	if ok {
		return fmt.Errorf("cannot tell whether source %q exists: it is served in version %q, and not as configured", id, served.Resource.Version)
	}
	return nil
}
