package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// withoutSweeps has the daemons not sweep: what stands still without it is a defect.
var withoutSweeps = []string{"--resync-period=10h"}

// altered plays in waves, with a webhook that alters Works.
func altered() *scene {
	s := *inWaves
	s.annotations = map[string]choices{
		clustersKey: {"*": 12, "*,!m3": 1}, "karmada.target/waves": {"m1;*": 4, "m1;m2,m3(1);*": 6, "m1;*(1)": 4, "*(1)": 4, "*(2)": 4}, preserveKey: {none: 3, "true": 1},
		"karmada.target/conflict-resolution": {"overwrite": 1}, // as in inMembers
	}
	s.steps = choices{"put": 8, "edit": 24, "toggle": 8, "alter": 10, "ail": 8, "fail": 4, "heal": 4, "away": 4, "ready": 6, "restart": 8, "kill": 2, "there and back": 4, "halt": 4, "Work deleted": 4, "Work edited": 4, "override": 4, "override goes": 2, "rejoin": 3, "cluster": 3}
	s.alters, s.flags, s.options = true, withoutSweeps, []string{preserveKey, suspendKey}
	return &s
}

const (
	preserveKey = "karmada.target/preserve-on-deletion"
	suspendKey  = "karmada.target/suspend"
)

// widget is an object of a custom resource whose version the configuration does not name.
var (
	widget         = model.Key{Kind: "Widget", Name: "wheel"}
	anchor         = model.Key{Kind: "Widget", Name: "anchor"} // always has Works, in each namespace, and so keeps the version
	widgetResource = apiserver.Resource{Group: widgets.Group, Resource: widgets.Resource, Kind: widget.Kind, ListKind: "WidgetList", Singular: "widget", Versions: []string{"v1"}, Namespaced: true, Custom: true}
)

// gauge is an object of a resource that another API server serves, which no definition defines.
var (
	gauge         = model.Key{Kind: "Gauge", Name: "dial"}
	gaugeResource = apiserver.Resource{Group: gauges.Group, Resource: gauges.Resource, Kind: gauge.Kind, ListKind: "GaugeList", Singular: "gauge", Versions: []string{"v1"}, Storage: "v1", Namespaced: true}
)

// widgetDefinition defines widgets in some versions, and keeps them in the first.
func widgetDefinition(versions ...string) apiserver.Object {
	r := widgetResource
	r.Versions = versions
	return definitionOf(r)
}

// inVersions plays with a resource of which a newer version comes and goes: the one that Works have stays.
var inVersions = &scene{
	clusters: []string{"m1", "m2"}, objects: []model.Key{widget, pages[0]}, extra: []schema.GroupResource{widgets},
	annotations: map[string]choices{clustersKey: {"m1": 1, "*": 3}},
	claims:      choices{none: 1},
	steps:       choices{"put": 20, "edit": 10, "upgrade": 6, "override": 10, "override goes": 2, "restart": 2, "kill": 1, "shut": 2, "open": 2},
}

// newToVersions has no Works from which a version follows.
var newToVersions = func() *scene {
	s := *inVersions
	s.clusters, s.steps, s.inWaves = members(3), choices{"put": 1}, true
	return &s
}()

// withDefinitions plays with a custom resource that is no longer served, and whose definition goes and comes back, and with one
// of another API server.
var withDefinitions = &scene{
	clusters: []string{"m1", "m2"}, objects: []model.Key{widget, gauge, pages[0]}, extra: []schema.GroupResource{widgets, gauges},
	annotations: map[string]choices{clustersKey: {"m1": 2, "m2": 1, "*": 4, none: 1}},
	claims:      choices{none: 1},
	steps:       choices{"put": 20, "edit": 8, "delete": 4, "recreate": 2, "definition": 12, "gauges": 4, "approve": 4, "shut": 2, "open": 2},
}

// inFleet plays with many clusters that report, and with API servers that are far away.
var inFleet = &scene{
	clusters: members(40), objects: []model.Key{pages[0], deployment},
	annotations: map[string]choices{clustersKey: {none: 6, "m1*": 1}, selectorKey: {"tier": 6, "tier=edge": 1, "tier in (edge,core)": 3}},
	claims:      choices{none: 1},
	steps:       choices{"put": 12, "edit": 4, "delete": 1, "cluster": 16, "latency": 6, "reports": 4, "lag": 6, "restart": 1, "kill": 2},
	flags:       withoutSweeps,
}

func members(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("m%d", i+1))
	}
	return all
}

// The breaker of the scene withBreaker: more Works than this at once, and more than this share.
const (
	heldAboveWorks   = 4
	heldAbovePercent = 60
)

// withBreaker plays with many objects that choose clusters by labels, which administrators mistype.
var withBreaker = &scene{
	clusters: members(6), objects: sixPages(), breaker: fmt.Sprintf("deletion: {holdAbove: {works: %d, percent: %d}}\n", heldAboveWorks, heldAbovePercent),
	annotations: map[string]choices{clustersKey: {none: 9, "m2": 1}, selectorKey: {"tier": 6, "tier in (edge,core)": 3, "tier=edge": 1}},
	claims:      choices{none: 1},
	steps:       choices{"put": 40, "edit": 4, "delete": 2, "cluster": 8, "narrow": 2, "restart": 1, "shut": 2, "open": 2, "late": 1},
}

func sixPages() (all []model.Key) {
	for i := range 6 {
		all = append(all, model.Key{Kind: "ConfigMap", Name: fmt.Sprintf("page-%d", i)})
	}
	return all
}

// onLaggingServers plays on API servers that do not stream lists and lag each by itself, and with resources that leave the configuration.
var onLaggingServers = &scene{
	clusters: []string{"m1", "m2"}, objects: []model.Key{pages[0], deployment}, isOld: true, judgesAge: true,
	annotations: map[string]choices{clustersKey: {none: 1, "m1": 4, "m1,m2": 4}, deletionKey: {none: 1, "foreground": 1}},
	claims:      choices{none: 1},
	steps: choices{
		"put": 20, "edit": 20, "delete": 8, "recreate": 2, "lag": 8, "connect": 8, "resource goes": 3, "resource returns": 6, "expire": 4, "return on another server": 8,
		"foreground of a dying leader": 1, "change of a dying leader": 2, "restart": 1, "kill": 1,
	},
}

// withStatuses plays with Deployments that are recreated in place, and members that go away.
var withStatuses = &scene{
	clusters: []string{"m1", "m2"}, objects: []model.Key{deployment}, judgesCounts: true, options: []string{suspendKey},
	annotations: map[string]choices{clustersKey: {"m1": 2, "*": 4}, suspendKey: {none: 4, "true": 1, "m1": 1}},
	claims:      choices{none: 1},
	steps:       choices{"put": 6, "edit": 4, "recreate": 12, "toggle": 6, "away": 6, "ready": 4, "ail": 2, "fail": 2, "heal": 2, "clock": 2, "wait": 12, "all restart": 10, "kill": 1},
	flags:       withoutSweeps,
}

// together plays with all features at once, in waves: what two of them do to each other. What conflicts is overwritten, as
// in inMembers.
func together() *scene {
	s := *inWaves
	s.objects, s.extra = []model.Key{deployment, autoscaler, pages[0], widget}, []schema.GroupResource{widgets}
	s.annotations = map[string]choices{
		clustersKey: {none: 3, "*": 10, "m1,m2": 2, "*,!m3": 2}, wavesKey: {none: 4, "m1;*": 5, "m1;m2,m3(1);*": 4, "m?(1)": 1, "m4; m1(50%)": 1}, selectorKey: {none: 16, "tier=edge": 1},
		suspendKey: {none: 12, "true": 1, "m1": 1, "m2": 1}, preserveKey: {none: 8, "true": 1}, "karmada.target/conflict-resolution": {"overwrite": 1}, deletionKey: {none: 6, "foreground": 2},
		"karmada.target/replicas": {none: 8, "divide": 3, "m1=2,m*=1": 1, "retain": 1}, expandKey: {none: 6, "true": 3},
	}
	s.defaults = map[string]choices{
		clustersKey: {none: 8, "m1": 1, "m*": 2}, suspendKey: {none: 10, "m2": 1}, "karmada.target/replicas": {none: 8, "divide": 1}, expandKey: {none: 8, "true": 1}, deletionKey: {none: 8, "foreground": 1},
	}
	s.differing, s.options = s.annotations, []string{suspendKey, preserveKey}
	s.claims = choices{none: 20, "x": 1}
	s.alters = true
	s.steps = choices{
		"put": 24, "alter": 8, "put back": 6, "edit": 24, "delete": 4, "recreate": 6, "there and back": 6, "toggle": 6, "namespace": 6, "namespace back": 4, "namespace there and back": 3,
		"override": 8, "override goes": 3, "override and object": 4, "upgrade": 3, "configure": 2, "cluster": 6, "cluster leaves": 2, "ail": 6, "fail": 6, "halt": 4, "heal": 6, "away": 6, "ready": 8, "rejoin": 4,
		"Work deleted": 2, "Work edited": 2, "shut": 4, "open": 4, "expire": 1, "late": 3, "throttle": 2, "slow reads": 2, "kill": 2, "restart": 3, "autoscaler unreadable": 2, "default of a dying leader": 2, "wait": 2,
	}
	return &s
}

// moreDrawers draw the steps of these scenes.
var moreDrawers = map[string]func(*rapid.T, *scene) step{
	"toggle": func(t *rapid.T, s *scene) step { // an option that is no content
		key, option := s.drawObject(t), rapid.SampledFrom(s.options).Draw(t, "option")
		return step{fmt.Sprintf("%s of %v", option, key), func(m *machine) error { return m.toggle(key, option) }}
	},
	"alter": func(t *rapid.T, _ *scene) step {
		in := choices{"": 1, "m2": 1, "m2,m3": 2, "m2,m3,m4": 3, "m1,m2,m3,m4": 5}.draw(t, "clusters")
		return step{"Works of " + in, func(m *machine) error { m.alterWorks(in); return nil }}
	},
	"upgrade": func(t *rapid.T, _ *scene) step {
		isBack := rapid.Bool().Draw(t, "is back")
		return step{fmt.Sprintf("widgets, back %t", isBack), func(m *machine) error { return m.upgrade(isBack) }}
	},
	"definition": func(t *rapid.T, _ *scene) step {
		next := choices{"is served": 4, "is not served": 2, "is deleted": 2}.draw(t, "next")
		return step{next, func(m *machine) error { return m.redefine(next) }}
	},
	"gauges": func(t *rapid.T, _ *scene) step {
		served := rapid.Bool().Draw(t, "served")
		return step{fmt.Sprintf("served %t", served), func(m *machine) error { return m.servesGauges(served) }}
	},
	"narrow": func(t *rapid.T, _ *scene) step { // what is in the other namespace is for another daemon
		in := choices{"*": 2, "a": 3}.draw(t, "namespaces")
		return step{in, func(m *machine) error { return m.configure(in, none, true) }}
	},
	"approve": func(*rapid.T, *scene) step {
		return step{"what is held", func(m *machine) error {
			now := time.Now().UTC().Format(time.RFC3339Nano)
			text := fmt.Sprintf("%s=%s,%s=%s", widgets, now, gauges, now)
			return m.change(m.approves(&text), func(w *model.World) {
				maps.DeleteFunc(w.Objects, func(_ model.Key, o *model.Object) bool { return o.Orphaned })
			})
		}}
	},
	"latency": func(t *rapid.T, s *scene) step {
		d := rapid.SampledFrom([]time.Duration{0, 15 * time.Millisecond, 30 * time.Millisecond, 60 * time.Millisecond}).Draw(t, "latency")
		return step{d.String(), func(m *machine) error { return m.far(d)() }}
	},
	"reports": func(t *rapid.T, _ *scene) step {
		on := rapid.Bool().Draw(t, "on")
		return step{fmt.Sprintf("of all clusters %t", on), func(m *machine) error { m.reporting = on; return nil }}
	},
	"lag": func(t *rapid.T, s *scene) step {
		i, resource, d := drawServer(t), s.drawResource(t), drawLag(t)
		return step{fmt.Sprintf("of server %d, %s, %s", i, resource, d), func(m *machine) error { m.lag(i, resource, d); return nil }}
	},
	"connect": func(t *rapid.T, s *scene) step {
		i, to, cut := s.drawReplica(t), drawServer(t), rapid.Bool().Draw(t, "cuts watches")
		return step{fmt.Sprintf("%d to server %d, cuts watches %t", i, to, cut), func(m *machine) error { m.connect(m.replicas[i], to, cut); return nil }}
	},
	"resource goes": func(t *rapid.T, s *scene) step {
		key := s.drawObject(t)
		return step{key.Kind, func(m *machine) error { return m.withoutKind(key.Kind)() }}
	},
	"resource returns": func(*rapid.T, *scene) step {
		return step{"if one is gone", func(m *machine) error { return m.withoutKind("")() }}
	},
	"return on another server": func(t *rapid.T, s *scene) step { // that is behind
		key, value, goes, to, d, between := s.drawObject(t), rapid.IntRange(0, 3).Draw(t, "value"), rapid.Bool().Draw(t, "goes"), drawServer(t), drawLag(t), drawBetween(t)
		return step{fmt.Sprintf("%v %d, goes %t, on server %d, which lags by %s, after %s", key, value, goes, to, d, between), func(m *machine) error {
			change := func() error { return m.edit(key, value) }
			if goes {
				change = func() error { return m.delete(key) }
			}
			behind := func() error { m.lag(to, resources[key.Kind], d); return nil }
			return m.tell(pause(d), behind, change, pause(1500*time.Millisecond), m.withoutKind(key.Kind), pause(between), m.moved(to), m.withoutKind(""))
		}}
	},
	"foreground of a dying leader": func(t *rapid.T, s *scene) step { // which the standby has not seen when the resource leaves
		key, late := s.drawObject(t), rapid.SampledFrom([]time.Duration{0, 3 * time.Second, 20 * time.Second}).Draw(t, "late")
		return step{fmt.Sprintf("%v, leaves the configuration %s later", key, late), func(m *machine) error {
			foreground := map[string]string{clustersKey: "m1", deletionKey: "foreground"}
			return m.tell(m.puts(key, to("m1")), pause(time.Second), m.standbyMisses(resources[key.Kind].Resource), m.puts(key, foreground), pause(time.Second),
				m.leaderDies, pause(late), m.withoutKind(key.Kind))
		}}
	},
	"change of a dying leader": func(t *rapid.T, s *scene) step { // which the standby has not seen
		key, goes := s.drawObject(t), rapid.Bool().Draw(t, "goes")
		return step{fmt.Sprintf("%v, goes %t", key, goes), func(m *machine) error {
			change := func() error { return m.edit(key, 3) }
			if goes {
				change = func() error { return m.delete(key) }
			}
			return m.tell(m.puts(key, to("m1")), pause(time.Second), m.standbyMisses(resources[key.Kind].Resource), change, pause(4*time.Second), m.leaderDies, pause(5*time.Second))
		}}
	},
	"all restart": func(*rapid.T, *scene) step {
		return step{"and look at everything", func(m *machine) error { return m.tell(m.restarted, pause(20*time.Second)) }}
	},
	"wait": func(*rapid.T, *scene) step {
		return step{"for six minutes", func(*machine) error { time.Sleep(6 * time.Minute); return nil }}
	},
}

func drawServer(t *rapid.T) int { return rapid.IntRange(0, 2).Draw(t, "server") }

func drawLag(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second, 30 * time.Second}).Draw(t, "lag")
}

func (s *scene) drawResource(t *rapid.T) schema.GroupResource {
	return rapid.SampledFrom([]schema.GroupResource{configMaps, deployments, works, clusters}).Draw(t, "resource")
}

// toggle gives an object an annotation, or takes it away.
func (m *machine) toggle(k model.Key, option string) error {
	now := m.history.now().Objects[k]
	if now == nil {
		return nil
	}
	annotations := map[string]string{}
	maps.Copy(annotations, now.Annotations)
	if annotations[option] == "" {
		annotations[option] = "true"
	} else {
		delete(annotations, option)
	}
	return m.put(k, m.values[now], annotations, now.Labels)
}

// alterWorks has the webhook alter the Works of some clusters.
func (m *machine) alterWorks(clusters string) {
	in := map[string]bool{}
	for name := range strings.SplitSeq(clusters, ",") {
		in["karmada-es-"+name] = true
	}
	m.altering.Store(in)
}

// alter is a webhook that labels the manifests of Works of some clusters.
func (m *machine) alter(op string, gr schema.GroupResource, subresource string, new, _ apiserver.Object) (apiserver.Object, error) {
	in, _ := m.altering.Load().(map[string]bool)
	work := &unstructured.Unstructured{Object: new}
	if gr != works || subresource != "" || op == "DELETE" || !in[work.GetNamespace()] {
		return new, nil
	}
	if manifest, err := model.ManifestOf(work); err == nil {
		labels := manifest.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[model.AlteredLabel] = "true"
		manifest.SetLabels(labels)
	}
	return new, nil
}

// upgrade serves a newer version of widgets too, or no longer, once there are Works of widgets.
func (m *machine) upgrade(isBack bool) error {
	if !slices.ContainsFunc(slices.Collect(maps.Values(m.works())), func(work *unstructured.Unstructured) bool {
		manifest, err := model.ManifestOf(work)
		return err == nil && manifest.GetKind() == widget.Kind
	}) {
		return nil
	}
	if isBack {
		return m.servesWidgets("v1")()
	}
	return m.servesWidgets("v1", "v2")()
}

// servesWidgets serves widgets in these versions, and prefers the last.
func (m *machine) servesWidgets(versions ...string) act {
	return m.modified(apiserver.Ref{Resource: definitions, Name: widgets.String()}, func(u *unstructured.Unstructured) {
		u.Object["spec"] = runtime.DeepCopyJSON(widgetDefinition(versions...))["spec"]
	})
}

// inVersion checks the version in which each Work carries a widget.
func (m *machine) inVersion(want string) act {
	return func() error {
		for key, work := range m.works() {
			if manifest, err := model.ManifestOf(work); err == nil && manifest.GetKind() == widget.Kind && manifest.GroupVersionKind().Version != want {
				return fmt.Errorf("the Work %s carries %s", key, manifest.GetAPIVersion())
			}
		}
		return nil
	}
}

// redefine serves the widgets or not, or deletes their definition, and all of them with it. While they are
// not served, nothing is known of them, as of what is not in the configuration.
func (m *machine) redefine(next string) error {
	ref := apiserver.Ref{Resource: definitions, Name: widgets.String()}
	isThere := m.store.Get(ref) != nil
	if !isThere && next != "is served" {
		return nil
	}
	return m.change(func() (err error) {
		switch {
		case !isThere:
			_, err = m.store.Create(definitions, widgetDefinition("v1"))
			return err
		case next == "is deleted":
			m.undefines = true
			return m.undefine(ref)
		}
		return m.serves(ref, next == "is served")
	}, func(w *model.World) {
		without(w, widget.Kind, next == "is not served")
		for k, o := range w.Objects {
			if next == "is deleted" && k.Kind == widget.Kind {
				orphan := *o
				orphan.Orphaned = true
				w.Objects[k] = &orphan
			}
		}
	})
}

// servesGauges serves the gauges or not, like what is not served in redefine.
func (m *machine) servesGauges(served bool) error {
	r := gaugeResource
	if !served {
		r.Versions = nil
	}
	return m.change(func() error { m.store.Serve(r); return nil }, func(w *model.World) { without(w, gauge.Kind, !served) })
}

// without has a world know nothing of a kind, or know it again.
func without(w *model.World, kind string, isUnknown bool) {
	c := *w.Configuration
	c.Without = slices.DeleteFunc(slices.Clone(c.Without), func(k string) bool { return k == kind })
	if isUnknown {
		c.Without = append(c.Without, kind)
	}
	w.Configuration = &c
}

// report has some Clusters report what they have allocated.
func (m *machine) report() {
	for i := 0; m.reporting && i <= len(m.clusters)*int(lookPeriod)/int(reportPeriod); i++ {
		m.reported++
		ref := apiserver.Ref{Resource: clusters, Name: m.clusters[m.reported%len(m.clusters)]}
		_, err := m.store.Modify(ref, "status", func(o apiserver.Object) {
			_ = unstructured.SetNestedField(o, fmt.Sprint(m.reported), "status", "resourceSummary", "allocated", "cpu") // there is room for it
		})
		if !apierrors.IsNotFound(err) && err != nil {
			panic(err)
		}
	}
}

// reportPeriod is Karmada's --cluster-status-update-frequency.
const reportPeriod = 10 * time.Second

// lag sets how far a server's watch cache of a resource is behind.
func (m *machine) lag(server int, resource schema.GroupResource, d time.Duration) {
	m.blinded = true
	m.servers[server].SetLag(resource, d)
}

// connect leads a replica's requests to another server from now on, and its watches too if they are cut.
func (m *machine) connect(r *replica, server int, cut bool) {
	m.blinded = true
	r.server = m.door(server)
	r.layer.Connect(r.server)
	if cut {
		r.layer.End(fault.Match{Verb: "watch"})
	}
}

// withoutKind configures that a kind is no longer mirrored, or that all are.
func (m *machine) withoutKind(kind string) act {
	return func() error {
		next := m.settings
		next.without = kind
		return m.reconfigure(next)
	}
}
