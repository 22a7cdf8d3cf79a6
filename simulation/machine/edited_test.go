package machine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// edits makes an operator in the first member edit the Deployment there, each of some times after a pause.
func (m *machine) edits(times int, after time.Duration) act {
	return func() error {
		in := m.karmada.Member("m1").Store
		for n := range times {
			time.Sleep(after)
			if _, err := in.Modify(refOf(inA(deployment)), "", func(o apiserver.Object) {
				_ = unstructured.SetNestedField(o, int64(20+n), "spec", "progressDeadlineSeconds")
			}); err != nil {
				return err
			}
		}
		return nil
	}
}

func init() {
	const noticed = "MemberContested"
	edited := map[string]func(*machine) error{
		"MemberIsContested": func(m *machine) error { // until there is peace
			return m.tell(m.web(to("m1,m2")), pause(time.Minute), m.edits(40, 10*time.Second), m.told(noticed, 1, 1), m.edits(40, 10*time.Second), m.told(noticed, 1, 1))
		},
		"MemberIsScaled": func(m *machine) error { // as by an autoscaler
			return m.tell(m.web(to("m1,m2")), pause(time.Minute), m.edits(10, 15*time.Second), pause(5*time.Minute), m.edits(40, 5*time.Minute), m.told(noticed, 0, 0))
		},
		"MemberWasAway": func(m *machine) error { // what was edited meanwhile is reported at once
			return m.tell(m.web(to("m1,m2")), pause(time.Minute), m.goes("m1"), pause(time.Minute), m.edits(60, 15*time.Minute), m.comes("m1"), pause(10*time.Minute), m.told(noticed, 0, 0))
		},
		"SourceIsEditedOften": func(m *machine) error {
			acts := []act{m.web(to("m1,m2")), pause(time.Minute)}
			for n := range 80 {
				acts = append(acts, m.changed(inA(deployment), n), pause(5*time.Second))
			}
			return m.tell(append(acts, m.told(noticed, 0, 0))...)
		},
	}
	for name, story := range edited {
		sceneOf[name], stories[name] = withStatuses, story
	}
}
