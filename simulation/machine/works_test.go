package machine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// ownership are stories of Works that others write, and of other owners' Works.
var ownership = map[string]func(*machine) error{
	"ChangedWhileDown": func(m *machine) error {
		return m.tell(m.crowd(4, 0, to("m1,m2")), m.quiet, m.stopped, m.deleted(pageOf(0)), m.puts(pageOf(1), to("")), m.defaults("m3"), m.changed(pageOf(2), 2), m.puts(pageOf(3), to("m3")), pause(time.Hour), m.started, m.quiet)
	},
	"RecreatedWhileDown": func(m *machine) error {
		return m.tell(m.page(to("m1,m2")), m.quiet, m.stopped, m.gone, m.page(to("m2,m3")), pause(time.Minute), m.started, m.quiet)
	},
	"WorksAreEditedByHand": func(m *machine) error {
		others := map[string]func(*unstructured.Unstructured){"without Karmada's finalizer": setField(nil, "metadata", "finalizers")}
		for name, edit := range edits {
			others[name] = edit
		}
		for name, edit := range others {
			var uid types.UID
			err := m.tell(m.page(to("m1")), m.quiet, func() (err error) { uid, err = m.uidOf(thePage, "m1"); return err }, func() error { return m.editWork(target{thePage, "m1"}, edit) }, m.quiet, func() error {
				return await("all to be as it was", func() error {
					now, err := m.uidOf(thePage, "m1")
					if err == nil && (now != uid || len((&unstructured.Unstructured{Object: m.store.Get(workRef(model.WorkKey("m1", thePage)))}).GetFinalizers()) == 0) {
						err = fmt.Errorf("it is another Work, or has no finalizer")
					}
					return err
				})
			}, m.edited(2), m.quiet)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	},
	"WorksAreDeletedByHand": func(m *machine) error {
		return m.tell(m.crowd(5, 0, foreground), m.quiet, func() error { return m.deleteWork(target{thePage, "m1"}) }, func() error { return m.deleteWork(target{pageOf(1), "m2"}) }, m.leaderDies, m.quiet)
	},
	"Contested": func(m *machine) error { // ten at once, and then after 1, 2, 4 and 8 s
		const contested = `karmada_mirror_contested_sources{reason="WorkContested"}`
		var from, slow time.Time
		page := func(verbs ...string) func(call) bool {
			return func(c call) bool { return done(works, verbs...)(c) && strings.HasPrefix(c.Name, thePage.Name+"-") }
		}
		stop := func() {}
		return m.tell(m.crowd(5, 0, to("m1")), m.quiet, now(&from), func() error { stop = m.undoes(workRef(model.WorkKey("m1", thePage))); return nil }, m.edited(2), pause(3*time.Second), m.requests(&from, 10, 14, page("patch")),
			now(&slow), m.changed(pageOf(1), 3), m.changed(pageOf(2), 3), pause(10*time.Second), m.requests(&slow, 1, 4, page("patch")), func() error { return m.hasContent(pageOf(2), "3") },
			m.logged("another writer keeps undoing writes to the Work: writing it less often", 1, 5), m.told("WorkContested", 1, 1), m.counted(contested, 1), func() error { stop(); return nil }, m.quiet, pause(time.Hour), m.counted(contested, 0))
	},
	"AsksAgainAndAgain": func(m *machine) error { // an operator removes the annotation that a GitOps tool sets
		var from time.Time
		var acts []act
		for range 30 {
			acts = append(acts, m.page(to("m1")), pause(5*time.Second), m.page(nil), pause(25*time.Second))
		}
		creates := func(c call) bool { return done(works, "create")(c) && c.Code < 300 }
		return m.tell(now(&from), m.tellAll(acts...), m.requests(&from, 10, 20, creates), m.told("WorkContested", 1, 1), m.page(to("m1")), m.quiet, m.countOf(1))
	},
	"MassRecreation": func(m *machine) error {
		var from time.Time
		again := m.tellAll(m.crowdGoes(500), m.crowd(500, 1, to("m1")))
		once := func() error {
			deleted := map[string]int{}
			for _, c := range m.audit.those(from, done(works, "delete")) {
				if deleted[c.Namespace+"/"+c.Name]++; deleted[c.Namespace+"/"+c.Name] > 1 {
					return fmt.Errorf("%s was deleted twice", c.Name)
				}
			}
			return nil
		}
		return m.tell(m.crowd(500, 0, to("m1")), m.quiet, now(&from), again, m.quiet, once)
	},
	"Tenant": func(m *machine) error { // the authorization in the configuration
		var from time.Time
		return m.tell(m.puts(pageOf(1), to("m1,m2")), m.puts(pageOf(2), to("m2")), m.quiet, m.configured("*", "m1"), m.quiet, now(&from), m.page(to("m1,m2")), m.changed(pageOf(1), 2), m.puts(inB(pages[0]), map[string]string{selectorKey: "tier"}),
			m.changed(pageOf(2), 3), m.quiet, m.told("NotAuthorized", 4, 8), m.deletes(&from, 0, 0), m.requests(&from, 0, 0, func(c call) bool { return of(works)(c) && c.Namespace != "karmada-es-m1" }),
			m.counted(`karmada_mirror_refused_sources{reason="NotAuthorized"}`, 4), m.configured("*", none), m.quiet)
	},
	"ConflictsAreNoRefusals": func(m *machine) error {
		return m.tell(m.page(to("m1")), m.quiet, m.slowly("patch", "works", conflicting), m.edited(2), pause(time.Minute), m.counted(`karmada_mirror_refused_sources{reason="NotAuthorized"}`, 0), m.told("", 0, 0), m.quiet)
	},
	"KeptThenMoved": func(m *machine) error {
		for _, preserve := range []string{"true", "false"} {
			moves := func(clusters string) act {
				return m.page(map[string]string{clustersKey: clusters, "karmada.target/preserve-on-deletion": preserve, "karmada.target/conflict-resolution": "overwrite"})
			}
			claimed := func() error { return m.put(thePage, 2, nil, map[string]string{policyLabel: "x"}) }
			for _, keeps := range []act{moves(""), claimed} {
				if err := m.tell(moves("m1"), m.quiet, keeps, m.quiet, moves("m2"), m.quiet, m.gone, m.quiet); err != nil {
					return fmt.Errorf("preserve %s: %w", preserve, err)
				}
			}
		}
		return nil
	},
	"FalseClaim": func(m *machine) error { // it is still ours, and is deleted with it
		return m.tell(m.page(to("m1")), m.quiet, func() error { return m.put(thePage, 0, nil, map[string]string{policyLabel: "x"}) }, pause(10*time.Second), m.told("ClaimedByPolicy", 1, 1), m.countOf(1), m.gone, m.quiet, m.countOf(0))
	},
	"ForgedWorks": func(m *machine) error {
		source := map[string]string{"karmada.target/source": "ConfigMap/a/page-0", "karmada.target/source-uid": "x"}
		binding, quota := map[string]string{"resourcebinding.karmada.io/permanent-id": "x"}, map[string]string{"federatedresourcequota.karmada.io/name": "x", "federatedresourcequota.karmada.io/namespace": "a"}
		short := workRef(model.WorkKey("m1", thePage)).Name
		forged := []forgery{
			{"forged", true, nil, nil}, {"forged", true, source, nil}, {short, true, source, binding}, {short, true, source, quota}, {short, false, nil, nil},
		}
		for i, f := range forged {
			var from time.Time
			var ours act = m.isThere(thePage, short)
			if f.name == short {
				ours = m.isThere(thePage, short+"-*")
			}
			if f.carriesThePage() {
				ours = m.told("WorkConflict", 1, 2)
			}
			untouched := func() error { return f.isUntouched(m) }
			err := m.tell(f.make(m), m.page(to("m1")), pause(10*time.Second), ours, untouched, now(&from), m.gone, pause(time.Minute), untouched, m.page(to("m1")), pause(10*time.Second), ours, untouched,
				func() error { return m.store.Delete(f.ref(), metav1.DeleteOptions{}) }, m.gone, m.quiet)
			if err != nil {
				return fmt.Errorf("forgery %d: %w", i, err)
			}
		}
		return nil
	},
	"ConflictsAreToldOnce": func(m *machine) error { // although they are read again, each at its time, and not while another write fails
		var from time.Time
		acts, asked := []act{m.fails(fault.Match{Verb: "create", Resource: "works", Namespace: "karmada-es-m1"}, away), m.page(to("m1")), pause(5 * time.Minute)}, "m1"
		for i := range 5 {
			cluster := fmt.Sprint("m", i+2)
			asked += "," + cluster
			acts = append(acts, m.foreignOn(cluster), m.page(to(asked)), pause(time.Minute+3*time.Second), m.told("WorkConflict", i+1, i+1))
		}
		return m.tell(append(acts, now(&from), pause(20*time.Minute), m.requests(&from, 0, 0, of(schema.GroupResource{Resource: "events"})), m.calm, pause(20*time.Minute), m.requests(&from, 0, 0, of(schema.GroupResource{Resource: "events"})),
			m.requests(&from, 100, 420, of(works, "get")), func() error { return m.deleteWork(target{thePage, "m2"}) }, pause(time.Minute), m.told("WorkConflict", 6, 6), m.isThere(thePage, "*", "*"))...)
	},
	"ConflictInALaterWave": func(m *machine) error {
		return m.tell(m.foreignOn("m2"), m.ails("m1"), m.page(inTwoWaves), pause(20*time.Minute), m.told("WorkConflict", 1, 1), m.logged("WorkConflict", 1, 1))
	},
	"RefusedSources": func(m *machine) error {
		reserved := model.Key{Kind: "ConfigMap", Namespace: "karmada-system", Name: "page-0"}
		return m.tell(m.stranger(reserved, to("m1")), func() error { return m.put(thePage, 1, to("m1"), map[string]string{policyLabel: "x"}) }, pause(time.Minute), m.nothingIsThere, m.told("ReservedNamespace", 1, 1), m.told("ClaimedByPolicy", 1, 1), m.quiet)
	},
	"SystemNamespaces": func(m *machine) error { // a configuration says which; what was mirrored stays, and nothing is written there
		var from time.Time
		b := model.Key{Kind: "ConfigMap", Namespace: "b", Name: "page-0"}
		return m.tell(m.page(to("m1")), m.puts(b, to("m1")), m.quiet, m.set(breakerOff+"systemNamespaces: [\"b*\"]\n"), pause(time.Minute), m.told("ReservedNamespace", 1, 1), now(&from), m.edited(2), m.puts(b, to("m2")), pause(time.Minute), m.requests(&from, 1, 1, of(works)), m.isThere(b, "*"),
			m.set(breakerOff+"systemNamespaces: [\"b*\"]\nallowNamespaces: [b]\n"), m.quiet, m.set(breakerOff+"systemNamespaces: [\"*\"]\n"), pause(time.Minute), m.deleted(b), m.set(breakerOff), m.quiet)
	},
	"ReservedThenClaimed": func(m *machine) error { // by a policy, which gets the Work
		return m.tell(m.page(to("m1")), m.quiet, m.set(breakerOff+"systemNamespaces: [a]\n"), pause(10*time.Second), func() error { return m.karmada.Claim(refOf(thePage), "m1") }, pause(20*time.Minute), m.told("ClaimedByPolicy", 1, 1), m.isThere(thePage))
	},
	"ReservedDuringSlowReads": func(m *machine) error {
		return m.slowReads(m.set(breakerOff+"systemNamespaces: [a]\n"), m.keeps("m2", "1"))
	},
	"ExpandShowsLess": func(m *machine) error { // than the Cluster says, if the configuration does not name it
		noted := setField("x", "metadata", "annotations", "example.com/note")
		page := object("v1", "ConfigMap", "a", "note", map[string]any{"data": map[string]any{"note": "$(cluster.annotation:example.com/note:-none)"}})
		note := model.Key{Kind: "ConfigMap", Namespace: "a", Name: "note"}
		shows := func(want string) act {
			return func() error {
				return await("the variable to be "+want, func() error {
					carried, err := m.carried(note)
					if err == nil && carried.Object["data"].(map[string]any)["note"] != want {
						err = fmt.Errorf("it is %v", carried.Object["data"])
					}
					return err
				})
			}
		}
		return m.tell(m.modified(apiserver.Ref{Resource: clusters, Name: "m1"}, noted), func() error { return m.adds(configMaps, page, map[string]string{clustersKey: "m1", expandKey: "true"}) }, shows("x"),
			m.set(breakerOff+"expand: {annotations: [\"other/*\"]}\n"), shows("none"), m.set(breakerOff+"expand: {annotations: [example.com/*]}\n"), shows("x"))
	},
	"NullsAreContent": func(m *machine) error { // in a custom resource: when it is created, edited, restored, and given back what it had
		wheel := refOf(inA(widget))
		values := func(size string) map[string]any {
			return map[string]any{"probe": nil, "size": size, "list": []any{nil, map[string]any{"a": nil}}, "limits": map[string]any{"cpu": nil}}
		}
		sets := func(size string) act { return m.modified(wheel, setField(values(size), "spec", "values")) }
		carries := func(size string) act {
			return func() error {
				return await("the Works to carry the nulls", func() error {
					for _, cluster := range []string{"m1", "m2"} {
						work := m.works()[model.WorkKey(cluster, inA(widget))]
						if work == nil {
							return fmt.Errorf("there is no Work on %s", cluster)
						}
						manifest, err := model.ManifestOf(work)
						if err != nil {
							return err
						}
						if got, _, _ := unstructured.NestedMap(manifest.Object, "spec", "values"); !reflect.DeepEqual(got, values(size)) {
							return fmt.Errorf("on %s, they are %v", cluster, got)
						}
					}
					return nil
				})
			}
		}
		loses := func(work *unstructured.Unstructured) {
			if manifest, err := model.ManifestOf(work); err == nil {
				setField(nil, "spec", "values", "limits")(manifest)
			}
		}
		var from time.Time
		return m.tell(m.puts(inA(widget), to("m1,m2")), m.quiet, sets("small"), carries("small"), sets("large"), carries("large"),
			func() error { return m.editWork(target{inA(widget), "m2"}, loses) }, carries("large"), func() error { return m.deleteWork(target{inA(widget), "m1"}) }, carries("large"),
			pause(time.Minute), now(&from), pause(time.Hour), m.restarted, pause(time.Minute), m.requests(&from, 0, 0, of(works)), carries("large"))
	},
	"BadAnnotations": func(m *machine) error { // nothing is written, and each is reported once
		var from time.Time
		mistakes := []map[string]string{to("!m1"), to("m1,,m2"), {clustersKey: "m1", "karmada.target/suspend": "yes"}, {clustersKey: "m1", "karmada.target/preserve-on-deletion": "True"}, {selectorKey: "tier in"}, {selectorKey: ""}, to(""),
			{clustersKey: "m1", "karmada.target/replicas": "m1=1,m1=2"}, {clustersKey: "m1", deletionKey: "orphan"}, {clustersKey: "m1", "karmada.target/conflict-resolution": "force"}}
		acts := []act{m.flags("--resync-period=10m"), m.crowd(len(mistakes), 0, to("m1")), m.quiet, now(&from)}
		for i, mistake := range mistakes {
			acts = append(acts, m.puts(pageOf(i), mistake))
		}
		return m.tell(append(acts, pause(20*time.Minute), m.leaderDies, pause(20*time.Minute), m.restarted, pause(time.Minute), m.told("InvalidAnnotation", len(mistakes), len(mistakes)),
			m.counted(`karmada_mirror_refused_sources{reason="InvalidAnnotation"}`, float64(len(mistakes))), m.requests(&from, 0, 0, of(works)), m.quiet, m.crowd(len(mistakes), 2, to("m2")), m.quiet)...)
	},
	"LeftoverBinding": func(m *machine) error { // takes the Work again and again
		return m.tell(m.page(to("m1")), m.quiet, func() error { return m.karmada.Claim(refOf(thePage), "m1") }, pause(time.Minute), m.isThere(thePage), m.stripped(thePage, "labels"), pause(time.Minute), m.karmadaRestarts, pause(time.Minute), func() error { return m.karmada.Release(refOf(thePage)) }, pause(time.Minute), m.touches(thePage), m.quiet)
	},
	"LeftoverBindingInWaves": func(m *machine) error { // the Work of the later wave is not the binding's any more before the binding goes
		return m.takenBack(1, map[string]string{preserveKey: "true"}, "preserveResourcesOnDeletion", m.ails("m1"), m.leaderDies, pause(time.Minute))
	},
	"LeftoverBindingOfASuspended": func(m *machine) error { // it is passed over
		return m.takenBack(1, map[string]string{suspendKey: "m2"}, "suspendDispatching", m.leaderDies)
	},
	"LeftoverBindingOfAFailing": func(m *machine) error { // what m2 is to get cannot be rendered
		return m.takenBack(2, map[string]string{wavesKey: "*", preserveKey: "true", expandKey: "true"}, "preserveResourcesOnDeletion", m.cluster("m2", nil), m.leaderDies)
	},
	"LeftoverBindingInAnotherVersion": func(m *machine) error { // what it wrote says nothing about the version, also where it is taken back before its turn
		inV2 := func(_ string, gr schema.GroupResource, sub string, o, _ apiserver.Object) (apiserver.Object, error) { // which Karmada reads, since it is preferred
			u := &unstructured.Unstructured{Object: o}
			if gr == works && sub == "" && o != nil && u.GetLabels()["resourcebinding.karmada.io/permanent-id"] != "" {
				if manifest, err := model.ManifestOf(u); err == nil {
					manifest.SetAPIVersion(widgets.Group + "/v2")
				}
			}
			return o, nil
		}
		var asks, claims, leaves []act
		for _, k := range []model.Key{inA(widget), inA(anchor)} {
			asks = append(asks, m.puts(k, map[string]string{clustersKey: "*", wavesKey: "m1;*"}))
			claims = append(claims, func() error { return m.karmada.Claim(refOf(k)) })
			leaves = append(leaves, m.stripped(k, "labels"))
		}
		return m.tell(m.tellAll(asks...), m.puts(inB(widget), to("*")), m.quiet, m.servesWidgets("v1", "v2"), pause(time.Minute), m.inVersion("v1"), m.admits(inV2, m.tellAll(claims...), pause(time.Minute), m.tellAll(leaves...), pause(20*time.Minute)), m.inVersion("v1"))
	},
	"MovedFromAPolicy": func(m *machine) error { // while Karmada cannot complete the deletion of its Work
		finalizerStays := func(_ string, gr schema.GroupResource, _ string, o, old apiserver.Object) (apiserver.Object, error) {
			if gr == works && old != nil && (&unstructured.Unstructured{Object: old}).GetDeletionTimestamp() != nil && o != nil {
				return nil, fmt.Errorf("not now")
			}
			return o, nil
		}
		overwrites := map[string]string{clustersKey: "m1", "karmada.target/conflict-resolution": "overwrite"}
		return m.tell(m.page(nil), m.quiet, func() error { return m.karmada.Claim(refOf(thePage), "m1") }, pause(10*time.Second), m.admits(finalizerStays, func() error { return m.karmada.Release(refOf(thePage)) }, m.page(overwrites), pause(time.Minute)),
			m.touches(thePage), m.quiet)
	},
	"TwoSourcesOneName": func(m *machine) error {
		other := collide("ConfigMap", thePage, "x")
		for _, first := range []model.Key{thePage, other} {
			second := map[bool]model.Key{true: other, false: thePage}[first == thePage]
			if err := m.tell(m.space(other.Namespace, nil, nil), m.stranger(first, to("m1")), pause(5*time.Second), m.stranger(second, to("m1")), pause(10*time.Second), m.isThere(thePage, "*"), m.isThere(other, "*"),
				m.strangerGoes(first), pause(10*time.Second), m.isThere(first), m.isThere(second, "*"), m.strangerGoes(second), pause(10*time.Second), m.quiet); err != nil {
				return err
			}
		}
		return nil
	},
	"SquattedBeforeItJoins": func(m *machine) error { // the Namespaces' Works of a new cluster keep their names
		squatter := collide("ConfigMap", model.Key{Kind: "Namespace", Name: "a"}, "x")
		work := workRef(model.WorkKey("m9", squatter))
		return m.tell(m.space(squatter.Namespace, nil, nil), m.stranger(squatter, to("m9")), pause(time.Minute), func() error { return m.joinReady("m9") }, pause(time.Minute), m.isThere(squatter, work.Name+"-*"),
			func() error { return m.carriesNamespace(work) }, m.strangerGoes(squatter), pause(time.Minute), func() error { return m.carriesNamespace(work) }, func() error { return m.removeCluster("m9") }, m.quiet)
	},
	"SquattedNamespace": func(m *machine) error { // created later, it takes the Work
		squatter := collide("ConfigMap", model.Key{Kind: "Namespace", Name: "late"}, "x")
		work := workRef(model.WorkKey("m1", squatter))
		return m.tell(m.space(squatter.Namespace, nil, nil), m.stranger(squatter, to("m1")), pause(time.Minute), m.isThere(squatter, work.Name), m.space("late", nil, nil), pause(time.Minute), func() error { return m.carriesNamespace(work) },
			m.isThere(squatter, work.Name+"-*"), m.strangerGoes(squatter), pause(time.Minute), func() error { return m.carriesNamespace(work) }, m.spaceGoes("late"), m.spaceIsGone("late"), pause(time.Minute), func() error {
				if m.store.Get(work) != nil {
					return fmt.Errorf("the Work of the Namespace is left")
				}
				return nil
			}, m.quiet)
	},
	"SquattedMove": func(m *machine) error { // a policy claims an object with a longer name: that Work goes, the object stays in the member
		return m.staysBesideABinding(pause(2 * time.Minute))
	},
	"SquattedLeftover": func(m *machine) error { // the claim is gone before any replica sees it; then the object asks for no cluster
		return m.staysBesideABinding(m.stripped(thePage, "labels"), pause(time.Second), m.stripped(thePage, "annotations"), pause(2*time.Minute))
	},
	"SuspendedIsLeftAsItIs": func(m *machine) error { // Karmada would apply the Work, to leave its object
		return m.tell(m.page(to("m1,m2")), m.quiet, m.page(map[string]string{clustersKey: "m1,m2", suspendKey: "m1"}), pause(10*time.Second), m.edited(2), pause(time.Minute), m.hasInMember("m1", "1"),
			m.page(map[string]string{clustersKey: "m2", preserveKey: "true"}), pause(time.Minute), m.countOf(1), m.hasInMember("m1", "1"))
	},
	"CalledOffWhileAway": func(m *machine) error { // nor is the member's own object overwritten for that
		own := object("v1", "ConfigMap", thePage.Namespace, thePage.Name, map[string]any{"data": map[string]any{"key": "own"}})
		return m.tell(pause(10*time.Second), func() error { _, err := m.karmada.Member("m1").Store.Create(configMaps, own); return err }, m.goes("m1"), pause(time.Minute), m.page(map[string]string{clustersKey: "m1", preserveKey: "true", "karmada.target/conflict-resolution": "overwrite"}),
			pause(time.Minute), m.countOf(1), m.page(nil), pause(time.Minute), m.comes("m1"), pause(10*time.Minute), m.countOf(0), m.hasInMember("m1", "own"))
	},
	"SquattedForNothing": func(m *machine) error { // a name is given up after a minute
		other := collide("ConfigMap", thePage, "x")
		suspended := map[string]string{clustersKey: "m1", "karmada.target/suspend": "true", "karmada.target/preserve-on-deletion": "true"}
		return m.tell(m.space(other.Namespace, nil, nil), m.stranger(other, suspended), pause(time.Minute), m.isThere(other, "*"), m.strangerGoes(other), pause(3*time.Second), m.page(nil), func() error { return m.karmada.Claim(refOf(thePage), "m1") },
			pause(3*time.Minute), func() error {
				if o := m.store.Get(workRef(model.WorkKey("m1", thePage))); o == nil || (&unstructured.Unstructured{Object: o}).GetDeletionTimestamp() != nil {
					return fmt.Errorf("the binding has not got its Work")
				}
				return nil
			}, func() error { return m.karmada.Release(refOf(thePage)) }, m.gone, m.quiet)
	},
}

// takenBack has a policy claim a page in waves and go, but for its binding, while the page gets annotations, and the binding go
// later. By then, the Work on m2 has an option.
func (m *machine) takenBack(value int, annotations map[string]string, option string, before ...act) error {
	all := map[string]string{clustersKey: "m1,m2", wavesKey: "m1;*", "karmada.target/conflict-resolution": "overwrite"}
	first := maps.Clone(all)
	maps.Copy(all, annotations)
	has := func() error {
		if on, _, _ := unstructured.NestedBool(m.store.Get(workRef(model.WorkKey("m2", thePage))), "spec", option); !on {
			return fmt.Errorf("the Work on m2 has not got %s", option)
		}
		return nil
	}
	return m.tell(m.page(first), m.quiet, func() error { return m.karmada.Claim(refOf(thePage), "m1", "m2") }, pause(time.Minute), m.tellAll(before...),
		func() error { return m.put(thePage, value, all, nil) }, pause(3*time.Minute), has, func() error { return m.karmada.Release(refOf(thePage)) }, pause(2*time.Minute), m.hasInMember("m2", strconv.Itoa(value)))
}

// unclaimed takes a policy's label off an object; its binding stays.
// staysBesideABinding claims the page, whose Work has the longer name. After the acts, that Work is gone, and the object has stayed.
func (m *machine) staysBesideABinding(acts ...act) error {
	var uids []types.UID
	inMember := func() error {
		uids = append(uids, (&unstructured.Unstructured{Object: m.karmada.Member("m1").Store.Get(refOf(thePage))}).GetUID())
		return nil
	}
	other, short := collide("ConfigMap", thePage, "x"), workRef(model.WorkKey("m1", thePage))
	return m.tell(m.space(other.Namespace, nil, nil), m.stranger(other, to("m1")), pause(10*time.Second), m.stranger(thePage, to("m1")), pause(10*time.Second), m.isThere(thePage, short.Name+"-*"), inMember, m.strangerGoes(other), pause(10*time.Second),
		func() error { return m.karmada.Claim(refOf(thePage), "m1") }, func() error { return m.tell(acts...) }, m.isThere(thePage), inMember, func() error {
			if uids[0] == "" || uids[0] != uids[1] || m.store.Get(short) == nil {
				return fmt.Errorf("it is %q in the member, or the binding has no Work", uids)
			}
			return nil
		}, func() error { return m.karmada.Release(refOf(thePage)) }, m.strangerGoes(thePage), m.touches(thePage), pause(time.Minute), m.quiet)
}

// stripped takes a field of its metadata from an object.
func (m *machine) stripped(k model.Key, field string) act {
	return m.modified(refOf(k), func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "metadata", field) })
}

func (m *machine) modified(ref apiserver.Ref, change func(*unstructured.Unstructured)) act {
	return func() error {
		_, err := m.store.Modify(ref, "", func(o apiserver.Object) { change(&unstructured.Unstructured{Object: o}) })
		return err
	}
}

// policyLabel is how a policy marks an object.
const policyLabel = "propagationpolicy.karmada.io/permanent-id"

// uidOf is the UID of an object's Work.
func (m *machine) uidOf(k model.Key, cluster string) (types.UID, error) {
	if work := m.works()[model.WorkKey(cluster, k)]; work != nil {
		return work.GetUID(), nil
	}
	return "", fmt.Errorf("%v has no Work on %s", k, cluster)
}

// undoes writes something of its own into a Work shortly after every other write, until stop is called.
func (m *machine) undoes(ref apiserver.Ref) (stop func()) {
	const mine = "mine"
	return m.store.Subscribe(func(e apiserver.Event) {
		if e.Ref() != ref {
			return
		}
		if manifest, err := model.ManifestOf(&unstructured.Unstructured{Object: e.Object}); err == nil {
			if got, _, _ := unstructured.NestedString(manifest.Object, "data", "key"); got == mine {
				return
			}
		}
		time.AfterFunc(50*time.Millisecond, func() {
			_, _ = m.store.Modify(ref, "", func(o apiserver.Object) { // or it is gone
				if manifest, err := model.ManifestOf(&unstructured.Unstructured{Object: o}); err == nil {
					setField(mine, "data", "key")(manifest)
				}
			})
		})
	})
}

// touches says that hands other than the daemon's have been on the Works of an object.
func (m *machine) touches(k model.Key) act {
	return func() error {
		for _, cluster := range m.clusters {
			m.touch(target{k, cluster})
		}
		return nil
	}
}

func (m *machine) karmadaRestarts() error { m.karmada.Restart(); return nil }

// isThere checks the names of the Works of a source; a name may be a glob.
func (m *machine) isThere(k model.Key, want ...string) act {
	return func() error {
		var got []string
		for _, work := range m.works() {
			if work.GetAnnotations()["karmada.target/source"] == k.Kind+"/"+k.Namespace+"/"+k.Name && work.GetDeletionTimestamp() == nil && work.GetName() != "forged" {
				got = append(got, work.GetName())
			}
		}
		fits := func(glob, name string) bool {
			head, isGlob := strings.CutSuffix(glob, "*")
			return name == glob || isGlob && strings.HasPrefix(name, head)
		}
		if slices.Sort(got); !slices.EqualFunc(want, got, fits) {
			return fmt.Errorf("%v has the Works %q, not %q", k, got, want)
		}
		return nil
	}
}

// carriesNamespace checks that a Work is the one that Karmada writes for a Namespace.
func (m *machine) carriesNamespace(ref apiserver.Ref) error {
	manifest, err := model.ManifestOf(&unstructured.Unstructured{Object: m.store.Get(ref)})
	if err != nil || manifest.GetKind() != "Namespace" {
		return fmt.Errorf("%s does not carry a Namespace: %v", ref.Name, err)
	}
	return nil
}

// stranger makes a source that the model knows nothing of, and strangerGoes deletes it.
func (m *machine) stranger(k model.Key, annotations map[string]string) act {
	return func() error { return m.adds(resources[k.Kind], numbered(k, 1), annotations) }
}

func (m *machine) adds(resource schema.GroupResource, o apiserver.Object, annotations map[string]string) error {
	(&unstructured.Unstructured{Object: o}).SetAnnotations(annotations)
	_, err := m.store.Create(resource, o)
	return err
}

func (m *machine) strangerGoes(k model.Key) act {
	m.strangers = append(m.strangers, k)
	return func() error { return m.store.Delete(refOf(k), metav1.DeleteOptions{}) }
}

// forgery is a Work of another owner.
type forgery struct {
	name string
	// isOurs: it has our labels.
	isOurs              bool
	annotations, labels map[string]string
}

func (f forgery) ref() apiserver.Ref {
	return apiserver.Ref{Resource: works, Namespace: "karmada-es-m1", Name: f.name}
}

func (f forgery) make(m *machine) act {
	return func() error {
		foreign := object("v1", "ConfigMap", "default", "foreign", nil)
		if f.carriesThePage() {
			foreign = numbered(thePage, 3)
		}
		o := object("work.karmada.io/v1alpha1", "Work", f.ref().Namespace, f.name, map[string]any{"spec": map[string]any{"workload": map[string]any{"manifests": []any{foreign}}}})
		u := &unstructured.Unstructured{Object: o}
		labels := map[string]string{}
		if f.isOurs {
			labels = map[string]string{"app.kubernetes.io/managed-by": "karmada-mirror", "karmada.target/source-id": sourceID(thePage)}
		}
		for key, value := range f.labels {
			labels[key] = value
		}
		u.SetLabels(labels)
		u.SetAnnotations(f.annotations)
		_, err := m.store.Create(works, o)
		return err
	}
}

// carriesThePage says that it would be ours but for the other owner's label.
func (f forgery) carriesThePage() bool {
	return f.labels["federatedresourcequota.karmada.io/name"] != ""
}

// isUntouched checks that no one has written or deleted it.
func (f forgery) isUntouched(m *machine) error {
	u := &unstructured.Unstructured{Object: m.store.Get(f.ref())}
	if u.Object == nil || u.GetGeneration() != 1 || u.GetDeletionTimestamp() != nil {
		return fmt.Errorf("the other owner's Work was touched: %s", described(u))
	}
	return nil
}

// isStranger reports whether a Work is one of theirs.
func (m *machine) isStranger(work string) bool {
	cluster, _, _ := strings.Cut(strings.TrimPrefix(work, "karmada-es-"), "/")
	return slices.ContainsFunc(m.strangers, func(k model.Key) bool { return model.WorkKey(cluster, k) == model.ShortKey(work) })
}

// foreignOn creates another owner's Work that carries the page.
func (m *machine) foreignOn(cluster string) act {
	return func() error {
		ref := m.touch(target{thePage, cluster})
		o := object("work.karmada.io/v1alpha1", "Work", ref.Namespace, ref.Name, map[string]any{"spec": map[string]any{"workload": map[string]any{"manifests": []any{map[string]any(numbered(thePage, 3))}}}})
		(&unstructured.Unstructured{Object: o}).SetLabels(map[string]string{"federatedresourcequota.karmada.io/name": "x", "federatedresourcequota.karmada.io/namespace": "a"})
		_, err := m.store.Create(works, o)
		return err
	}
}
