package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// These mark a Work as karmada-mirror's, as docs/reference tells users.
const (
	ourWorks         = "app.kubernetes.io/managed-by=karmada-mirror"
	sourceAnnotation = "karmada.target/source"
)

// workCache caches the Works of karmada-mirror from a watch, indexed by the namespace of
// their sources. Many tests read them repeatedly and in parallel: listing them all each
// time would take most of the CPU.
type workCache struct {
	informer cache.SharedIndexInformer
	stop     func()
}

const bySourceNamespace = "source namespace"

func watchWorks(client dynamic.Interface) *workCache {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, Works, metav1.NamespaceAll, 0,
		cache.Indexers{bySourceNamespace: func(o any) ([]string, error) {
			return []string{SourceNamespace(o.(*unstructured.Unstructured))}, nil
		}},
		func(o *metav1.ListOptions) { o.LabelSelector = ourWorks }).Informer()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	return &workCache{informer, func() { cancel(); <-ended }}
}

// of lists the Works of a namespace's sources. They belong to the cache and must not be
// changed.
func (c *workCache) of(namespace string) ([]*unstructured.Unstructured, error) {
	if !c.informer.HasSynced() {
		return nil, fmt.Errorf("the tests' own watch of Works has not synced")
	}
	found, err := c.informer.GetIndexer().ByIndex(bySourceNamespace, namespace)
	works := make([]*unstructured.Unstructured, 0, len(found))
	for _, o := range found {
		works = append(works, o.(*unstructured.Unstructured))
	}
	return works, err
}

// CountWorks waits until a namespace's sources have this many Works for a cluster.
func CountWorks(namespace, cluster string, want int) func(context.Context) error {
	return func(context.Context) error {
		works, err := Env.works.of(namespace)
		n := 0
		for _, work := range works {
			if work.GetNamespace() == "karmada-es-"+cluster {
				n++
			}
		}
		if err == nil && n != want {
			err = fmt.Errorf("there are %d", n)
		}
		return err
	}
}

// liveWorks reads the Works of a namespace's sources from the API server.
func liveWorks(ctx context.Context, namespace string) ([]*unstructured.Unstructured, error) {
	list, err := Env.Admin.Resource(Works).List(ctx, metav1.ListOptions{LabelSelector: ourWorks})
	if err != nil {
		return nil, err
	}
	var works []*unstructured.Unstructured
	for i := range list.Items {
		if SourceNamespace(&list.Items[i]) == namespace {
			works = append(works, &list.Items[i])
		}
	}
	return works, nil
}

// WorksOf reads the Works of a namespace's sources from the API server.
func WorksOf(t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	works, err := liveWorks(t.Context(), namespace)
	Must(t, err)
	return works
}

// SourceNamespace is the namespace of the source that a Work names: the second of three
// parts, <kind>[.<group>]/<namespace>/<name>.
func SourceNamespace(work *unstructured.Unstructured) string {
	if parts := strings.Split(work.GetAnnotations()[sourceAnnotation], "/"); len(parts) == 3 {
		return parts[1]
	}
	return ""
}

// Quiesce waits until the installed daemon has deleted the Works of earlier tests'
// ConfigMaps, so that the audit log is about this test alone. Works of resources that have
// left the configuration stay, as they should.
func Quiesce(t *testing.T) {
	t.Helper()
	Eventually(t, "the Works of earlier tests to be deleted", func(ctx context.Context) error {
		list, err := Env.Admin.Resource(Works).List(ctx, metav1.ListOptions{LabelSelector: ourWorks})
		if err != nil {
			return err
		}
		for _, w := range list.Items {
			if source := w.GetAnnotations()[sourceAnnotation]; strings.HasPrefix(source, "ConfigMap/") {
				return fmt.Errorf("the Work of %s still exists", source)
			}
		}
		return nil
	})
}

// sweep deletes the Works of a test, as far as it can, once its daemons have ended: the
// daemons of other tests would otherwise keep them in their caches.
func sweep(t *testing.T, s *scope) {
	ctx := context.Background()
	list, err := Env.Admin.Resource(Works).List(ctx, metav1.ListOptions{LabelSelector: ourWorks})
	if err != nil {
		t.Logf("cannot clean up: %v", err)
		return
	}
	isMine := func(namespace string) bool {
		return slices.Contains(s.namespaces, namespace) || strings.HasPrefix(namespace, s.home+"-")
	}
	var inFlight errgroup.Group
	inFlight.SetLimit(8)
	for _, w := range list.Items {
		if isMine(SourceNamespace(&w)) {
			inFlight.Go(func() error {
				return Env.Admin.Resource(Works).Namespace(w.GetNamespace()).Delete(ctx, w.GetName(), metav1.DeleteOptions{})
			})
		}
	}
	_ = inFlight.Wait() // leftovers disturb no one
}
