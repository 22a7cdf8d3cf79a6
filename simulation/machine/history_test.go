package machine

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// moment is a world and how long it lasted, as far as one can know: from when the change
// that made it was sent until the next change was answered.
type moment struct {
	*model.World
	from  time.Time
	until time.Time // zero: it still lasts
}

// history is every world since the start.
type history []*moment

func (h history) now() *model.World { return h[len(h)-1].World }

// at is the world at a time.
func (h history) at(t time.Time) *moment {
	for _, m := range slices.Backward(h) {
		if !m.from.After(t) {
			return m
		}
	}
	return h[0]
}

// change sends a change and, unless the API server refuses it, applies it to a copy of the
// current world, which becomes the next one.
func (m *machine) change(send func() error, apply func(*model.World)) error {
	sent := time.Now()
	time.Sleep(user)
	if err := send(); err != nil {
		return err
	}
	before := m.history[len(m.history)-1]
	next := &model.World{
		Objects: maps.Clone(before.Objects), Namespaces: maps.Clone(before.Namespaces), Clusters: maps.Clone(before.Clusters),
		Autoscalers: maps.Clone(before.Autoscalers), Policies: maps.Clone(before.Policies), Configuration: before.Configuration,
	}
	apply(next)
	next.Shares = m.shares()
	before.until = time.Now()
	m.history = append(m.history, &moment{World: next, from: sent})
	return nil
}

// shares are the replicas that Works of Deployments say.
func (m *machine) shares() map[model.Place]int64 {
	all := map[model.Place]int64{}
	for _, namespace := range namespaceNames {
		for _, cluster := range m.clusters {
			k := model.Key{Kind: deployment.Kind, Namespace: namespace, Name: deployment.Name}
			work := &unstructured.Unstructured{Object: m.store.Get(workRef(model.WorkKey(cluster, k)))}
			if manifest, err := model.ManifestOf(work); err == nil && work.GetDeletionTimestamp() == nil {
				all[model.Place{Key: k, Cluster: cluster}], _, _ = unstructured.NestedInt64(manifest.Object, "spec", "replicas")
			}
		}
	}
	return all
}

// before is the state of an object before its current one; nil if there was none.
func (h history) before(of func(*model.World) *model.Object) *model.Object {
	now := of(h.now())
	for _, m := range slices.Backward(h) {
		if was := of(m.World); was != nil && was != now {
			return was
		}
	}
	return nil
}

// outcome is what the model says about an object in a cluster.
type outcome struct {
	state model.State
	like  model.Copy
}

// possible are the outcomes for an observer who may have seen each input of an object –
// the object itself, its Namespace, its cluster, the override policies, the configuration – as
// of a different time in the interval.
func (h history) possible(of target, from, to time.Time) []outcome {
	return h.possibleBy(of, from, from, to)
}

// possibleBy is possible for an observer who has read the policies and the configuration later.
func (h history) possibleBy(of target, from, read, to time.Time) []outcome {
	var objects, namespaces, clusters []*model.Object
	var configurations []*model.Configuration
	var policies []map[model.Key]*model.Policy
	var beside []map[model.Key]*model.Object
	for _, m := range h {
		if m.from.After(to) || !m.until.IsZero() && m.until.Before(from) {
			continue
		}
		objects, beside = appendNew(objects, m.Objects[of.key]), appendBeside(beside, m.World, of.key)
		namespaces = appendNew(namespaces, m.Namespaces[of.key.Namespace])
		clusters = appendNew(clusters, m.Clusters[of.cluster])
		if !m.until.IsZero() && m.until.Before(read) {
			continue
		}
		configurations = appendNew(configurations, m.Configuration)
		if !slices.ContainsFunc(policies, func(known map[model.Key]*model.Policy) bool { return maps.Equal(known, m.Policies) }) {
			policies = append(policies, m.Policies)
		}
	}
	objects = append(objects, leaving(objects)...)
	var all []outcome
	for _, object := range objects {
		for _, namespace := range namespaces {
			if namespace == nil && object != nil && !object.Leaving {
				continue // there is no object without its Namespace, but one may be seen first
			}
			for _, cluster := range clusters {
				for _, configuration := range configurations {
					for _, policies := range policies {
						for _, leaders := range beside {
							w := &model.World{
								Objects: one(of.key, object), Namespaces: one(of.key.Namespace, namespace), Clusters: one(of.cluster, cluster),
								Policies: policies, Configuration: configuration,
							}
							if len(leaders) > 0 && object != nil {
								maps.Copy(w.Objects, leaders)
							}
							state, like := w.Of(of.key, of.cluster)
							all = append(all, outcome{state, like})
						}
					}
				}
			}
		}
	}
	return all
}

// appendBeside appends what an object may follow, if that is not yet among them.
func appendBeside(all []map[model.Key]*model.Object, w *model.World, k model.Key) []map[model.Key]*model.Object {
	leaders := map[model.Key]*model.Object{}
	if o := w.Objects[k]; o != nil && o.Annotations[followsKey] != "" {
		for other, o := range w.Objects {
			if other.Namespace == k.Namespace && other != k {
				leaders[other] = o
			}
		}
	}
	if slices.ContainsFunc(all, func(known map[model.Key]*model.Object) bool { return maps.Equal(known, leaders) }) {
		return all
	}
	return append(all, leaders)
}

// leaving are objects that have been deleted as they are until their finalizers are gone: what they
// ask for may still change with their Namespace.
func leaving(objects []*model.Object) (all []*model.Object) {
	if !slices.Contains(objects, nil) {
		return nil
	}
	for _, o := range objects {
		if o != nil {
			gone := *o
			gone.Leaving = true
			all = append(all, &gone)
		}
	}
	return all
}

// appendNew appends a value unless it is already there.
func appendNew[T comparable](all []T, next T) []T {
	for _, known := range all {
		if known == next {
			return all
		}
	}
	return append(all, next)
}

// one is a map with one object, or an empty one.
func one[K comparable](key K, o *model.Object) map[K]*model.Object {
	if o == nil {
		return nil
	}
	return map[K]*model.Object{key: o}
}
