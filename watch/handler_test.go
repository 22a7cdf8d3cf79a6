package watch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// TestTombstone: an object that was deleted while the watch was down is reported like
// any other.
func TestTombstone(t *testing.T) {
	heard := make(told, 10)
	handler := New(options(nil, nil, heard.handler())).eventHandler()
	handler.OnDelete(page("seen"))
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/missed", Obj: page("missed")})
	heard.want(t, "delete seen", "delete missed")
}

// TestNotSyncedAnswersNothing: an object that is already listed proves nothing about those
// that are not.
func TestNotSyncedAnswersNothing(t *testing.T) {
	w := New(options(newFake(), nil, Handler{}))
	informer, err := w.newInformer(t.Context(), newFake(), asServed)
	if err != nil {
		t.Fatal(err)
	}
	w.attach(informer, asServed, true)
	if err := informer.GetIndexer().Add(page("one")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if _, _, synced := w.Get("shop", name); synced {
			t.Errorf("an answer about %q before the first list is complete", name)
		}
	}
}

// TestKeepTwice: the objects of a streaming list pass through a transform twice.
func TestKeepTwice(t *testing.T) {
	keep := Keep(func(u *unstructured.Unstructured) *string { return new(u.GetName()) })
	once, err := keep(page("one"))
	if err != nil {
		t.Fatal(err)
	}
	twice, err := keep(once)
	if name, ok := twice.(*string); err != nil || !ok || *name != "one" {
		t.Errorf("%v became %v: %v", once, twice, err)
	}
}

// TestTransformAsksForKind: a Transform may ask for the kind of a Watch while others ask for its
// status, and wait for the informer that transforms.
func TestTransformAsksForKind(t *testing.T) {
	var w *Watch
	var others sync.WaitGroup
	kinds := make(chan schema.GroupKind, 1)
	o := options(newFake(page("one")), &switchable{served: true}, make(told, 10).handler())
	o.Transform = func(obj any) (any, error) {
		time.Sleep(300 * time.Millisecond) // meanwhile the informer is asked whether it has synced
		others.Go(func() { w.Status() })
		time.Sleep(50 * time.Millisecond)
		others.Go(w.noteFailure)
		time.Sleep(50 * time.Millisecond)
		kinds <- w.LastKind()
		return obj, nil
	}
	w = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	others.Go(func() { w.Run(ctx) })
	select {
	case kind := <-kinds:
		if kind != asServed.Kind {
			t.Errorf("the kind is %v", kind)
		}
	case <-time.After(time.Minute):
		t.Fatal("the Watch blocks its Transform")
	}
	cancel()
	others.Wait()
}

func TestNoteUnserved(t *testing.T) {
	w := New(options(nil, nil, Handler{}))
	steps := []struct {
		reason         string
		err            error
		news, unserved bool
	}{
		{"an error says nothing", errors.New("no answer"), false, false},
		{"an answer is news", nil, true, true},
		{"once", nil, false, true},
		{"and an error takes nothing back", errors.New("no answer"), false, true},
	}
	for _, step := range steps {
		news := w.noteUnserved(step.err)
		if s := w.Status(); news != step.news || s.Unserved != step.unserved {
			t.Errorf("%s: news %v, status %+v", step.reason, news, s)
		}
	}
}

// failsFirst is a Resolver that fails, is asked again, and says that the resource is gone.
type failsFirst struct {
	again func()
	asked int
}

func (f *failsFirst) Resolve(context.Context, Resource) (Served, bool, error) {
	f.asked++
	if f.asked == 1 {
		f.again()
		return Served{}, false, errors.New("no answer")
	}
	return Served{}, false, nil
}

// TestAwaitGone: a discovery that fails does not end a watch.
func TestAwaitGone(t *testing.T) {
	resolver := &failsFirst{}
	w := New(options(nil, resolver, Handler{}))
	resolver.again = w.Recheck
	w.Recheck()
	w.awaitGone(t.Context(), asServed)
	if resolver.asked != 2 {
		t.Errorf("the watch ended at answer %d", resolver.asked)
	}
}
