package machine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/karmada"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// machine plays users on a Karmada, with daemons of which one leads.
type machine struct {
	*scene
	store    *apiserver.Store
	karmada  *karmada.Karmada
	replicas []*replica
	witness  *witness
	audit    *audit
	history  history
	// sealed are the ConfigMaps that are immutable.
	sealed map[model.Key]bool
	// values are the contents of objects, as numbers.
	values map[*model.Object]int
	// going are the namespaces that are being deleted.
	going map[string]bool
	// before are the copies at the last quiet moment, which was at quietAt.
	before  map[target]*model.Copy
	quietAt time.Time
	// touched are the Works that a user has edited or deleted by hand since then.
	touched map[target]bool
	// left are the objects that may have been left in members when their Works were
	// deleted.
	left map[target]bool
	// judgedAt is when the last override was lost that has been judged, and heldBack how long
	// reads and writes may have been held back since the last quiet moment.
	judgedAt time.Time
	heldBack time.Duration
	// outages are when clusters were not ready. blinded: since the last quiet moment, a daemon may
	// have been kept from seeing changes for any time.
	outages []outage
	blinded bool
	// definition is that of the OverridePolicies while they are not served.
	definition apiserver.Object
	log        []string
	// strangers are sources that the model knows nothing of.
	strangers  []model.Key
	kubeconfig string
	// sections are in the configuration beside the resources, and more are further resources.
	sections, more string
	// servers are the API servers, and settings what the configuration says.
	servers  []*apiserver.Server
	settings settings
	// departed are the objects that have left the configuration with a finalizer, and the process that led then.
	departed map[apiserver.Ref]*process
	// altering are the clusters whose Works a webhook alters: a map[string]bool.
	altering atomic.Value
	// reporting: all Clusters report, as many at a time as one after the other within ten seconds.
	reporting bool
	reported  int
	// denying is the namespace of the Works that a webhook does not let be written: a string.
	denying atomic.Value
	backup  backup
	// costs are complaints about them.
	costs []string
	// isRandom: its days are drawn, and users do nothing else, and all of them are remembered. undefines: the definition of the widgets has been deleted.
	isRandom  bool
	undefines bool
}

// target is an object in a cluster.
type target struct {
	key     model.Key
	cluster string
}

func (t target) String() string { return fmt.Sprintf("%v on %s", t.key, t.cluster) }

// These are the resources of the world that the machine touches.
var (
	configMaps  = schema.GroupResource{Resource: "configmaps"}
	namespaces  = schema.GroupResource{Resource: "namespaces"}
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
	autoscalers = schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}
	works       = schema.GroupResource{Group: "work.karmada.io", Resource: "works"}
	clusters    = schema.GroupResource{Group: "cluster.karmada.io", Resource: "clusters"}
	definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	widgets     = schema.GroupResource{Group: "example.io", Resource: "widgets"}
	gauges      = schema.GroupResource{Group: "example.net", Resource: "gauges"}
	leases      = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
)

// resources maps the kinds of the objects to their resources, and those of the override policies.
var resources = map[string]schema.GroupResource{
	"ConfigMap": configMaps, deployment.Kind: deployments, autoscaler.Kind: autoscalers, widget.Kind: widgets, gauge.Kind: gauges,
	"OverridePolicy":        {Group: "policy.karmada.io", Resource: "overridepolicies"},
	"ClusterOverridePolicy": {Group: "policy.karmada.io", Resource: "clusteroverridepolicies"},
}

// mirrored are the resources in the configuration.
func (s *scene) mirrored() []schema.GroupResource {
	return append([]schema.GroupResource{configMaps, deployments, autoscalers}, s.extra...)
}

// refOf says where an object is.
func refOf(k model.Key) apiserver.Ref {
	return apiserver.Ref{Resource: resources[k.Kind], Namespace: k.Namespace, Name: k.Name}
}

// user is how long a user's request takes.
const user = 2 * time.Millisecond

// newMachine starts the daemons in a world with some clusters and two namespaces.
func newMachine(s *scene, kubeconfig string) (*machine, error) {
	m := &machine{
		scene: s, store: apiserver.NewStore(append(apiserver.Builtin(), apiserver.KarmadaResources()...)...), left: map[target]bool{},
		values: map[*model.Object]int{}, sealed: map[model.Key]bool{}, going: map[string]bool{}, before: map[target]*model.Copy{}, touched: map[target]bool{}, quietAt: time.Now(), judgedAt: time.Now(),
		kubeconfig: kubeconfig, sections: cmp.Or(s.breaker, breakerOff), departed: map[apiserver.Ref]*process{},
	}
	m.karmada = karmada.New(m.store, karmada.Options{Version: s.karmada})
	m.witness, m.audit = newWitness(m), &audit{patched: map[string]int{}}
	if s.alters {
		m.store.Admit(m.alter)
	}
	if s.steps["deny"] > 0 {
		m.store.Admit(m.deny)
	}
	m.history = history{{from: m.quietAt, World: &model.World{
		Objects: map[model.Key]*model.Object{}, Namespaces: map[string]*model.Object{}, Clusters: map[string]*model.Object{}, Autoscalers: map[model.Key]model.Key{},
		Policies: map[model.Key]*model.Policy{}, Configuration: &model.Configuration{},
	}}}
	for _, name := range []string{daemon.Namespace, "default"} { // Events of what is cluster-wide are in the latter
		if _, err := m.store.Create(namespaces, object("v1", "Namespace", "", name, nil)); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
	}
	if _, err := m.store.Create(configMaps, object("v1", "ConfigMap", daemon.Namespace, "karmada-mirror-status", nil)); err != nil {
		return nil, err
	}
	if m.isHostile {
		m.sections = breakerHigh
	}
	if err := errors.Join(m.define(resources["OverridePolicy"]), m.configure("*", none, true)); err != nil {
		return nil, err
	}
	m.store.Serve(gaugeResource)
	if len(s.extra) > 0 {
		if _, err := m.store.Create(definitions, widgetDefinition("v1")); err != nil {
			return nil, err
		}
		time.Sleep(time.Second) // until it is served
	}
	for i, name := range m.clusters {
		if err := m.putCluster(name, map[string]string{"tier": []string{"edge", "core"}[i%2]}, ""); err != nil {
			return nil, err
		}
	}
	if m.isHostile {
		if err := m.putCluster(hostile, nil, ""); err != nil {
			return nil, err
		}
	}
	for _, name := range namespaceNames {
		if err := m.putNamespace(name, nil, nil); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"one", "other", "third"}[:max(2, s.replicas)] {
		m.replica(name, s.flags...).start()
	}
	for len(m.servers) < 3 {
		m.serve("")
	}
	if s.steps["upgrade"] > 0 {
		return m, m.tell(m.stranger(inA(anchor), to("*")), m.stranger(inB(anchor), to("*")), pause(time.Second))
	}
	return m, nil
}

// define adds the definition of a custom resource.
func (m *machine) define(gr schema.GroupResource) error {
	served, _ := m.store.Served(gr)
	_, err := m.store.Create(definitions, definitionOf(served))
	return err
}

// definitionOf is a definition that serves a resource.
func definitionOf(r apiserver.Resource) apiserver.Object {
	scope := map[bool]string{true: "Namespaced", false: "Cluster"}[r.Namespaced]
	var versions []any
	for i, name := range r.Versions {
		versions = append(versions, map[string]any{
			"name": name, "served": true, "storage": i == 0, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		})
	}
	names := map[string]any{"plural": r.Resource, "singular": r.Singular, "kind": r.Kind, "listKind": r.ListKind}
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", r.GroupResource().String(), map[string]any{
		"spec": map[string]any{"group": r.Group, "scope": scope, "names": names, "versions": versions},
	})
}

// replica adds a replica with an API server of its own, which does not run yet.
func (m *machine) replica(name string, flags ...string) *replica {
	r := newReplica(name, nil, m.kubeconfig)
	r.flags = flags
	m.join(r)
	m.replicas = append(m.replicas, r)
	return r
}

// join leads a replica to a new API server.
func (m *machine) join(r *replica) {
	m.serve(r.name)
	r.api, r.server = m.servers[len(m.servers)-1], m.door(len(m.servers)-1)
	if r.layer != nil {
		r.layer.Connect(r.server)
	}
}

// serve adds an API server, which a replica will use.
func (m *machine) serve(by string) {
	server := m.store.NewServer()
	server.Audit(func(e apiserver.AuditEvent) { m.audit.note(by, e) })
	m.servers = append(m.servers, server)
}

// door leads to an API server.
func (m *machine) door(i int) http.RoundTripper {
	if m.isOld {
		return fault.NoStreamingLists(m.servers[i])
	}
	return m.servers[i]
}

// end ends everything that runs.
func (m *machine) end() {
	for _, r := range m.replicas {
		r.end()
	}
	m.karmada.Close()
}

// story is what happened.
func (m *machine) story() string { return strings.Join(m.log, "\n") }

// variables are in the ConfigMaps with a number as their content: none, with a default, without
// one, and some that are no variables.
var variables = []string{
	"$(HOME) $$(cluster.name)", "on $(cluster.name), $(cluster.label:tier:-any) in $(cluster.region:-no region)", "$(cluster.label:tier)/$(cluster.zone)", "$(cluster.nothing)",
}

// object makes an object.
func object(apiVersion, kind, namespace, name string, fields map[string]any) apiserver.Object {
	o := maps.Clone(fields)
	if o == nil {
		o = map[string]any{}
	}
	u := &unstructured.Unstructured{Object: o}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return o
}

// numbered makes an object with a number as its content.
func numbered(k model.Key, value int) apiserver.Object {
	labels := map[string]any{"app": k.Name}
	switch k.Kind {
	case deployment.Kind:
		container := map[string]any{"name": "web", "image": fmt.Sprintf("web:%d", value)}
		return object("apps/v1", k.Kind, k.Namespace, k.Name, map[string]any{"spec": map[string]any{
			"replicas": int64(1 + value), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{container}}},
		}})
	case autoscaler.Kind:
		return object("autoscaling/v2", k.Kind, k.Namespace, k.Name, map[string]any{"spec": map[string]any{
			"maxReplicas": int64(1 + value), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": deployment.Kind, "name": deployment.Name},
		}})
	}
	version := "v1"
	if group := resources[k.Kind].Group; group != "" {
		version = group + "/v1"
	}
	return object(version, k.Kind, k.Namespace, k.Name, map[string]any{"data": map[string]any{"key": fmt.Sprint(value), "text": variables[value]}})
}

// apply creates an object, or replaces it and leaves the finalizers that it has, as kubectl apply does.
func (m *machine) apply(gr schema.GroupResource, o apiserver.Object) (apiserver.Object, error) {
	u := &unstructured.Unstructured{Object: o}
	there := m.store.Get(apiserver.Ref{Resource: gr, Namespace: u.GetNamespace(), Name: u.GetName()})
	if there == nil {
		return m.store.Create(gr, o)
	}
	u.SetFinalizers((&unstructured.Unstructured{Object: there}).GetFinalizers())
	return m.store.Update(gr, o, "")
}

// put creates an object, or replaces it.
func (m *machine) put(k model.Key, value int, annotations, labels map[string]string) error {
	if m.going[k.Namespace] || !m.isServed(k) {
		return nil
	}
	o := numbered(k, value)
	if there := m.store.Get(refOf(k)); there != nil && there["immutable"] == true && m.values[m.history.now().Objects[k]] != value {
		if err := m.delete(k); err != nil {
			return err
		}
	}
	if m.sealed[k] {
		o["immutable"] = true
	}
	u := &unstructured.Unstructured{Object: o}
	u.SetAnnotations(annotations)
	u.SetLabels(labels)
	now, there := m.history.now().Objects[k], m.store.Get(refOf(k))
	if now == nil && there != nil {
		return nil // it is still being deleted
	}
	return m.change(func() (err error) {
		o, err = m.apply(resources[k.Kind], o)
		return err
	}, func(w *model.World) {
		applied := &unstructured.Unstructured{Object: o}
		_, w.Objects[k] = model.Applied(applied)
		m.values[w.Objects[k]] = value
		if k.Kind == autoscaler.Kind {
			w.Autoscalers[k] = model.Scaled(applied)
		}
	})
}

// isServed reports whether users can change objects of a kind.
func (m *machine) isServed(k model.Key) bool {
	r, _ := m.store.Served(resources[k.Kind])
	return len(r.Versions) > 0
}

// edit changes only the content of an object.
func (m *machine) edit(k model.Key, value int) error {
	if now := m.history.now().Objects[k]; now != nil {
		return m.put(k, value, now.Annotations, now.Labels)
	}
	return nil
}

// putBack restores an object to what it was before its last change.
func (m *machine) putBack(k model.Key) error {
	before := m.history.before(func(w *model.World) *model.Object { return w.Objects[k] })
	if before == nil || m.history.now().Objects[k] == nil {
		return nil
	}
	return m.put(k, m.values[before], before.Annotations, before.Labels)
}

func (m *machine) delete(k model.Key) error {
	if now := m.history.now().Objects[k]; now == nil || now.Orphaned || !m.isServed(k) {
		return nil
	}
	return m.change(func() error {
		return ignoreNotFound(m.store.Delete(refOf(k), metav1.DeleteOptions{}))
	}, func(w *model.World) {
		delete(w.Objects, k)
		delete(w.Autoscalers, k)
	})
}

// seal makes a ConfigMap immutable from its next creation on, and creates it again.
func (m *machine) seal(k model.Key, value int) error {
	now := m.history.now().Objects[k]
	if now == nil || m.going[k.Namespace] {
		return nil
	}
	m.sealed[k] = true
	if err := m.delete(k); err != nil {
		return err
	}
	return m.put(k, value, now.Annotations, now.Labels)
}

// recreate deletes an object and creates it again as it was.
func (m *machine) recreate(k model.Key) error {
	now := m.history.now().Objects[k]
	if now == nil || m.going[k.Namespace] {
		return nil
	}
	if err := m.delete(k); err != nil {
		return err
	}
	return m.put(k, 0, now.Annotations, now.Labels)
}

func (m *machine) putNamespace(name string, annotations, labels map[string]string) error {
	o := object("v1", "Namespace", "", name, nil)
	u := &unstructured.Unstructured{Object: o}
	u.SetAnnotations(annotations)
	u.SetLabels(labels)
	if m.going[name] && m.store.Get(apiserver.Ref{Resource: namespaces, Name: name}) != nil {
		return nil // it is still being deleted
	}
	delete(m.going, name)
	return m.change(func() (err error) {
		o, err = m.apply(namespaces, o)
		return err
	}, func(w *model.World) { _, w.Namespaces[name] = model.Applied(&unstructured.Unstructured{Object: o}) })
}

// putNamespaceBack restores a Namespace's annotations and labels from before its last
// change.
func (m *machine) putNamespaceBack(name string) error {
	before := m.history.before(func(w *model.World) *model.Object { return w.Namespaces[name] })
	if before == nil || m.history.now().Namespaces[name] == nil {
		return nil
	}
	return m.putNamespace(name, before.Annotations, before.Labels)
}

// deleteNamespace deletes a namespace and everything in it, which takes a while.
func (m *machine) deleteNamespace(name string) error {
	if m.history.now().Namespaces[name] == nil {
		return nil
	}
	m.going[name] = true
	return m.change(func() error {
		return m.store.Delete(apiserver.Ref{Resource: namespaces, Name: name}, metav1.DeleteOptions{})
	}, func(w *model.World) {
		delete(w.Namespaces, name)
		maps.DeleteFunc(w.Objects, func(k model.Key, _ *model.Object) bool { return k.Namespace == name })
		maps.DeleteFunc(w.Autoscalers, func(k, _ model.Key) bool { return k.Namespace == name })
		maps.DeleteFunc(w.Policies, func(k model.Key, _ *model.Policy) bool { return k.Namespace == name })
	})
}

// holdsAny reports whether a namespace has objects with the finalizer, or that may get it.
func (m *machine) holdsAny(name string) bool {
	asks := func(o *model.Object) bool { return o != nil && o.Annotations[deletionKey] != "" }
	if asks(m.history.now().Namespaces[name]) {
		return true
	}
	for key, o := range m.history.now().Objects {
		if key.Namespace == name && asks(o) {
			return true
		}
	}
	for _, gr := range m.mirrored() {
		for _, found := range m.store.List(gr, name) {
			if _, o := model.Applied(&unstructured.Unstructured{Object: found}); o.Finalized {
				return true
			}
		}
	}
	return false
}

// putCluster makes a cluster join, or replaces its labels and its region, of which it has one
// zone.
func (m *machine) putCluster(name string, labels map[string]string, region string) error {
	ref := apiserver.Ref{Resource: clusters, Name: name}
	if m.history.now().Clusters[name] == nil && m.store.Get(ref) != nil {
		return nil // it is still leaving
	}
	return m.change(func() error {
		if m.store.Get(ref) == nil {
			isNew := m.karmada.Member(name) == nil
			member, err := m.karmada.Join(karmada.Cluster{Name: name, Labels: labels, Region: region, Zones: zonesOf(region), Resources: []apiserver.Resource{widgetResource, gaugeResource}})
			if err != nil {
				return err
			}
			if isNew {
				m.witness.follow(name, member.Store)
			}
		}
		_, err := m.store.Modify(ref, "", func(o apiserver.Object) { describe(&unstructured.Unstructured{Object: o}, labels, region) })
		return err
	}, func(w *model.World) {
		_, w.Clusters[name] = model.Applied(&unstructured.Unstructured{Object: m.store.Get(ref)})
	})
}

// describe sets the labels and the region of a Cluster.
func describe(u *unstructured.Unstructured, labels map[string]string, region string) {
	u.SetLabels(labels)
	unstructured.RemoveNestedField(u.Object, "spec", "region")
	unstructured.RemoveNestedField(u.Object, "spec", "zones")
	if region != "" {
		setField(region, "spec", "region")(u)
		_ = unstructured.SetNestedStringSlice(u.Object, zonesOf(region), "spec", "zones") // there is a spec
	}
}

func zonesOf(region string) []string {
	if region == "" {
		return nil
	}
	if region == "us" { // which has several
		return []string{"us-1", "us-2"}
	}
	return []string{region + "-1"}
}

// joinReady makes a cluster join that Karmada can reach.
func (m *machine) joinReady(name string) error {
	if err := m.putCluster(name, nil, ""); err != nil {
		return err
	}
	return m.setReady(name, true)
}

// removeCluster makes a cluster leave: Karmada deletes its Works.
func (m *machine) removeCluster(name string) error {
	if all := m.history.now().Clusters; all[name] == nil || len(all) == 1 { // the anchor holds in some
		return nil
	}
	for _, k := range m.keys() {
		m.touched[target{k, name}] = true
	}
	return m.change(func() error { return m.karmada.Unjoin(name) }, func(w *model.World) { delete(w.Clusters, name) })
}

// These begin a configuration, and turn the breaker off in one.
const (
	configurationHead = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n"
	breakerOff        = "deletion: {holdAbove: {works: 0, percent: 25}}\n"
)

// settings are what a configuration says.
type settings struct {
	namespaces, rules string
	honors            bool
	without           string // a kind
}

// configure replaces the configuration by one that mirrors all kinds.
func (m *machine) configure(globs, rules string, honors bool) error {
	return m.reconfigure(settings{globs, rules, honors, ""})
}

func (m *machine) reconfigure(s settings) error {
	next := &model.Configuration{Namespaces: []string{s.namespaces}, Overrides: s.honors, Without: []string{s.without}}
	options := ""
	if s.honors {
		options = "overridePolicies: Honor\n"
	}
	switch s.rules {
	case "m1":
		next.Authorization, options = []model.Rule{{Clusters: []string{"m1"}}}, options+"authorization: [{clusters: [m1]}]\n"
	case "gold":
		gold := map[string]string{"tier": "gold"}
		next.Authorization, options = []model.Rule{{NamespaceLabels: gold}}, options+"authorization: [{namespaceSelector: {matchLabels: {tier: gold}}}]\n"
	case "nothing":
		next.Authorization, options = []model.Rule{}, options+"authorization: []\n"
	}
	text := configurationHead + m.sections + options + "resources:\n" + m.more
	for _, gr := range m.mirrored() {
		if gr != resources[s.without] {
			text += fmt.Sprintf("- {group: %q, resource: %s, namespaces: [%q], aggregateStatus: %t}\n", gr.Group, gr.Resource, s.namespaces, gr == deployments || gr == widgets)
		}
	}
	return m.change(func() error {
		m.depart(next)
		_, err := m.apply(configMaps, object("v1", "ConfigMap", daemon.Namespace, "karmada-mirror", map[string]any{"data": map[string]any{config.Key: text}}))
		return err
	}, func(w *model.World) { w.Configuration, m.settings = next, s })
}

// putPolicy creates an override policy, or replaces it.
func (m *machine) putPolicy(k model.Key, p *model.Policy) error {
	if m.going[k.Namespace] {
		return nil
	}
	return m.change(func() error {
		_, err := m.apply(resources[k.Kind], p.Resource(k).Object)
		return err
	}, func(w *model.World) { w.Policies[k] = p })
}

func (m *machine) deletePolicy(k model.Key) error {
	if m.history.now().Policies[k] == nil {
		return nil
	}
	return m.change(func() error {
		return ignoreNotFound(m.store.Delete(refOf(k), metav1.DeleteOptions{}))
	}, func(w *model.World) { delete(w.Policies, k) })
}

// touch records that a user changes a Work by hand, and returns where it is.
func (m *machine) touch(of target) apiserver.Ref {
	m.touched[of] = true
	return workRef(model.WorkKey(of.cluster, of.key))
}

// workRef is where a Work is, by its namespace/name.
func workRef(key string) apiserver.Ref {
	namespace, name, _ := strings.Cut(key, "/")
	return apiserver.Ref{Resource: works, Namespace: namespace, Name: name}
}

// deleteWork and editWork are a user's mistakes.
func (m *machine) deleteWork(of target) error {
	return ignoreNotFound(m.store.Delete(m.touch(of), metav1.DeleteOptions{}))
}

func (m *machine) editWork(of target, change func(*unstructured.Unstructured)) error {
	_, err := m.store.Modify(m.touch(of), "", func(o apiserver.Object) { change(&unstructured.Unstructured{Object: o}) })
	if apierrors.IsForbidden(err) {
		return nil // by a webhook, which users meet too
	}
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// keys are all objects that may exist.
func (m *machine) keys() (all []model.Key) {
	for _, namespace := range namespaceNames {
		for _, k := range m.objects {
			k.Namespace = namespace
			all = append(all, k)
		}
	}
	return all
}
