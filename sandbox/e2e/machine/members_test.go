package machine

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// compareMembers lists what in the members does not match the model.
func (m *machine) compareMembers() (wrong []string) {
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
	there, err := e2e.Env.Member(of.cluster).Resource(resources[of.key.Kind]).Namespace(of.key.Namespace).Get(m.t.Context(), of.key.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err.Error()
	}
	isThere := err == nil
	switch state, want := m.history.now().Of(of.key, of.cluster); {
	case state == model.Present && !isThere:
		return "it is missing"
	case state == model.Present:
		if _, o := e2e.Applied(there); !equality.Semantic.DeepEqual(o.Content, want.Content) {
			return fmt.Sprintf("it is %v, not %v", o.Content, want.Content)
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
