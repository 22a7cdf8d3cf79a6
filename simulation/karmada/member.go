package karmada

import (
	"sync"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// Member is a member cluster: the objects in it, its own controllers, and those of Karmada that apply Works to it.
type Member struct {
	Cluster
	// Store is what the member's API server has.
	Store *apiserver.Store

	k               *Karmada
	kinds           map[schema.GroupKind]schema.GroupResource
	works           *queue[apiserver.Ref] // of the execution controller
	objects         *queue[objectKey]     // of the status controller
	local, rewrites *queue[apiserver.Ref] // of the member's controllers, and of those that fight

	mu             sync.Mutex
	isSick, isAway bool
	versions       map[apiserver.Ref]string      // as Karmada has seen them last
	watched        map[schema.GroupResource]bool // resources that Karmada has informers of
	behaviour
}

func (k *Karmada) newMember(c Cluster) *Member {
	m := &Member{
		Cluster: c, Store: apiserver.NewStore(), k: k, kinds: map[schema.GroupKind]schema.GroupResource{},
		versions: map[apiserver.Ref]string{}, watched: map[schema.GroupResource]bool{}, behaviour: newBehaviour(),
	}
	m.serve(append(apiserver.Builtin(), c.Resources...)...)
	m.works, m.objects, m.local = startQueue(k, m.reconcile), startQueue(k, m.syncStatus), startQueue(k, m.control)
	m.rewrites = startQueue(k, m.rewrite)
	k.stops = append(k.stops, m.Store.Subscribe(m.seeObject))
	_, _ = m.Store.Create(namespaces, Object{"metadata": Object{"name": "default"}}) // the store is new
	return m
}

func (m *Member) serve(resources ...apiserver.Resource) {
	m.Store.Serve(resources...)
	m.know(resources...)
}

// know makes Karmada map the kinds of resources that the member serves.
func (m *Member) know(resources ...apiserver.Resource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range resources {
		m.kinds[schema.GroupKind{Group: r.Group, Kind: r.Kind}] = r.GroupResource()
	}
}

// Serve adds resources to the member; its Cluster says so.
func (m *Member) Serve(resources ...apiserver.Resource) error {
	m.serve(resources...)
	return m.publish()
}

// resourceOf is how the member serves a kind.
func (m *Member) resourceOf(kind schema.GroupKind) (gr schema.GroupResource, has bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gr, has = m.kinds[kind]
	return gr, has
}

// Sick makes the member refuse all writes of Karmada, though its cluster is ready.
func (m *Member) Sick(isSick bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isSick = isSick
}

// Halt makes Karmada apply and report nothing of this member for a while: its controllers or its agent stand still.
func (m *Member) Halt(isHalted bool) {
	m.works.halt(isHalted)
	m.objects.halt(isHalted)
}

// Refuse makes the member's admission refuse objects for which f returns an error, until the returned function is called.
func (m *Member) Refuse(f func(Object) error) (stop func()) {
	return m.Store.Admit(func(op string, _ schema.GroupResource, _ string, new, _ Object) (Object, error) {
		if op == "DELETE" {
			return new, nil
		}
		return new, f(new)
	})
}

// restart makes Karmada's controllers of this member begin again: they list everything, and have forgotten what failed.
func (m *Member) restart() {
	m.works.reset()
	m.objects.reset()
	m.mu.Lock()
	clear(m.versions)
	clear(m.watched)
	m.mu.Unlock()
	for _, work := range m.k.control.List(works, executionPrefix+m.Name) {
		m.works.add(refOf(works, work))
		m.watch(work)
	}
}

// seeWork tells the controllers of a write to a Work: the execution controller looks at changes of the generation only.
func (m *Member) seeWork(e apiserver.Event) {
	if e.Type != watch.Modified || in(e.Object).GetGeneration() != in(e.Old).GetGeneration() {
		m.works.add(e.Ref())
	}
	if e.Type != watch.Deleted {
		m.watch(e.Object)
	}
}

// watch starts informers for the kinds in a Work that is applied.
func (m *Member) watch(work Object) {
	if !isTrue(work, workv1alpha1.WorkApplied) || isEnding(work) {
		return
	}
	for _, manifest := range manifests(work) {
		gr, has := m.resourceOf(in(manifest).GroupVersionKind().GroupKind())
		m.mu.Lock()
		isNew := has && !m.watched[gr]
		if isNew {
			m.watched[gr] = true
		}
		m.mu.Unlock()
		if isNew {
			for _, o := range m.Store.List(gr, "") {
				m.report(o)
			}
		}
	}
}

// seeObject tells the controllers of a write in the member.
func (m *Member) seeObject(e apiserver.Event) {
	m.seeLocal(e)
	m.mu.Lock()
	isWatched := m.watched[e.Resource]
	m.mu.Unlock()
	if isWatched {
		m.report(e.Object)
	}
}

// report has the status controller look at an object of this member's Works.
func (m *Member) report(o Object) {
	if key, err := m.keyOf(o); err == nil && key.work.Namespace == executionPrefix+m.Name {
		m.objects.add(key)
	}
}
