package bench

import (
	"context"
	"fmt"
)

// atLeastSources is how many sources one arm mirrors over all its repetitions: a run that
// takes a minute is repeated less often than one that takes seconds.
const atLeastSources = 5_000

// compareSizes shows whether the rate holds with very many objects.
func compareSizes(ctx context.Context, w *world, r *report) error {
	lines := []line{{name: "bare loop"}, {name: "karmada-mirror"}}
	var few, many comparison
	for _, n := range []int{w.manyObjects() / 20, w.manyObjects() / 5, w.manyObjects()} {
		c, err := w.compareWithLoop(ctx, r, "more objects", max(1, min(w.repetitions, atLeastSources/n)), scenario{configMap1k, n, 1})
		if err != nil {
			return err
		}
		if few.repetitions == nil {
			few = c
		}
		many = c
		for i := range lines {
			lines[i].add(float64(n), c.of(i, outcome.rate).median)
		}
	}
	over := many.of(mirrored, outcome.rate).median / few.of(mirrored, outcome.rate).median
	r.atLeast(fmt.Sprintf("Works/s with %d objects ÷ Works/s with %d", many.sources, few.sources), 0.9, exactly(over))
	return r.plot("objects.svg", "Works per second by the number of objects", "Works per second", "objects", "Works/s", true, lines...)
}
