package machine

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// machine plays users on a Karmada, with two daemons, a leader and a standby.
type machine struct {
	*scene
	t        *testing.T
	replicas [2]*replica
	executor *executor // nil if there are members
	audit    e2e.AuditLog
	// prefix begins the names of its namespaces.
	prefix  string
	history history
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
	definition *unstructured.Unstructured
	log        []string
}

// target is an object in a cluster.
type target struct {
	key     model.Key
	cluster string
}

func (t target) String() string { return fmt.Sprintf("%v on %s", t.key, t.cluster) }

// resources maps the kinds of the objects to their resources.
var resources = map[string]schema.GroupVersionResource{
	"ConfigMap": e2e.ConfigMaps, deployment.Kind: e2e.Deployments, autoscaler.Kind: e2e.Autoscalers,
}

// policyResources maps the kinds of the override policies to their resources.
var policyResources = map[string]schema.GroupVersionResource{
	"OverridePolicy": e2e.OverridePolicies, "ClusterOverridePolicy": e2e.ClusterOverridePolicies,
}

// newMachine starts both daemons in a world with two clusters and two namespaces.
func newMachine(t *testing.T, s *scene, replicas [2]*replica, executor *executor) (*machine, error) {
	m := &machine{
		scene: s, t: t, left: map[target]bool{}, replicas: replicas, executor: executor, audit: e2e.AuditFromNow(t), prefix: "machine-" + utilrand.String(5),
		values: map[*model.Object]int{}, going: map[string]bool{}, before: map[target]*model.Copy{}, touched: map[target]bool{}, quietAt: time.Now(), judgedAt: time.Now(),
	}
	m.history = history{{from: m.quietAt, World: &model.World{
		Objects: map[model.Key]*model.Object{}, Namespaces: map[string]*model.Object{}, Clusters: map[string]*model.Object{}, Autoscalers: map[model.Key]model.Key{},
		Policies: map[model.Key]*model.Policy{}, Configuration: &model.Configuration{},
	}}}
	if err := m.configure("*", none, true); err != nil {
		return nil, err
	}
	for _, name := range m.clusters {
		if !m.inWaves {
			break
		}
		if err := m.joinReady(name); err != nil {
			return nil, err
		}
	}
	for i, tier := range []string{"edge", "core"} {
		if err := m.putCluster(m.clusters[i], map[string]string{"tier": tier}, ""); err != nil {
			return nil, err
		}
	}
	for _, name := range namespaceNames {
		if err := m.putNamespace(name, nil, nil); err != nil {
			return nil, err
		}
	}
	for _, r := range m.replicas {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// do runs the next step.
func (m *machine) do(t *rapid.T, s step, pause time.Duration) {
	m.log = append(m.log, fmt.Sprintf("%s %s", time.Now().UTC().Format("15:04:05.000"), s.what))
	if err := s.do(m); err != nil {
		t.Fatalf("%s: %v\n%s", s.what, err, m.story())
	}
	time.Sleep(pause)
}

// story is what happened since the quiet moment before the last one.
func (m *machine) story() string { return strings.Join(m.log, "\n") }

func (m *machine) namespace(name string) string { return m.prefix + "-" + name }

func (m *machine) real(k model.Key) model.Key {
	k.Namespace = m.namespace(k.Namespace)
	return k
}

// variables are in the ConfigMaps with a number as their content: none, with a default, without
// one, and some that are no variables.
var variables = []string{
	"$(HOME) $$(cluster.name)", "on $(cluster.name), $(cluster.label:tier:-any) in $(cluster.region:-no region)", "$(cluster.label:tier)/$(cluster.zone)", "$(cluster.nothing)",
}

// object makes an object with a number as its content.
func object(k model.Key, value int) *unstructured.Unstructured {
	labels := map[string]any{"app": k.Name}
	switch k.Kind {
	case deployment.Kind:
		container := map[string]any{"name": "web", "image": fmt.Sprintf("web:%d", value)}
		return e2e.Object("apps/v1", k.Kind, k.Namespace, k.Name, map[string]any{"spec": map[string]any{
			"replicas": int64(1 + value), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{container}}},
		}})
	case autoscaler.Kind:
		return e2e.Object("autoscaling/v2", k.Kind, k.Namespace, k.Name, map[string]any{"spec": map[string]any{
			"maxReplicas": int64(1 + value), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": deployment.Kind, "name": deployment.Name},
		}})
	}
	return e2e.Object("v1", k.Kind, k.Namespace, k.Name, map[string]any{"data": map[string]any{"key": fmt.Sprint(value), "text": variables[value]}})
}

// put creates an object, or replaces it.
func (m *machine) put(k model.Key, value int, annotations, labels map[string]string) error {
	if m.going[k.Namespace] {
		return nil
	}
	k = m.real(k)
	u := object(k, value)
	u.SetAnnotations(annotations)
	u.SetLabels(labels)
	client, applied := e2e.Env.Admin.Resource(resources[k.Kind]).Namespace(k.Namespace), (*unstructured.Unstructured)(nil)
	now := m.history.now().Objects[k]
	if err := m.keepFinalizers(client, now, u); err != nil {
		return err
	}
	err := m.history.change(func() (err error) {
		if now != nil {
			applied, err = client.Update(m.t.Context(), u, metav1.UpdateOptions{})
		} else {
			applied, err = client.Create(m.t.Context(), u, metav1.CreateOptions{})
		}
		return err
	}, func(w *model.World) {
		_, w.Objects[k] = e2e.Applied(applied)
		m.values[w.Objects[k]] = value
		if k.Kind == autoscaler.Kind {
			w.Autoscalers[k] = e2e.Scaled(applied)
		}
	})
	if now == nil && apierrors.IsAlreadyExists(err) {
		return nil // it is still being deleted
	}
	return err
}

// keepFinalizers gives an object the finalizers that it has, as kubectl apply does: an update would
// remove those of the daemon.
func (m *machine) keepFinalizers(client dynamic.ResourceInterface, now *model.Object, u *unstructured.Unstructured) error {
	if now == nil {
		return nil
	}
	there, err := client.Get(m.t.Context(), u.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	u.SetFinalizers(there.GetFinalizers())
	return nil
}

// edit changes only the content of an object.
func (m *machine) edit(k model.Key, value int) error {
	if now := m.history.now().Objects[m.real(k)]; now != nil {
		return m.put(k, value, now.Annotations, now.Labels)
	}
	return nil
}

// putBack restores an object to what it was before its last change.
func (m *machine) putBack(k model.Key) error {
	before := m.history.before(func(w *model.World) *model.Object { return w.Objects[m.real(k)] })
	if before == nil || m.history.now().Objects[m.real(k)] == nil {
		return nil
	}
	return m.put(k, m.values[before], before.Annotations, before.Labels)
}

func (m *machine) delete(k model.Key) error {
	k.Namespace = m.namespace(k.Namespace)
	if m.history.now().Objects[k] == nil {
		return nil
	}
	return m.history.change(func() error {
		return ignoreNotFound(e2e.Env.Admin.Resource(resources[k.Kind]).Namespace(k.Namespace).Delete(m.t.Context(), k.Name, metav1.DeleteOptions{}))
	}, func(w *model.World) {
		delete(w.Objects, k)
		delete(w.Autoscalers, k)
	})
}

// recreate deletes an object and creates it again as it was.
func (m *machine) recreate(k model.Key) error {
	now := m.history.now().Objects[m.real(k)]
	if now == nil || m.going[k.Namespace] {
		return nil
	}
	if err := m.delete(k); err != nil {
		return err
	}
	return m.put(k, 0, now.Annotations, now.Labels)
}

func (m *machine) putNamespace(name string, annotations, labels map[string]string) error {
	u := e2e.Object("v1", "Namespace", "", m.namespace(name), nil)
	u.SetAnnotations(annotations)
	u.SetLabels(labels)
	client, applied := e2e.Env.Admin.Resource(e2e.Namespaces), (*unstructured.Unstructured)(nil)
	err := m.history.change(func() (err error) {
		if m.history.now().Namespaces[u.GetName()] != nil {
			applied, err = client.Update(m.t.Context(), u, metav1.UpdateOptions{})
		} else {
			applied, err = client.Create(m.t.Context(), u, metav1.CreateOptions{})
		}
		return err
	}, func(w *model.World) { _, w.Namespaces[u.GetName()] = e2e.Applied(applied) })
	if m.going[name] && apierrors.IsAlreadyExists(err) {
		return nil // it is still being deleted
	}
	delete(m.going, name)
	return err
}

// putNamespaceBack restores a Namespace's annotations and labels from before its last
// change.
func (m *machine) putNamespaceBack(name string) error {
	real := m.namespace(name)
	before := m.history.before(func(w *model.World) *model.Object { return w.Namespaces[real] })
	if before == nil || m.history.now().Namespaces[real] == nil {
		return nil
	}
	return m.putNamespace(name, before.Annotations, before.Labels)
}

// deleteNamespace deletes a namespace and everything in it, which takes a while.
func (m *machine) deleteNamespace(name string) error {
	real := m.namespace(name)
	if m.history.now().Namespaces[real] == nil {
		return nil
	}
	m.going[name] = true
	return m.history.change(func() error {
		return e2e.Env.Admin.Resource(e2e.Namespaces).Delete(m.t.Context(), real, metav1.DeleteOptions{})
	}, func(w *model.World) {
		delete(w.Namespaces, real)
		maps.DeleteFunc(w.Objects, func(k model.Key, _ *model.Object) bool { return k.Namespace == real })
		maps.DeleteFunc(w.Autoscalers, func(k, _ model.Key) bool { return k.Namespace == real })
		maps.DeleteFunc(w.Policies, func(k model.Key, _ *model.Policy) bool { return k.Namespace == real })
	})
}

// holdsAny reports whether a namespace has objects with the finalizer, or that may get it.
func (m *machine) holdsAny(name string) (bool, error) {
	real := m.namespace(name)
	asks := func(o *model.Object) bool { return o != nil && o.Annotations[deletionKey] != "" }
	if asks(m.history.now().Namespaces[real]) {
		return true, nil
	}
	for key, o := range m.history.now().Objects {
		if key.Namespace == real && asks(o) {
			return true, nil
		}
	}
	for _, resource := range resources {
		list, err := e2e.Env.Admin.Resource(resource).Namespace(real).List(m.t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if _, o := e2e.Applied(&list.Items[i]); o.Finalized {
				return true, nil
			}
		}
	}
	return false, nil
}

// putCluster makes a cluster join, or replaces its labels and its region, of which it has one
// zone.
func (m *machine) putCluster(name string, labels map[string]string, region string) error {
	client, applied := e2e.Env.Admin.Resource(e2e.Clusters), (*unstructured.Unstructured)(nil)
	say := func(u *unstructured.Unstructured) {
		u.SetLabels(labels)
		unstructured.RemoveNestedField(u.Object, "spec", "region")
		unstructured.RemoveNestedField(u.Object, "spec", "zones")
		if region != "" {
			e2e.SetField(region, "spec", "region")(u)
			e2e.SetField([]any{region + "-1"}, "spec", "zones")(u)
		}
	}
	return m.history.change(func() error {
		now, err := client.Get(m.t.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			u := e2e.Object("cluster.karmada.io/v1alpha1", "Cluster", "", name, map[string]any{"spec": map[string]any{"syncMode": "Push", "apiEndpoint": "https://127.0.0.1:1"}})
			say(u)
			applied, err = client.Create(m.t.Context(), u, metav1.CreateOptions{})
		case err == nil:
			say(now)
			applied, err = client.Update(m.t.Context(), now, metav1.UpdateOptions{})
		}
		return err
	}, func(w *model.World) { _, w.Clusters[name] = e2e.Applied(applied) })
}

// joinReady makes a cluster join that Karmada can reach.
func (m *machine) joinReady(name string) error {
	if err := m.putCluster(name, nil, ""); err != nil {
		return err
	}
	return m.setReady(name, true)
}

// loseCluster makes a cluster leave without its Works being deleted.
func (m *machine) loseCluster(name string) error {
	if m.history.now().Clusters[name] == nil {
		return nil
	}
	return m.history.change(func() error {
		return e2e.Env.Admin.Resource(e2e.Clusters).Delete(m.t.Context(), name, metav1.DeleteOptions{})
	}, func(w *model.World) { delete(w.Clusters, name) })
}

// removeCluster makes a cluster leave and, as Karmada does, deletes its Works.
func (m *machine) removeCluster(name string) error {
	if err := m.loseCluster(name); err != nil {
		return err
	}
	for _, k := range m.keys() {
		m.touched[target{k, name}] = true
	}
	return e2e.Env.Admin.Resource(e2e.Works).Namespace("karmada-es-"+name).DeleteCollection(m.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
}

// configure replaces the configuration.
func (m *machine) configure(namespaces, rules string, honors bool) error {
	globs := m.namespace(namespaces)
	next := &model.Configuration{Namespaces: []string{globs}, Overrides: honors}
	options := ""
	if honors {
		options = e2e.HonorPolicies
	}
	switch rules {
	case "m1":
		next.Authorization, options = []model.Rule{{Clusters: []string{"m1"}}}, options+"authorization: [{clusters: [m1]}]\n"
	case "gold":
		gold := map[string]string{"tier": "gold"}
		next.Authorization, options = []model.Rule{{NamespaceLabels: gold}}, options+"authorization: [{namespaceSelector: {matchLabels: {tier: gold}}}]\n"
	case "nothing":
		next.Authorization, options = []model.Rule{}, options+"authorization: []\n"
	}
	text := e2e.ConfigurationHead + e2e.BreakerOff + options + "resources:\n"
	for _, resource := range resources {
		text += fmt.Sprintf("- {group: %q, resource: %s, namespaces: [%q], aggregateStatus: %t}\n", resource.Group, resource.Resource, globs, resource == e2e.Deployments)
	}
	return m.history.change(func() error {
		patch := e2e.Object("v1", "ConfigMap", e2e.System, e2e.Account, map[string]any{"data": map[string]any{config.Key: text}})
		_, err := e2e.Env.Admin.Resource(e2e.ConfigMaps).Namespace(e2e.System).Update(m.t.Context(), patch, metav1.UpdateOptions{})
		return err
	}, func(w *model.World) { w.Configuration = next })
}

// realPolicy is the key of an override policy: its namespace or, if it is cluster-wide, its name
// begins with the prefix.
func (m *machine) realPolicy(k model.Key) model.Key {
	if k.Namespace == "" {
		k.Name = m.prefix + "-" + k.Name
		return k
	}
	return m.real(k)
}

// putPolicy creates an override policy, or replaces it.
func (m *machine) putPolicy(k model.Key, p *model.Policy) error {
	if m.going[k.Namespace] {
		return nil
	}
	k = m.realPolicy(k)
	u, client := e2e.Overriding(k, p), e2e.Env.Admin.Resource(policyResources[k.Kind]).Namespace(k.Namespace)
	return m.history.change(func() error {
		if m.history.now().Policies[k] == nil {
			_, err := client.Create(m.t.Context(), u, metav1.CreateOptions{})
			return err
		}
		there, err := client.Get(m.t.Context(), k.Name, metav1.GetOptions{})
		if err == nil {
			u.SetResourceVersion(there.GetResourceVersion())
			_, err = client.Update(m.t.Context(), u, metav1.UpdateOptions{})
		}
		return err
	}, func(w *model.World) { w.Policies[k] = p })
}

func (m *machine) deletePolicy(k model.Key) error {
	k = m.realPolicy(k)
	if m.history.now().Policies[k] == nil {
		return nil
	}
	return m.history.change(func() error {
		return ignoreNotFound(e2e.Env.Admin.Resource(policyResources[k.Kind]).Namespace(k.Namespace).Delete(m.t.Context(), k.Name, metav1.DeleteOptions{}))
	}, func(w *model.World) { delete(w.Policies, k) })
}

// touch records that a user changes a Work by hand, and returns its namespace and name.
func (m *machine) touch(of target) (namespace, name string) {
	of.key = m.real(of.key)
	m.touched[of] = true
	namespace, name, _ = strings.Cut(e2e.WorkKey(of.cluster, of.key), "/")
	return namespace, name
}

// deleteWork and editWork are a user's mistakes.
func (m *machine) deleteWork(of target) error {
	namespace, name := m.touch(of)
	return ignoreNotFound(e2e.Env.Admin.Resource(e2e.Works).Namespace(namespace).Delete(m.t.Context(), name, metav1.DeleteOptions{}))
}

func (m *machine) editWork(of target, patch string) error {
	namespace, name := m.touch(of)
	_, err := e2e.Env.Admin.Resource(e2e.Works).Namespace(namespace).Patch(m.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
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
			k.Namespace = m.namespace(namespace)
			all = append(all, k)
		}
	}
	return all
}

// end stops the daemons and deletes what is left over.
func (m *machine) end(ctx context.Context) {
	for _, r := range m.replicas {
		r.settle()
		if err := r.stop(); err != nil {
			m.t.Errorf("replica %s: %v\n%s", r.name, err, m.save())
		}
	}
	for _, name := range namespaceNames {
		_ = e2e.Env.Admin.Resource(e2e.Namespaces).Delete(ctx, m.namespace(name), metav1.DeleteOptions{})
	}
	for _, k := range policies {
		k = m.realPolicy(k)
		_ = e2e.Env.Admin.Resource(policyResources[k.Kind]).Namespace(k.Namespace).Delete(ctx, k.Name, metav1.DeleteOptions{})
	}
	for _, name := range m.clusters {
		if !m.hasMembers {
			_ = e2e.Env.Admin.Resource(e2e.Clusters).Delete(ctx, name, metav1.DeleteOptions{})
		}
		_ = e2e.Env.Admin.Resource(e2e.Works).Namespace("karmada-es-"+name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}
}
