package machine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/karmada"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// appliedTo checks what Karmada says of a Work in the first member.
func (m *machine) appliedTo(k model.Key, want metav1.ConditionStatus) error {
	work := m.works()[model.WorkKey("m1", k)]
	if work == nil {
		return errors.New("there is no Work")
	}
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	fields, _ := work.Object["status"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status); err != nil {
		return err
	}
	if c := meta.FindStatusCondition(status.Conditions, "Applied"); c == nil || c.Status != want {
		return fmt.Errorf("the condition is %v", c)
	}
	return nil
}

// flaps edits an object in the first member, which refuses for a while to have it repaired. It returns how long Karmada says that it is
// not applied.
func (m *machine) flaps(k model.Key, edit func(apiserver.Object), lasts time.Duration, meanwhile ...act) (time.Duration, error) {
	member, drifted := m.karmada.Member("m1"), false
	stop := member.Refuse(func(apiserver.Object) error {
		if drifted {
			return errors.New("denied by a webhook of the member")
		}
		return nil
	})
	defer stop()
	if _, err := member.Store.Modify(refOf(k), "", edit); err != nil {
		return 0, err
	}
	drifted = true
	if err := await("the repair to be refused", func() error { return m.appliedTo(k, metav1.ConditionFalse) }); err != nil {
		return 0, err
	}
	since := time.Now()
	err := m.tell(append([]act{pause(lasts)}, meanwhile...)...)
	if drifted = false; err != nil {
		return 0, err
	}
	err = await("the repair", func() error { return m.appliedTo(k, metav1.ConditionTrue) })
	return time.Since(since), err
}

func drift(o apiserver.Object) { _ = unstructured.SetNestedField(o, "drifted", "data", "key") }

func init() {
	const bake = 4 * time.Minute
	// edits a page in waves, and lets its canary flap a minute later. The others get the edit once the canary has been well for the bake.
	canary := func(m *machine, lasts time.Duration, begins bool, meanwhile ...act) error {
		asks := map[string]string{clustersKey: "*", wavesKey: "m1;*", "karmada.target/wave-bake": bake.String()}
		if err := m.tell(m.page(asks), m.quiet, m.edited(2), pause(time.Minute), m.keeps("m1", "2"), m.keeps("m2", "1")); err != nil {
			return err
		}
		edited := time.Now().Add(-time.Minute)
		flapped, err := m.flaps(thePage, drift, lasts, append(meanwhile, m.keeps("m2", "1"))...)
		if err != nil {
			return err
		}
		due := edited.Add(bake + flapped)
		if begins {
			due = time.Now().Add(bake)
		}
		time.Sleep(time.Until(due) - 20*time.Second)
		return m.tell(m.keeps("m2", "1"), pause(40*time.Second), m.keeps("m2", "2"))
	}
	inWaves119, inVersions119 := *inWaves, *inVersions
	inWaves119.karmada, inVersions119.karmada = karmada.V119, karmada.V119
	flaps := map[string]func(*machine) error{
		"CanaryFlaps": func(m *machine) error { return canary(m, 30*time.Second, false) },
		"CanaryFails": func(m *machine) error {
			return canary(m, 20*time.Minute, true, m.told("WaveHeld", 1, 1), m.runs("explain configmaps/page-0 -n a", "denied by a webhook of the member"))
		},
	}
	for name, story := range flaps {
		sceneOf[name], stories[name] = &inWaves119, story
	}
	sceneOf["CustomFlaps"], sceneOf["RepairsAreExplained"] = &inVersions119, &inWaves119
	stories["RepairsAreExplained"] = func(m *machine) error { // those of an object without a generation, as long as they go on
		fights := func(change func(apiserver.Object)) act {
			return func() error { m.karmada.Member("m1").Fight(refOf(thePage), 10*time.Second, change); return nil }
		}
		const repairs, explain = "something in the member edits it", "explain configmaps/page-0 -n a"
		none := func() error {
			if out, err := m.command(strings.Fields(explain)...); err != nil || strings.Contains(out, repairs) {
				return fmt.Errorf("there are no repairs: %w\n%s", err, out)
			}
			return nil
		}
		acts := []act{m.page(to("m1,m2")), m.quiet}
		for n := range 30 { // which are no repairs
			acts = append(acts, m.edited(n%3), pause(10*time.Second))
		}
		return m.tell(append(acts, none, fights(drift), pause(10*time.Minute), m.runs(explain, repairs, "managedFields"), fights(nil), pause(20*time.Minute), none)...)
	}
	statuses["CustomFlaps"] = func(m *machine) error {
		wheel := refOf(inA(widget))
		if err := m.tell(m.careful, pause(10*time.Second), m.puts(inA(widget), to("m1")), m.quiet, m.modified(wheel, setField("1", "spec", "size")), pause(time.Minute), m.observed, pause(10*time.Second), m.hasObserved(true)); err != nil {
			return err
		}
		_, err := m.flaps(inA(widget), func(o apiserver.Object) { _ = unstructured.SetNestedField(o, "9", "spec", "size") }, time.Minute, m.hasObserved(true), pause(6*time.Minute), m.hasObserved(false))
		return m.tell(func() error { return err }, pause(time.Minute), m.observed, pause(10*time.Second), m.hasObserved(true))
	}
}
