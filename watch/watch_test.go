package watch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	pages = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	// asServed is how the resolver below says they are served.
	asServed = Served{Resource: pages, Kind: schema.GroupKind{Kind: "ConfigMap"}, Namespaced: true}
)

// switchable is a Resolver whose answer the test sets.
type switchable struct {
	mu     sync.Mutex
	served bool
	err    error
	asked  atomic.Int64
}

func (s *switchable) set(served bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served, s.err = served, err
}

func (s *switchable) Resolve(context.Context, Resource) (Served, bool, error) {
	defer s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	return asServed, s.served, s.err
}

// told holds the calls of a Handler: a name for an object, "synced" for Synced.
type told chan string

func (c told) handler() Handler {
	return Handler{
		Changed: func(old, new any) {
			switch {
			case old == nil:
				c <- "add " + new.(*unstructured.Unstructured).GetName()
			case new == nil:
				c <- "delete " + old.(*unstructured.Unstructured).GetName()
			default:
				c <- "update " + new.(*unstructured.Unstructured).GetName()
			}
		},
		Synced: func() { c <- "synced" },
	}
}

func (c told) want(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-c; got != w {
			t.Fatalf("the handler received %q, want %q", got, w)
		}
	}
}

func page(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetNamespace("shop")
	u.SetName(name)
	return u
}

func newFake(objects ...runtime.Object) *fake.FakeDynamicClient {
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{pages: "ConfigMapList"}, objects...)
}

// awaitWatch waits for the watch that follows the first list: unlike an API server, the fake keeps no events
// for it.
func awaitWatch(client *fake.FakeDynamicClient) {
	for !slices.ContainsFunc(client.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() == "watch" }) {
		time.Sleep(time.Millisecond)
	}
}

func options(client dynamic.Interface, resolver Resolver, handler Handler) Options {
	return Options{
		Resource:  Resource{GroupResource: pages.GroupResource()},
		Client:    client,
		Resolver:  resolver,
		Transform: func(obj any) (any, error) { return obj, nil },
		Handler:   handler,
		Logger:    zap.NewNop(),
		Clock:     clock.RealClock{},
	}
}

func TestLifeOfAWatch(t *testing.T) {
	client := newFake(page("one"))
	resolver := &switchable{}
	heard := make(told, 10)
	w := New(options(client, resolver, heard.handler()))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })

	if _, _, synced := w.Get("shop", "one"); synced {
		t.Error("an answer before the resource is served")
	}
	resolver.set(true, nil)
	w.Recheck()
	heard.want(t, "add one", "synced")
	if s := w.Status(); s.State != Ready || s.Served != asServed {
		t.Errorf("after the first list: %+v", s)
	}
	if _, found, synced := w.Get("shop", "one"); !found || !synced {
		t.Errorf("Get: found %v, synced %v", found, synced)
	}
	awaitWatch(client)
	if _, err := client.Resource(pages).Namespace("shop").Create(ctx, page("two"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	heard.want(t, "add two")
	if err := client.Resource(pages).Namespace("shop").Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	heard.want(t, "delete one")

	// A discovery that fails proves nothing; the next that answers counts.
	resolver.set(false, errors.New("no answer"))
	w.Recheck()
	resolver.set(true, nil)
	w.Recheck()
	if s := w.Status(); !s.Synced {
		t.Errorf("after a failed discovery: %+v", s)
	}

	resolver.set(false, nil)
	w.Recheck()
	resolver.set(true, nil) // gone and back: everything is listed again, unless it was back before the watch noticed
	w.Recheck()
	cancel()
	running.Wait()
	if s := w.Status(); s.Synced || s.State == Ready {
		t.Errorf("after the end: %+v", s)
	}
	if got := w.List(); got != nil {
		t.Errorf("after the end it still lists %d objects", len(got))
	}
}

func TestGoneResourceStartsOver(t *testing.T) {
	resolver := &switchable{served: true}
	heard := make(told, 10)
	w := New(options(newFake(page("one")), resolver, heard.handler()))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	defer func() { cancel(); running.Wait() }()

	heard.want(t, "add one", "synced")
	resolver.set(false, nil)
	w.Recheck()
	for w.Status().State != Pending { // no event: objects of a resource that is not served are not deleted
		select {
		case got := <-heard:
			t.Fatalf("the handler received %q for a resource that is not served", got)
		default:
		}
	}
	resolver.set(true, nil)
	w.Recheck()
	heard.want(t, "add one", "synced")
}

func TestSetChangesWhileItRuns(t *testing.T) {
	client := newFake(page("one"))
	resolver := &switchable{served: true}
	heard := make(told, 10)
	set := NewSet(func(Resource) *Watch { return New(options(client, resolver, heard.handler())) })
	resource := []Resource{{GroupResource: pages.GroupResource()}}
	set.Apply(resource)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { set.Run(ctx) })

	for range 50 {
		heard.want(t, "add one", "synced")
		if _, ok := set.ByKind(asServed.Kind); !ok {
			t.Fatal("the kind is not found")
		}
		set.Apply(nil)
		if _, ok := set.ByKind(asServed.Kind); ok || len(set.All()) > 0 {
			t.Fatal("the set still returns a removed watch")
		}
		set.Apply(resource)
	}
	set.Apply(resource) // applying the same again changes nothing
	heard.want(t, "add one", "synced")
	cancel()
	running.Wait()
	set.Apply(resource)
	if len(set.All()) > 0 {
		t.Error("a set that has ended starts watches")
	}
}

// streaming is a client with streaming lists of its own.
type streaming struct {
	dynamic.Interface
	stream func(send func(apiwatch.EventType, runtime.Object) bool)
	lists  *atomic.Int32
}

func (s streaming) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return streamingResource{s.Interface.Resource(r), s}
}

type streamingResource struct {
	dynamic.NamespaceableResourceInterface
	streaming
}

func (s streamingResource) Namespace(string) dynamic.ResourceInterface { return s }

func (s streamingResource) Watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	if o.SendInitialEvents == nil || !*o.SendInitialEvents {
		return s.NamespaceableResourceInterface.Watch(ctx, o)
	}
	s.lists.Add(1)
	events := make(chan apiwatch.Event)
	w := apiwatch.NewProxyWatcher(events)
	go s.stream(func(kind apiwatch.EventType, object runtime.Object) (goesOn bool) {
		select {
		case events <- apiwatch.Event{Type: kind, Object: object}:
			return true
		case <-w.StopChan():
			return false
		}
	})
	return w, nil
}

// createdAt is a page with a creation time.
func createdAt(name string, at time.Time) *unstructured.Unstructured {
	u := page(name)
	u.SetCreationTimestamp(metav1.NewTime(at))
	u.SetResourceVersion("7")
	return u
}

// endOfList ends the objects of a streaming list.
func endOfList() *unstructured.Unstructured {
	end := createdAt("", time.Now())
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return end
}

// TestListThatStalls: a streaming list is restarted as a plain one if it makes no progress,
// but not because it is long.
func TestListThatStalls(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	const deadline, pace = 400 * time.Millisecond, 40 * time.Millisecond
	cases := map[string]struct {
		reason  string
		stream  func(send func(apiwatch.EventType, runtime.Object) bool)
		stalled bool
	}{
		"Silent": {reason: "nothing comes", stream: func(func(apiwatch.EventType, runtime.Object) bool) {}, stalled: true},
		"Endless": {reason: "the events of a watch are not those of a list", stalled: true,
			stream: func(send func(apiwatch.EventType, runtime.Object) bool) {
				send(apiwatch.Added, createdAt("one", old))
				for range 60 {
					time.Sleep(pace)
					if !send(apiwatch.Modified, createdAt("one", old)) || !send(apiwatch.Added, createdAt("new", time.Now().Add(time.Hour))) {
						return
					}
				}
				send(apiwatch.Bookmark, endOfList()) // too late
			}},
		"Long": {reason: "it takes longer than the deadline, and goes on",
			stream: func(send func(apiwatch.EventType, runtime.Object) bool) {
				for range 30 {
					time.Sleep(pace)
					send(apiwatch.Added, createdAt("one", old))
				}
				send(apiwatch.Bookmark, endOfList())
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := make(told, 10)
			client := streaming{newFake(page("one")), tc.stream, &atomic.Int32{}}
			o := options(client, &switchable{served: true}, heard.handler())
			o.ListDeadline = deadline
			core, logs := observer.New(zap.WarnLevel)
			o.Logger = zap.New(core)
			w := New(o)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { w.Run(ctx) })
			for len(heard) == 0 { // also between two attempts
				if s := w.Status(); s.State == Pending {
					t.Fatalf("%s: while a list stalls: %+v", tc.reason, s)
				}
				time.Sleep(time.Millisecond)
			}
			heard.want(t, "add one", "synced")
			if s := w.Status(); s.State != Ready {
				t.Errorf("%s: %+v", tc.reason, s)
			}
			if n := logs.FilterMessage("a list has stalled: restarting it").Len(); client.lists.Load() != 1 || n > 0 != tc.stalled {
				t.Errorf("%s: %d streaming lists, %d have stalled", tc.reason, client.lists.Load(), n)
			}
			cancel()
			running.Wait()
		})
	}
}

// TestFirstListIsConsistent: a watch that starts again must not show what is older than what its reader has
// written meanwhile, whichever API server answers.
func TestFirstListIsConsistent(t *testing.T) {
	client, resolver, heard := newFake(page("one")), &switchable{served: true}, make(told, 10)
	o := options(client, resolver, heard.handler())
	o.Namespace = "shop" // the fake drops the version of a list of all Namespaces
	w := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	heard.want(t, "add one", "synced")
	resolver.set(false, nil)
	for w.Recheck(); w.Status().State != Pending; w.Recheck() {
		time.Sleep(time.Millisecond)
	}
	resolver.set(true, nil)
	w.Recheck()
	heard.want(t, "add one", "synced")
	cancel()
	running.Wait()
	lists := 0
	for _, action := range client.Actions() {
		if list, is := action.(clienttesting.ListActionImpl); is {
			if lists++; list.ListOptions.ResourceVersion != "" {
				t.Errorf("list %d may be as old as version %q", lists, list.ListOptions.ResourceVersion)
			}
		}
	}
	if lists != 2 {
		t.Errorf("%d lists", lists)
	}
}

func TestUnserved(t *testing.T) {
	resolver := &switchable{served: true}
	heard := make(told, 10)
	handler := heard.handler()
	handler.Unserved = func() { heard <- "unserved" }
	w := New(options(newFake(page("one")), resolver, handler))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	heard.want(t, "add one", "synced")
	resolver.set(false, errors.New("no answer"))
	asked := resolver.asked.Load()
	for w.Recheck(); resolver.asked.Load() == asked; {
		time.Sleep(time.Millisecond)
	}
	resolver.set(false, nil) // it asks again by itself
	heard.want(t, "unserved")
	if s := w.Status(); !s.Unserved || s.State != Pending {
		t.Errorf("a resource that is no longer served: %+v", s)
	}
	resolver.set(false, errors.New("no answer"))
	for w.Status().Err == nil {
		w.Recheck()
	}
	if s := w.Status(); !s.Unserved {
		t.Error("a failed discovery has changed what is known")
	}
	cancel()
	running.Wait()
}

// undiscovered is a resource of which the API server does not say whether it serves it.
type undiscovered struct{ error }

func (u undiscovered) Resolve(context.Context, Resource) (Served, bool, error) {
	return Served{}, false, u.error
}

// TestUndiscovered: a resource of which it is not known whether it is served is not one that is not served.
func TestUndiscovered(t *testing.T) {
	for _, err := range []error{errors.New("503"), ErrNotKnownYet} {
		w := New(Options{Resource: In(pages), Resolver: undiscovered{err}, Logger: zap.NewNop(), Clock: clock.RealClock{}})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		w.Run(ctx)
		cancel()
		if s := w.Status(); s.State != Syncing || s.Err == nil {
			t.Errorf("%v: %+v", err, s)
		}
	}
}
