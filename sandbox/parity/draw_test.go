package parity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// A shape is what draw makes a JSON value of: one of these types, a function that draws, or
// the value itself.
type (
	// oneOf is any of the shapes, evenly.
	oneOf []any
	// once is a shape once in so many times, and otherwise the other.
	once struct {
		in               int
		shape, otherwise any
	}
	// some is a list of a few of the same shape, and each a list with one of each.
	some struct {
		least, most int
		shape       any
	}
	each []any
	// fields is an object, and entries one with a few drawn keys.
	fields  map[string]any
	entries struct {
		least, most int
		key, value  any
	}
	// merged is an object with the fields of all these, and joined their texts in a row.
	merged []any
	joined []any
	// nothing is a value that lists and objects omit.
	nothing struct{}
)

// maybe is a shape once in n times.
func maybe(n int, shape any) any { return once{n, shape, nothing{}} }

// draw makes a value of a shape. The same seed makes the same values.
func draw(random *rand.Rand, shape any) any {
	switch s := shape.(type) {
	case oneOf:
		return draw(random, pick(random, s...))
	case once:
		if random.IntN(s.in) == 0 {
			return draw(random, s.shape)
		}
		return draw(random, s.otherwise)
	case some:
		return drawEach(random, slices.Repeat(each{s.shape}, s.least+random.IntN(s.most-s.least+1)))
	case each:
		return drawEach(random, s)
	case joined:
		return fmt.Sprint(drawEach(random, each(s))...)
	case fields, entries, merged:
		return drawFields(random, s)
	case func(*rand.Rand) any:
		return s(random)
	case int:
		return int64(s)
	}
	return shape
}

func drawEach(random *rand.Rand, shapes each) []any {
	list := []any{}
	for _, shape := range shapes {
		if value := draw(random, shape); value != any(nothing{}) {
			list = append(list, value)
		}
	}
	return list
}

func drawFields(random *rand.Rand, shape any) map[string]any {
	object := map[string]any{}
	switch s := shape.(type) {
	case fields:
		for _, key := range slices.Sorted(maps.Keys(s)) {
			if value := draw(random, s[key]); value != any(nothing{}) {
				object[key] = value
			}
		}
	case entries:
		for range s.least + random.IntN(s.most-s.least+1) {
			object[draw(random, s.key).(string)] = draw(random, s.value)
		}
	case merged:
		for _, shape := range s {
			maps.Copy(object, draw(random, shape).(map[string]any))
		}
	}
	return object
}
