package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/render"
)

const (
	// settlePeriod is how long a changed source waits for more changes. Most have their Works by
	// then.
	settlePeriod = 300 * time.Millisecond
	// retryPeriod is when a source is looked at again after a failure that passes.
	retryPeriod = time.Second
	// readerPeriod is how old may be what sources share: the configuration, clusters, Namespaces,
	// policies and autoscalers.
	readerPeriod = 2 * time.Second
)

// follower prints the lines that change after the list. An event of a source or of its Work only
// says that the source is to be looked at: its lines are made as those of the list.
type follower struct {
	*statusCommand
	selects func(render.Identity) bool
	events  chan sourceEvent
	queue   workqueue.TypedDelayingInterface[render.Identity]
	due     chan render.Identity
	// latest are objects from events, for sources that are still to be looked at.
	latest  map[render.Identity]*unstructured.Unstructured
	watches sync.WaitGroup
	// renewed is when what sources share was last read.
	renewed time.Time
}

// sourceEvent is an event of an object of a kind; nil for a Work.
type sourceEvent struct {
	watch.Event
	kind *meta.RESTMapping
}

// follow prints the lines that change, until ctx is done.
func (s *statusCommand) follow(ctx context.Context, args []string) error {
	if s.survey.Version == "" {
		return errors.New("cannot watch Works: you may not read all of them")
	}
	refs, kinds, err := s.named(args)
	if err != nil {
		return err
	}
	s.survey.Seen = s.states.note
	f := &follower{
		statusCommand: s, selects: s.selects(refs, kinds), events: make(chan sourceEvent), due: make(chan render.Identity),
		queue: workqueue.NewTypedDelayingQueue[render.Identity](), latest: map[render.Identity]*unstructured.Unstructured{},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer f.watches.Wait()
	defer f.queue.ShutDown()
	defer cancel()
	err = f.start(ctx, refs)
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case e := <-f.events:
			err = f.note(e)
		case id := <-f.due:
			err = f.look(ctx, id)
		}
	}
	if ctx.Err() != nil { // interrupted
		return nil
	}
	return err
}

// selects returns which sources to follow.
func (s *statusCommand) selects(refs []gather.SourceRef, kinds []*meta.RESTMapping) func(render.Identity) bool {
	var named []render.Identity
	for _, ref := range refs {
		named = append(named, ref.Identity())
	}
	return func(id render.Identity) bool {
		switch {
		case id.Kind == "": // the Work does not name its source
			return false
		case len(named) > 0:
			return slices.Contains(named, id)
		case len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind *meta.RESTMapping) bool { return id.GroupKind() == kind.GroupVersionKind.GroupKind() }):
			return false
		}
		return s.namespace == "" || id.Namespace == "" || id.Namespace == s.namespace
	}
}

// start starts to watch Works, and the named sources or, if there are none, the listed kinds.
func (f *follower) start(ctx context.Context, refs []gather.SourceRef) error {
	if err := f.watchFrom(ctx, nil, f.client.Resource(render.WorksResource), f.survey.Version, metav1.ListOptions{LabelSelector: render.OurWorks}); err != nil {
		return err
	}
	f.watches.Go(func() {
		for id, isDone := f.queue.Get(); !isDone; id, isDone = f.queue.Get() {
			select {
			case f.due <- id:
			case <-ctx.Done():
			}
			f.queue.Done(id)
		}
	})
	// The Works' watch already logs what concerns the connection.
	ctx = klog.NewContext(ctx, klog.Logger{})
	for _, ref := range refs {
		if err := f.startOne(ctx, ref); err != nil {
			return err
		}
	}
	for kind, met := range f.kinds {
		if len(refs) > 0 || f.unread[kind] != "" {
			continue
		}
		if err := f.watchFrom(ctx, met.mapping, f.resource(met.mapping, f.namespace), met.version, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// startOne starts to watch a named source, and has it looked at: it may have changed since.
func (f *follower) startOne(ctx context.Context, ref gather.SourceRef) error {
	f.kinds[ref.Mapping.GroupVersionKind.GroupKind()] = &kindMet{mapping: ref.Mapping}
	f.queue.Add(ref.Identity())
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()}
	client := f.resource(ref.Mapping, ref.Namespace)
	list, err := client.List(ctx, options)
	if apierrors.IsForbidden(err) {
		f.tellUnwatched(ref.Mapping)
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list %s: %w", ref.Mapping.Resource.GroupResource(), err)
	}
	return f.watchFrom(ctx, ref.Mapping, client, list.GetResourceVersion(), options)
}

func (f *follower) resource(kind *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	if kind.Scope.Name() != meta.RESTScopeNameNamespace {
		return f.client.Resource(kind.Resource)
	}
	return f.client.Resource(kind.Resource).Namespace(namespace)
}

// watchFrom passes on the events of objects from a resource version on.
func (f *follower) watchFrom(ctx context.Context, kind *meta.RESTMapping, client dynamic.ResourceInterface, version string, options metav1.ListOptions) error {
	lw := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.LabelSelector, o.FieldSelector = options.LabelSelector, options.FieldSelector
		return client.Watch(ctx, o)
	}}
	w, err := toolswatch.NewRetryWatcherWithContext(ctx, version, lw)
	if err != nil {
		return fmt.Errorf("cannot watch %s: %w", nameOfKind(kind), err)
	}
	f.watches.Go(func() {
		for e := range w.ResultChan() {
			select {
			case f.events <- sourceEvent{e, kind}:
			case <-ctx.Done():
			}
		}
	})
	return nil
}

func nameOfKind(kind *meta.RESTMapping) string {
	if kind == nil {
		return "Works"
	}
	return kind.Resource.GroupResource().String()
}

func (f *follower) tellUnwatched(kind *meta.RESTMapping) {
	fmt.Fprintf(f.errOut, "You may not watch %s: only changes of their Works are shown.\n", nameOfKind(kind))
}

// note has the sources that an event concerns looked at.
func (f *follower) note(e sourceEvent) error {
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		err := apierrors.FromObject(e.Object)
		if e.kind != nil && apierrors.IsForbidden(err) {
			f.tellUnwatched(e.kind)
			return nil
		}
		return fmt.Errorf("cannot watch %s any longer: %w", nameOfKind(e.kind), err)
	}
	isDeleted := e.Type == watch.Deleted
	if e.kind == nil {
		for _, id := range f.survey.Update(obj, isDeleted) {
			f.enqueue(id)
		}
		if isDeleted {
			delete(f.states, nameOfWork(obj))
		}
		return nil
	}
	id := gather.SourceRef{Mapping: e.kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}.Identity()
	if f.latest[id] = obj; isDeleted {
		delete(f.latest, id) // only a read proves that none of that name exists
	}
	f.enqueue(id)
	return nil
}

func (f *follower) enqueue(id render.Identity) {
	if f.selects(id) {
		f.queue.AddAfter(id, settlePeriod)
	}
}

// look prints what a source has to say that is new.
func (f *follower) look(ctx context.Context, id render.Identity) error {
	f.renew(ctx)
	obj := f.latest[id]
	delete(f.latest, id)
	err := f.again(ctx, id, obj, f.print)
	switch {
	case err == nil:
		return f.printer.flush()
	case isTransient(err):
		f.queue.AddAfter(id, retryPeriod)
		return nil
	}
	return err
}

// renew reads again what sources share. If that fails, what was last read stays in force, as in the
// daemon.
func (f *follower) renew(ctx context.Context) {
	if time.Since(f.renewed) < readerPeriod {
		return
	}
	reader, err := f.reader(ctx)
	if err != nil {
		return
	}
	reader.Seen = f.states.note
	f.survey.Reader, f.renewed = reader, time.Now()
}
