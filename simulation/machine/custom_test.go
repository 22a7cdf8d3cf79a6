package machine

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// observed makes an operator in the first member observe what is there, and say that it is ready.
func (m *machine) observed() error {
	in, wheel := m.karmada.Member("m1").Store, refOf(inA(widget))
	o := in.Get(wheel)
	if o == nil {
		return errors.New("it is not there")
	}
	n := (&unstructured.Unstructured{Object: o}).GetGeneration()
	_, err := in.Modify(wheel, "status", func(o apiserver.Object) {
		o["status"] = map[string]any{"observedGeneration": n, "conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": n}}}
	})
	return err
}

// hasObserved checks whether the source says that its operator has observed it and finds it ready, as kubectl wait reads it.
func (m *machine) hasObserved(want bool) act {
	return func() error {
		o := m.store.Get(refOf(inA(widget)))
		n, _, _ := unstructured.NestedInt64(o, "metadata", "generation")
		observed, _, _ := unstructured.NestedInt64(o, "status", "observedGeneration")
		conditions, _, _ := unstructured.NestedSlice(o, "status", "conditions")
		ready := int64(0)
		for _, c := range conditions {
			ready, _ = c.(map[string]any)["observedGeneration"].(int64)
		}
		if (observed == n) != want || (ready == n) != want {
			return fmt.Errorf("its generation is %d, observed is %d, and ready %d", n, observed, ready)
		}
		return nil
	}
}

func init() {
	widgetResource.Status, widgetResource.Generation = true, true // as its definition says
	wheel := refOf(inA(widget))
	sized := func(m *machine, size string) act { return m.modified(wheel, setField(size, "spec", "size")) }
	// grows makes the widget ready, and then larger after something has happened; the member must not count as ready with that.
	ready := func(m *machine) act {
		return m.tellAll(m.careful, pause(10*time.Second), m.puts(inA(widget), to("m1")), m.quiet, sized(m, "1"), pause(time.Minute), m.observed, pause(10*time.Second), m.hasObserved(true))
	}
	grows := func(m *machine, happens ...act) error {
		return m.tell(ready(m), m.tellAll(happens...), sized(m, "2"), pause(time.Minute), m.hasObserved(false), pause(time.Hour), m.hasObserved(false))
	}
	custom := map[string]func(*machine) error{
		"CustomIsReady": func(m *machine) error {
			return m.tell(ready(m), sized(m, "2"), pause(time.Minute), m.hasObserved(false), m.observed, pause(10*time.Second), m.hasObserved(true))
		},
		"CustomIsRefused": func(m *machine) error {
			return grows(m, func() error {
				m.karmada.Member("m1").Refuse(func(o apiserver.Object) error {
					if size, _, _ := unstructured.NestedString(o, "spec", "size"); size == "2" {
						time.Sleep(50 * time.Millisecond)
						return errors.New("denied by a webhook of the member")
					}
					return nil
				})
				return nil
			})
		},
		"CustomIsRefusedForALabel": func(m *machine) error { // which has no generation: the member lacks it all the same, and has not only failed a repair
			refuses := func() error {
				m.karmada.Member("m1").Refuse(func(o apiserver.Object) error {
					if (&unstructured.Unstructured{Object: o}).GetLabels()["tier"] != "" {
						return errors.New("denied by a webhook of the member")
					}
					return nil
				})
				return nil
			}
			labels := m.modified(wheel, func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"tier": "edge"}) })
			return m.tell(ready(m), refuses, labels, pause(time.Minute), m.hasObserved(false))
		},
		"CustomIsAway": func(m *machine) error { return grows(m, m.goes("m1"), pause(time.Minute)) },
		"CustomIsSuspended": func(m *machine) error {
			return grows(m, m.modified(wheel, func(u *unstructured.Unstructured) {
				u.SetAnnotations(map[string]string{clustersKey: "m1", suspendKey: "true"})
			}), pause(time.Minute))
		},
	}
	for name, story := range custom {
		sceneOf[name], statuses[name] = inVersions, story
	}
}
