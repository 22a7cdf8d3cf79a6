package mirror

import (
	"context"
	"fmt"
	"maps"
	"sync"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

var namespacesResource = corev1.SchemeGroupVersion.WithResource("namespaces")

// Namespace is what the cache keeps of a Namespace: the defaults that it has for the
// objects in it.
type Namespace struct {
	keptMeta
	// Labels are what the configuration's rules look at.
	Labels labels.Set
	Wishes render.Wishes
	// Terms are the parsed targets; the zero value if there are none, or none that can
	// be parsed.
	Terms render.Terms
	// invalid is why nothing of Wishes holds; empty if all can be parsed.
	invalid string
}

func newNamespace(u *unstructured.Unstructured) *Namespace {
	n := &Namespace{keptMeta: keepMeta(u), Labels: u.GetLabels(), Wishes: render.ReadWishes(u.GetAnnotations())}
	if err := n.Wishes.Check(); err != nil {
		n.invalid = err.Error()
	} else if n.Wishes.Ask() {
		n.Terms, _ = n.Wishes.Terms()
	}
	return n
}

// skipsPropagation reports whether Karmada does not make a Namespace in the members
// (pkg/controllers/namespace, v1.18.2).
func skipsPropagation(of labels.Set) bool {
	return of[policyv1alpha1.NamespaceSkipAutoPropagationLabel] == "true"
}

func (c *Controller) newNamespaceWatch() *watch.Watch {
	return c.newWatch(watch.Options{
		Resource:  watch.In(namespacesResource),
		Resolver:  watch.Fixed{Resource: namespacesResource},
		Transform: watch.Keep(newNamespace),
		Indexers:  cache.Indexers{termIndex: indexByTerm},
		Handler:   watch.Handler{Changed: c.namespaceChanged, Synced: c.enqueueEverything},
	})
}

// namespaceChanged asks for a sync of the objects in a Namespace whose defaults have
// changed, or what the configuration may allow them by its labels.
func (c *Controller) namespaceChanged(old, new any) {
	before, _ := old.(*Namespace)
	after, ok := new.(*Namespace)
	if !ok {
		return // what was in it has gone before
	}
	if before == nil {
		before = &Namespace{}
	}
	c.reportNamespace(after)
	if before.Wishes != after.Wishes {
		c.enqueueOutdatedIn(after.Name)
	}
	if configuration := c.configuration.Load(); configuration != nil && configuration.Authorization != nil && !maps.Equal(before.Labels, after.Labels) {
		for _, w := range c.sources.All() {
			for _, obj := range w.ByIndex(cache.NamespaceIndex, after.Name) {
				if s := obj.(*Source); s.Asks {
					c.enqueue(s.ID)
				}
			}
		}
	}
}

// reportNamespace tells of a mistake in the defaults on the Namespace itself, once: the
// objects in it may be a thousand.
func (c *Controller) reportNamespace(n *Namespace) {
	if c.queue.Load() == nil {
		return
	}
	var mistakes []Refusal
	if n.invalid != "" {
		mistakes = []Refusal{{Reason: InvalidAnnotation, Message: n.invalid + "; no default of this Namespace changes until it is mended"}}
	}
	id := render.Identity{Kind: "Namespace", Name: n.Name}
	for _, r := range c.noticed.replace(id, mistakes) {
		c.logger(id).Warn("refused", zap.String("reason", string(r.Reason)), zap.String("message", r.Message))
		ref := &corev1.ObjectReference{APIVersion: "v1", Kind: id.Kind, Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}
		c.Recorder.Event(ref, corev1.EventTypeWarning, string(r.Reason), fmt.Sprintf("%.*s", maxEventMessage, r.Message))
	}
}

// enqueueOutdatedIn asks for a sync of the objects in a Namespace that were read when
// it had other defaults.
func (c *Controller) enqueueOutdatedIn(namespace string) {
	defaults := c.defaultsOf(namespace)
	for _, w := range c.sources.All() {
		for _, obj := range w.ByIndex(cache.NamespaceIndex, namespace) {
			if s := obj.(*Source); !s.isReadWith(defaults) {
				c.enqueueFresh(s.ID)
			}
		}
	}
}

// defaultsOf are the defaults for the objects in a Namespace, by the cache.
func (c *Controller) defaultsOf(namespace string) render.Wishes {
	if obj, found, _ := c.namespaces.Get("", namespace); found {
		return obj.(*Namespace).Wishes
	}
	return render.Wishes{}
}

// liveDefaults are the defaults for the objects in a Namespace, by a live read that is
// hardly older than now.
func (c *Controller) liveDefaults(ctx context.Context, namespace string) (render.Wishes, error) {
	if namespace == "" {
		return render.Wishes{}, nil
	}
	obj, err := c.lately.get(ctx, c.namespaces, namespace)
	if err != nil {
		return render.Wishes{}, fmt.Errorf("cannot read the defaults of namespace %q: %w", namespace, err)
	}
	return newNamespace(obj).Wishes, nil
}

// rereads are the sources that are in the cache as they were read when their Namespace
// had other defaults, and have been read anew since.
type rereads struct {
	mu sync.Mutex
	by map[render.Identity]*Source
}

func (r *rereads) note(s *Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[render.Identity]*Source{}
	}
	r.by[s.ID] = s
}

// instead returns what is to be believed in place of what the cache has.
func (r *rereads) instead(cached *Source, defaults render.Wishes) (*Source, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.by[cached.ID]
	if ok && (!s.isReadWith(defaults) || isOlder(s.ResourceVersion, cached.ResourceVersion)) {
		delete(r.by, cached.ID)
		return nil, false
	}
	return s, ok
}

// drop forgets a source: the cache has a newer one.
func (r *rereads) drop(id render.Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.by, id)
}
