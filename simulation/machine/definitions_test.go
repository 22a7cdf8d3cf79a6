package machine

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// gadgetKind is the definition of the gadgets, as a source.
var gadgetKind = model.Key{Kind: "CustomResourceDefinition", Name: gadgetDefinition.Name}

// follows begins to mirror the gadgets with their definition, or without; no member has it yet.
func (m *machine) follows(word string, more ...string) act { return m.followsBy(none, word, more...) }

func (m *machine) followsBy(rules, word string, more ...string) act {
	return func() error {
		m.more = fmt.Sprintf("- {group: example.org, resource: gateways, definitions: %s}\n", word) + strings.Join(more, "")
		m.strangers = append(m.strangers, gadgetKind)
		return m.configure("*", rules, true)
	}
}

// unpreserved takes from the definition's Work on the first member what says that the definition is to stay there.
func (m *machine) unpreserved() error {
	_, err := m.store.Modify(workRef(model.WorkKey("m1", gadgetKind)), "", func(o apiserver.Object) {
		setField(false, "spec", "preserveResourcesOnDeletion")(&unstructured.Unstructured{Object: o})
	})
	return err
}

// forged copies the Work of a gadget to another cluster, with some labels more.
func (m *machine) forged(cluster string, labels map[string]string) act {
	return func() error {
		w := m.works()[model.WorkKey("m1", model.Key{Kind: "Gateway", Namespace: "a", Name: "widget-0"})]
		o := object("work.karmada.io/v1alpha1", "Work", "karmada-es-"+cluster, w.GetName(), map[string]any{"spec": w.Object["spec"]})
		u, all := &unstructured.Unstructured{Object: o}, w.GetLabels()
		maps.Copy(all, labels)
		u.SetLabels(all)
		u.SetAnnotations(w.GetAnnotations())
		_, err := m.store.Create(works, o)
		return err
	}
}

// generation reads that of the definition's Work on the first member.
func (m *machine) generation(n *int64) act {
	return func() error { *n = m.works()[model.WorkKey("m1", gadgetKind)].GetGeneration(); return nil }
}

// definedIn checks which members have the definition, and a Work of it that preserves it.
func (m *machine) definedIn(want ...string) act {
	return func() error {
		var has []string
		for _, name := range m.scene.clusters {
			work := m.works()[model.WorkKey(name, gadgetKind)]
			isThere := m.karmada.Member(name).Store.Get(gadgetDefinition) != nil
			switch {
			case isThere != (work != nil):
				return fmt.Errorf("%s has the definition: %t, and its Work: %t", name, isThere, work != nil)
			case work == nil:
				continue
			}
			if preserves, _, _ := unstructured.NestedBool(work.Object, "spec", "preserveResourcesOnDeletion"); !preserves {
				return fmt.Errorf("the Work on %s does not preserve the definition", name)
			}
			has = append(has, name)
		}
		if fmt.Sprint(has) != fmt.Sprint(want) {
			return fmt.Errorf("the definition is on %v, want %v", has, want)
		}
		return nil
	}
}

// isInMember checks whether the first member has a gadget, or its definition.
func (m *machine) isInMember(ref apiserver.Ref, want bool) act {
	return func() error {
		if o := m.karmada.Member("m1").Store.Get(ref); (o != nil) != want {
			return fmt.Errorf("%v is in the member: %t", ref, o != nil)
		}
		return nil
	}
}

// annotates has the definition say something itself.
func (m *machine) annotates(annotations map[string]string) act {
	return func() error {
		_, err := m.store.Modify(gadgetDefinition, "", func(o apiserver.Object) { (&unstructured.Unstructured{Object: o}).SetAnnotations(annotations) })
		return err
	}
}

func init() {
	soon := pause(10 * time.Second)
	const foos = "- {group: example.net, resource: foos, definitions: Mirror}\n"
	claim := func(m *machine) error {
		_, err := m.store.Modify(gadgetDefinition, "", func(o apiserver.Object) {
			(&unstructured.Unstructured{Object: o}).SetLabels(map[string]string{"clusterpropagationpolicy.karmada.io/permanent-id": "x"})
		})
		return err
	}
	isThere := func(m *machine) act { return m.isInMember(gadgetDefinition, true) }
	for name, story := range map[string]func(*machine) error{
		"DefinitionGoesAlong": func(m *machine) error { // and stays when the last object goes, and when it goes itself
			return m.tell(m.defined, m.follows("Mirror"), soon, m.definedIn(), m.someWidgets(2), soon, m.definedIn("m1"), m.isInMember(widgetRef(1), true), m.told("", 0, 0),
				m.widgetsGo(2), soon, m.definedIn("m1"), m.isInMember(widgetRef(1), false), m.undefined, soon, m.isInMember(gadgetDefinition, true))
		},
		"DefinitionFollowsLater": func(m *machine) error { // the objects are there, and wait for it
			return m.tell(m.defined, m.follows("Ignore"), m.someWidgets(1), soon, m.definedIn(), m.isInMember(widgetRef(0), false), m.told("KindNotServed", 1, 1),
				m.follows("Mirror"), soon, m.definedIn("m1"), pause(20*time.Minute), m.isInMember(widgetRef(0), true),
				m.follows("Ignore"), pause(time.Hour), m.definedIn("m1"))
		},
		"DefinitionChoosesNothing": func(m *machine) error {
			return m.tell(m.defined, m.follows("Mirror"), m.annotates(map[string]string{clustersKey: "*", preserveKey: "false"}), soon, m.definedIn(), m.someWidgets(1), soon, m.definedIn("m1"),
				m.annotates(map[string]string{clustersKey: "!m1,*"}), soon, m.definedIn("m1"))
		},
		"DefinitionChanges": func(m *machine) error {
			has := func() error {
				member := m.karmada.Member("m1").Store
				if served, _ := member.Served(gadgets.GroupResource()); len(served.Versions) != 2 {
					return fmt.Errorf("the member serves %v", served.Versions)
				}
				return nil
			}
			grows := func() error {
				_, err := m.store.Modify(gadgetDefinition, "", func(o apiserver.Object) {
					versions, _, _ := unstructured.NestedSlice(o, "spec", "versions")
					next := definitionOf(apiserver.Resource{Versions: []string{"v2"}})["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
					next["storage"] = false
					setField(append(versions, next), "spec", "versions")(&unstructured.Unstructured{Object: o})
				})
				return err
			}
			return m.tell(m.defined, m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), grows, soon, has)
		},
		"DefinitionsWorkIsDeleted": func(m *machine) error {
			return m.tell(m.defined, m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"),
				func() error { return m.store.Delete(workRef(model.WorkKey("m1", gadgetKind)), metav1.DeleteOptions{}) }, soon, m.definedIn("m1"))
		},
		"DefinitionsClusterLeaves": func(m *machine) error {
			return m.tell(m.defined, m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), func() error { return m.removeCluster("m1") }, pause(5*time.Minute), func() error {
				if m.works()[model.WorkKey("m1", gadgetKind)] != nil {
					return errors.New("the Work outlives its cluster")
				}
				return nil
			})
		},
		"DefinitionOfWhatIsAllowed": func(m *machine) error { // what a rule allows takes its definition along, and nothing else does
			return m.tell(m.defined, m.followsBy("m1", "Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), m.forged("m2", nil), m.forged("m3", map[string]string{"resourcebinding.karmada.io/permanent-id": "x"}), pause(time.Minute), m.definedIn("m1"))
		},
		"DefinitionOfWhatIsForbidden": func(m *machine) error {
			return m.tell(m.defined, m.follows("Ignore"), m.someWidgets(1), soon, m.followsBy("nothing", "Mirror"), pause(time.Hour), m.definedIn())
		},
		"DefinitionGoesWhileItsWorkIsEdited": func(m *machine) error { // during the settle period
			return m.tell(m.defined, m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), m.undefined, m.unpreserved, pause(20*time.Minute), isThere(m))
		},
		"DefinitionGoesWhileDownAndEdited": func(m *machine) error {
			return m.tell(m.defined, m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), m.stopped, m.unpreserved, soon, m.undefined, m.started, pause(20*time.Minute), isThere(m))
		},
		"DefinitionOfAPolicyGoes": func(m *machine) error {
			return m.tell(m.defined, m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), func() error { return claim(m) }, soon, m.unpreserved, soon, m.undefined, pause(20*time.Minute), isThere(m))
		},
		"DefinitionIsPurged": func(m *machine) error {
			return m.tell(m.defined, m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), m.follows("Ignore"), soon, m.unpreserved, pause(time.Hour),
				m.runs("purge --resource customresourcedefinitions.apiextensions.k8s.io --yes"), pause(time.Minute), isThere(m), m.isInMember(widgetRef(0), true))
		},
		"DefinitionsOfTwoDaemons": func(m *machine) error { // each looks after its own
			var before, after int64
			second := func() error {
				text := configurationHead + "strip: {annotations: [team]}\nresources: [{group: example.net, resource: foos, definitions: Mirror}]\n"
				_, err := m.store.Create(configMaps, object("v1", "ConfigMap", daemon.Namespace, "shop", map[string]any{"data": map[string]any{"config.yaml": text}}))
				m.replica("third", "--config-map=karmada-system/shop", "--leader-elect-resource-name=shop").start()
				return err
			}
			return m.tell(m.defined, m.annotates(map[string]string{"team": "x"}), m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), m.generation(&before), second, pause(20*time.Minute), m.generation(&after), func() error {
				if after != before {
					return fmt.Errorf("the generation of the Work was %d, and is %d", before, after)
				}
				return nil
			})
		},
		"DefinitionIsLeftOut": func(m *machine) error { // while that of another resource is not
			var before, after int64
			return m.tell(m.defined, m.follows("Mirror", foos), m.someWidgets(1), soon, m.definedIn("m1"), m.generation(&before), m.follows("Ignore", foos), soon, m.annotates(map[string]string{"new": "yes"}), pause(time.Hour), m.generation(&after), func() error {
				if after != before {
					return errors.New("a change has reached the member")
				}
				return nil
			}, m.follows("Mirror", foos), soon, m.generation(&after), func() error {
				if after == before {
					return errors.New("the change has not reached the member")
				}
				return nil
			})
		},
		"DefinitionOfWhatIsServedLater": func(m *machine) error { // no sweep helps
			return m.tell(m.flags("--resync-period=0s"), m.defined, m.follows("Ignore"), m.someWidgets(1), soon, m.unserves, pause(time.Minute), m.restarted, pause(time.Minute), m.follows("Mirror"), pause(time.Minute), m.servesGadgets, pause(time.Hour), isThere(m))
		},
		"DefinitionWhoseNameIsTaken": func(m *machine) error {
			squatter := collide("ConfigMap", gadgetKind, "x")
			m.strangers = append(m.strangers, squatter)
			return m.tell(m.flags("--resync-period=0s"), m.defined, m.follows("Mirror"), soon, m.space(squatter.Namespace, nil, nil), m.stranger(squatter, to("m1")), soon, m.someWidgets(1), pause(time.Hour), isThere(m))
		},
		"DefinitionIsSuspended": func(m *machine) error { // and its object says so after a while
			return m.tell(m.defined, m.annotates(map[string]string{suspendKey: "true"}), m.follows("Mirror"), m.someWidgets(1), pause(30*time.Second), m.told("KindNotServed", 0, 0), pause(10*time.Minute), m.isInMember(gadgetDefinition, false), m.told("KindNotServed", 1, 1))
		},
	} {
		stories[name] = story
	}
}
