package machine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// compareMembers lists what in the members does not match the model.
func (m *machine) compareMembers() (wrong []string) {
	if !m.judgesMembers {
		return nil
	}
	for _, k := range m.keys() {
		for _, cluster := range m.clusters {
			if why := m.judgeMember(target{k, cluster}); why != "" {
				wrong = append(wrong, fmt.Sprintf("%v, in the member: %s", target{k, cluster}, why))
			}
		}
	}
	return wrong
}

func (m *machine) judgeMember(of target) string {
	there := m.karmada.Member(of.cluster).Store.Get(refOf(of.key))
	isThere := there != nil
	switch state, want := m.history.now().Of(of.key, of.cluster); {
	case state == model.Present && !isThere:
		return "it is missing"
	case state == model.Present:
		_, o := model.Applied(&unstructured.Unstructured{Object: there})
		if m.left[of] || m.mayBeLeft(of, time.Now()) { // Karmada no longer knew which keys were its own
			maps.DeleteFunc(o.Content.Labels, func(key, _ string) bool { return want.Content.Labels[key] == "" })
		}
		if !equality.Semantic.DeepEqual(o.Content, want.Content) {
			return fmt.Sprintf("it is %v, not %v", *o.Content, *want.Content)
		}
	case state == model.Absent && isThere && !m.left[of] && !m.mayBeLeft(of, time.Now()):
		return "it exists, but must not"
	case state == model.Absent && !isThere && m.mustBeLeft(of):
		return "it is missing, but had to be preserved"
	}
	return ""
}

// mayBeLeft reports whether the source of an object may have asked for it to stay in the
// member when its Work is deleted.
func (m *machine) mayBeLeft(of target, now time.Time) bool {
	return m.before[of] != nil && m.before[of].Preserved || m.touched[of] ||
		slices.ContainsFunc(m.history.possible(of, m.quietAt, now), func(o outcome) bool { return o.like.Preserved })
}

// mustBeLeft reports whether the source has asked for this all the time, and the Work
// existed.
func (m *machine) mustBeLeft(of target) bool {
	if m.before[of] == nil || !m.before[of].Preserved || m.touched[of] || m.history.now().Objects[of.key] == nil {
		return false
	}
	return !slices.ContainsFunc(m.history.possible(of, m.quietAt, time.Now()), func(o outcome) bool { return !o.like.Preserved })
}
