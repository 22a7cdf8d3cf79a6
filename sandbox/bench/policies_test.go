package bench

import "testing"

func TestEndsWithTheWork(t *testing.T) {
	c := comparison{repetitions: [][]outcome{{{cost: cost{requests: map[string]int{"create works": 2}}}}}}
	if err := endsWithTheWork(c); err != nil {
		t.Errorf("endsWithTheWork() = %v for creates alone", err)
	}
	c.repetitions[0] = append(c.repetitions[0], outcome{cost: cost{requests: map[string]int{"update works/status": 1}}})
	if err := endsWithTheWork(c); err == nil {
		t.Error("endsWithTheWork() = nil for Works that a controller has tried to apply")
	}
}
