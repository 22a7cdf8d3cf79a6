package aggregate

import (
	"k8s.io/apimachinery/pkg/util/json"
)

// only is the rule of all other kinds. What members report are their own generations: these say nothing about those of the
// source. So every observedGeneration becomes that of the source once the member has observed the content that it should have,
// and is an earlier one until then.
func only(s *summary) error {
	if len(s.members) != 1 || !s.members[0].hasReported() {
		return nil
	}
	m, before := s.members[0], s.status["observedGeneration"]
	status := map[string]any{}
	if err := json.Unmarshal(m.Status, &status); err != nil {
		return m.undecodable(err)
	}
	report, err := read[generations](s.members)
	if err != nil { // of a kind that has a text of that name, for example
		report = []*generations{{}}
	}
	hasObserved := m.Settled
	if report[0].ResourceTemplateGeneration > 0 { // Karmada has an interpreter for this kind, and says more (customized and thirdparty in pkg/resourceinterpreter)
		hasObserved = m.hasObserved(report[0])
		delete(status, "generation")
		delete(status, "resourceTemplateGeneration")
	}
	s.status = status
	s.translate(hasObserved, before)
	return nil
}

// translate makes the generations in a status those of the source, which had observed one before.
func (s *summary) translate(hasObserved bool, before any) {
	generation := s.source.GetGeneration()
	if generation == 0 {
		return
	}
	last, _ := s.status["observedGeneration"].(int64)
	all := []map[string]any{s.status}
	conditions, _ := s.status["conditions"].([]any)
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		all = append(all, condition)
		if of, is := condition["observedGeneration"].(int64); is {
			last = max(last, of)
		}
	}
	for i, fields := range all {
		of, is := fields["observedGeneration"].(int64)
		switch known, _ := before.(int64); {
		case !is:
		case hasObserved && of >= last:
			fields["observedGeneration"] = generation
		case i == 0 && known > 0 && known <= generation: // a greater one was copied from a member
			fields["observedGeneration"] = known
		default:
			fields["observedGeneration"] = min(of, generation-1)
		}
	}
}
