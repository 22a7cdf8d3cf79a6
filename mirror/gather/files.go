package gather

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// Files is a store of manifests, without an API server: what they say is all that there is. The Works are those that were added.
type Files struct {
	configuration *config.Configuration
	clusters      knownClusters
	// objects are all manifests; definitions and namespaces are those among them, by kind and by name, and policies the override
	// policies by namespace.
	objects     map[render.Identity]*unstructured.Unstructured
	definitions map[schema.GroupKind]*unstructured.Unstructured
	namespaces  map[string]*state.Namespace
	policies    map[string][]*state.Policy
	works       map[types.NamespacedName]*state.Work
}

// NewFiles returns a store of manifests. A configuration that is nil includes their resources, and those that Pods need, and
// honors override policies. The Files take ownership of the objects; of two with the same name, the last counts.
func NewFiles(configuration *config.Configuration, clusters []*state.Cluster, objects []*unstructured.Unstructured) *Files {
	s := &Files{
		configuration: configuration, clusters: knownClusters{}, objects: map[render.Identity]*unstructured.Unstructured{}, definitions: map[schema.GroupKind]*unstructured.Unstructured{},
		namespaces: map[string]*state.Namespace{}, policies: map[string][]*state.Policy{}, works: map[types.NamespacedName]*state.Work{},
	}
	for _, c := range clusters {
		s.clusters[c.Name] = c
	}
	for _, u := range objects {
		s.objects[IdentityOf(u)] = u
	}
	for id, u := range s.objects {
		switch id.GroupKind() {
		case schema.GroupKind{Kind: "Namespace"}:
			s.namespaces[id.Name] = state.NewNamespace(u.DeepCopy())
		case state.PolicyKind, state.ClusterPolicyKind:
			s.policies[id.Namespace] = append(s.policies[id.Namespace], state.NewPolicy(u.DeepCopy()))
		case schema.GroupKind{Group: state.DefinitionsResource.Group, Kind: "CustomResourceDefinition"}:
			group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
			s.definitions[schema.GroupKind{Group: group, Kind: kind}] = u
		}
	}
	if s.configuration == nil {
		s.configuration = &config.Configuration{OverridePolicies: config.HonorPolicies}
		for _, resource := range neededResources {
			s.configuration.Resources = append(s.configuration.Resources, config.Resource{Resource: resource})
		}
		for id := range s.objects {
			gr := s.resourceOf(id)
			s.configuration.Resources = append(s.configuration.Resources, config.Resource{Group: gr.Group, Resource: gr.Resource})
		}
	}
	return s
}

// resourceOf returns the resource of an object: as its definition or the configuration says, or else as is usual for its kind.
func (s *Files) resourceOf(id render.Identity) schema.GroupResource {
	u := s.objects[id]
	if d := s.definitions[id.GroupKind()]; d != nil {
		plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
		return schema.GroupResource{Group: id.Group, Resource: plural}
	}
	plural, singular := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	if s.configuration != nil {
		for _, r := range s.configuration.Resources {
			if r.Group == id.Group && strings.HasPrefix(r.Resource, singular.Resource) && len(r.Resource) <= len(singular.Resource)+len("es") {
				return r.GroupResource()
			}
		}
	}
	return plural.GroupResource()
}

// Asks reports whether an object asks to be mirrored, and AsksByDefault whether its Namespace does.
func (s *Files) Asks(u *unstructured.Unstructured) bool {
	return judge.Asks(state.NewObject(u.DeepCopy()), s.namespaceOf(u.GetNamespace()).Wishes)
}

// AsksByDefault: see Asks.
func (s *Files) AsksByDefault(namespace string) bool { return s.namespaceOf(namespace).Asks() }

func (s *Files) namespaceOf(name string) *state.Namespace {
	if known := s.namespaces[name]; known != nil {
		return known
	}
	return &state.Namespace{}
}

// Facts are those of one of the manifests. Its Works are wanted on all clusters at once.
func (s *Files) Facts(id render.Identity) judge.Facts {
	f, namespace := judge.Facts{ID: id, Live: true, AllAtOnce: true}, s.namespaceOf(id.Namespace)
	f.Unknown, f.Hint = excluded(s.configuration, id, s.resourceOf(id))
	f.Source = judge.NewSource(s.objects[id].DeepCopy(), namespace.Wishes)
	surround(&f, namespace, s)
	f.PoliciesLive = true
	addDependencies(&f, namespace, s)
	return f
}

// Add adds a Work.
func (s *Files) Add(w *state.Work) {
	s.works[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}] = w
}

func (s *Files) inForce() *config.Configuration { return s.configuration }

// ResourceOf returns the resource of a manifest.
func (s *Files) ResourceOf(id render.Identity) string { return s.resourceOf(id).String() }

func (s *Files) policiesIn(namespace string) iter.Seq[*state.Policy] {
	return slices.Values(s.policies[namespace])
}

func (s *Files) replicasPath(id render.Identity) (string, error) {
	if d := s.definitions[id.GroupKind()]; d != nil {
		return state.NewDefinition(d).ReplicasPath(s.objects[id].GroupVersionKind().Version), nil
	}
	return "", nil
}

func (s *Files) scale(m *render.Manifest, p render.ScalePaths) (render.Scale, error) {
	return m.Scale(p)
}

func (s *Files) autoscalersOf(id render.Identity) iter.Seq[*state.Object] {
	return func(yield func(*state.Object) bool) {
		for autoscaler, u := range s.objects {
			if !state.IsAutoscaler(autoscaler.GroupKind()) || autoscaler.Namespace != id.Namespace || !s.configuration.Includes(state.AutoscalerResources[autoscaler.GroupKind()].GroupResource(), id.Namespace) {
				continue
			}
			o := state.NewObject(u.DeepCopy())
			if scaled, ok := o.Scales(); ok && scaled == id && !yield(o) {
				return
			}
		}
	}
}

func (s *Files) needed(id render.Identity) (o *state.Object, isAbsent bool) {
	if u := s.objects[id]; u != nil {
		return state.NewObject(u.DeepCopy()), false
	}
	return nil, false
}

func (s *Files) worksOf(render.Identity) []*state.Work { return nil }

func (s *Files) Works() iter.Seq[*state.Work] { return func(func(*state.Work) bool) {} }

func (s *Files) worksScaling(*judge.Facts) iter.Seq[*state.Work] { return s.Works() }

func (s *Files) worksNeeding(*judge.Facts) iter.Seq[*state.Work] { return s.Works() }

func (s *Files) judged(id render.Identity, _ []*state.Work) judge.Judgement {
	return judge.On(s.Facts(id))
}

// WorkAt returns the Work of that name.
func (s *Files) WorkAt(_ render.Identity, cluster, name string) (*state.Work, bool) {
	w, ok := s.works[types.NamespacedName{Namespace: render.ExecutionNamespace(cluster), Name: name}]
	return w, ok
}

func (s *Files) clusterNames() []string { return s.clusters.clusterNames() }

func (s *Files) clusterFacts(name string) judge.ClusterFacts { return s.clusters.clusterFacts(name) }

// excluded returns why a source is not watched by a configuration, and what to do about it; empty if it is watched.
func excluded(configuration *config.Configuration, id render.Identity, gr schema.GroupResource) (why, hint string) {
	switch {
	case isExempt(configuration, id):
		return fmt.Sprintf("the configuration does not take the definition %q along", id.Name), "write definitions: Mirror on its resource in the ConfigMap; anything already mirrored stays"
	case id.GroupKind() == state.DefinitionKind:
		return "", ""
	}
	if why, forbidden := config.Forbidden(gr); forbidden {
		hint := "remove the annotations, if it has any: no configuration can allow it"
		if gr == state.NamespacesResource.GroupResource() {
			hint = "its annotations are the default for the objects in it: explain one of these"
		}
		return fmt.Sprintf("%s are never mirrored: %s", gr, why), hint
	}
	if configuration == nil {
		return "", ""
	}
	switch resource, ok := configuration.Resource(gr); {
	case !ok:
		return fmt.Sprintf("%s is not among the resources of the configuration", gr), "add it to the resources in the ConfigMap; anything already mirrored stays"
	case !resource.SelectsNamespace(id.Namespace):
		return fmt.Sprintf("the configuration does not include namespace %q for %q", id.Namespace, gr), fmt.Sprintf("add the namespace to the namespaces of %s in the ConfigMap; anything already mirrored stays", gr)
	}
	return "", ""
}
