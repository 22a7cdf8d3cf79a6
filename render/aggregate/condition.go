package aggregate

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// condition is one that a rule sets.
type condition struct {
	kind            string
	status          corev1.ConditionStatus
	reason, message string
}

var errConditions = errors.New("cannot read the status.conditions of the source: they are not a list of objects")

// conditions returns the current ones, which are not to be changed.
func (s *summary) conditions() (list []map[string]any, err error) {
	items, ok := s.status["conditions"].([]any)
	if !ok && s.status["conditions"] != nil {
		return nil, errConditions
	}
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, errConditions
		}
		list = append(list, fields)
	}
	return list, nil
}

// find returns the current condition of a type; nil if there is none.
func (s *summary) find(kind string) (map[string]any, error) {
	list, err := s.conditions()
	if i := slices.IndexFunc(list, func(c map[string]any) bool { return c["type"] == kind }); i >= 0 {
		return list[i], nil
	}
	return nil, err
}

// isTrue reports whether the current condition of a type is True.
func (s *summary) isTrue(kind string) (bool, error) {
	c, err := s.find(kind)
	return c["status"] == string(corev1.ConditionTrue), err
}

// setCondition sets a condition unless it is as it should be. The time of its transition stays
// while its status does. updateField is that of the time of any change: lastUpdateTime or
// lastProbeTime. Of several conditions of the type, the first counts, and the others go: kstatus
// would look at all, and Argo CD at one.
func (s *summary) setCondition(c condition, updateField string) error {
	list, err := s.conditions()
	if err != nil {
		return err
	}
	next := map[string]any{
		"type": c.kind, "status": string(c.status), "reason": c.reason, "message": c.message,
		updateField: s.now, "lastTransitionTime": s.now,
	}
	var all []any
	isSet := false
	for _, current := range list {
		switch {
		case current["type"] != c.kind:
			all = append(all, current)
		case !isSet:
			isSet = true
			all = append(all, keepTimes(current, next))
		}
	}
	if !isSet {
		all = append(all, next)
	}
	s.status["conditions"] = all
	return nil
}

// keepTimes returns the current condition if it says the same as the next. If only its status is
// the same, it returns the next with the current time of transition.
func keepTimes(current, next map[string]any) map[string]any {
	if current["status"] != next["status"] {
		return next
	}
	if current["reason"] == next["reason"] && current["message"] == next["message"] {
		return current
	}
	if since, ok := current["lastTransitionTime"].(string); ok {
		next["lastTransitionTime"] = since
	}
	return next
}
