package aggregate

import (
	"cmp"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// IsCopied reports whether the status of a kind is that of its only member, with other generations.
func IsCopied(kind schema.GroupKind) bool { return rules[kind] == nil }

// only is the rule of all other kinds. What members report are their own generations: these say nothing about those of the
// source. So every observedGeneration becomes that of the source once the member has observed the content that it should have,
// and is an earlier one until then.
func only(s *summary) error {
	if len(s.members) != 1 || !s.members[0].hasReported() {
		return nil
	}
	m, before := s.members[0], generationsIn(s.status)
	status := map[string]any{}
	if err := json.Unmarshal(m.Status, &status); err != nil {
		return m.undecodable(err)
	}
	s.status = status
	if s.source.GetGeneration() == 0 {
		return nil
	}
	all := generationsIn(status)
	last, deeper := int64(0), int64(0)
	for _, of := range all {
		if of.isDeep {
			deeper = max(deeper, of.number)
		} else {
			last = max(last, of.number)
		}
	}
	last = cmp.Or(last, deeper)
	hasObserved := m.Settled && m.Later
	if template, _ := status["resourceTemplateGeneration"].(int64); template > 0 { // Karmada has an interpreter for this kind, and says more (customized and thirdparty in pkg/resourceinterpreter)
		generation, _ := status["generation"].(int64)
		hasObserved = m.Settled && m.isOf(template) && last >= generation
		delete(status, "generation")
		delete(status, "resourceTemplateGeneration")
	}
	for at, of := range all {
		if of.number <= last { // otherwise it is that of something else
			of.set(s.observed(of.number, before[at].number, hasObserved && of.number == last, m.Lacking))
		}
	}
	return nil
}

// observed returns the generation of the source that one of a member stands for. One that the source has shown stays, unless the
// member lacks that content.
func (s *summary) observed(of, known int64, hasObserved, isLacking bool) int64 {
	generation := s.source.GetGeneration()
	switch {
	case of < 1: // it has observed nothing: Flux begins with -1
		return of
	case hasObserved:
		return generation
	case known > 0 && (known < generation || known == generation && !isLacking): // a greater one was copied from a member
		return known
	}
	return min(of, generation-1)
}

// observedGeneration is a number in a status, or a text of one, as Argo Rollouts has it.
type observedGeneration struct {
	in     map[string]any
	number int64
	// isDeep: it is in a condition of something within the object, as in the routes of the Gateway API.
	isDeep bool
}

const observedField = "observedGeneration"

func (o observedGeneration) set(number int64) {
	if _, isText := o.in[observedField].(string); isText {
		o.in[observedField] = strconv.FormatInt(number, 10)
		return
	}
	o.in[observedField] = number
}

// maxDepth is how deep in a status conditions are looked for: those of a parent of a route are at 2.
const maxDepth = 6

// generationsIn returns the observed generations of a status and of conditions anywhere in it, by where they are. An item of a list
// is known by its type or name, and several with the same by their order.
func generationsIn(status map[string]any) map[string]observedGeneration {
	all := map[string]observedGeneration{}
	note := func(at []string, fields map[string]any, isDeep bool) {
		place := fmt.Sprintf("%q", at)
		for _, is := all[place]; is; _, is = all[place] {
			place += "'"
		}
		if number, ok := numberOf(fields[observedField]); ok {
			all[place] = observedGeneration{fields, number, isDeep}
		}
	}
	var visit func(at []string, value any)
	visit = func(at []string, value any) {
		if len(at) > maxDepth {
			return
		}
		switch v := value.(type) {
		case map[string]any:
			for field, value := range v {
				visit(append(at, field), value)
			}
		case []any:
			for i, item := range v {
				fields, _ := item.(map[string]any)
				key := cmp.Or(textIn(fields, "type"), textIn(fields, "name"), fmt.Sprint(i))
				if at[len(at)-1] == "conditions" {
					note(append(at, key), fields, len(at) > 1)
				} else {
					visit(append(at, key), item)
				}
			}
		}
	}
	note(nil, status, false)
	visit(nil, status)
	return all
}

func textIn(fields map[string]any, field string) string {
	text, _ := fields[field].(string)
	return text
}

func numberOf(value any) (number int64, ok bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case string:
		number, err := strconv.ParseInt(v, 10, 64)
		return number, err == nil
	}
	return 0, false
}
