package machine

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// gadgetKind is the definition of the gadgets, as a source.
var gadgetKind = model.Key{Kind: "CustomResourceDefinition", Name: gadgetDefinition.Name}

// follows begins to mirror the gadgets with their definition, or without; no member has it yet.
func (m *machine) follows(word string) act {
	return func() error {
		m.more = fmt.Sprintf("- {group: example.org, resource: gateways, definitions: %s}\n", word)
		m.strangers = append(m.strangers, gadgetKind)
		return m.reconfigured()
	}
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
	work := func(m *machine) apiserver.Ref {
		return apiserver.Ref{Resource: works, Namespace: "karmada-es-m1", Name: m.works()[model.WorkKey("m1", gadgetKind)].GetName()}
	}
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
				func() error { return m.store.Delete(work(m), metav1.DeleteOptions{}) }, soon, m.definedIn("m1"))
		},
		"DefinitionsClusterLeaves": func(m *machine) error {
			return m.tell(m.defined, m.follows("Mirror"), m.someWidgets(1), soon, m.definedIn("m1"), func() error { return m.removeCluster("m1") }, pause(5*time.Minute), func() error {
				if m.works()[model.WorkKey("m1", gadgetKind)] != nil {
					return errors.New("the Work outlives its cluster")
				}
				return nil
			})
		},
		"DefinitionOfWhatNoRuleAllows": func(m *machine) error { // what a rule allows takes its definition along
			return m.tell(m.defined, func() error {
				m.more = "- {group: example.org, resource: gateways, definitions: Mirror}\n"
				m.strangers = append(m.strangers, gadgetKind)
				return m.configure("*", "m1", true)
			},
				m.someWidgets(1), soon, m.definedIn("m1"))
		},
	} {
		stories[name] = story
	}
}
