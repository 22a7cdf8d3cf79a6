package bench

import (
	"context"
	"fmt"
)

// repetitionsOfMany is for what takes minutes each time.
const repetitionsOfMany = 2

// compareSizes shows whether the rate holds when there is very much.
func compareSizes(ctx context.Context, w *world, r *report) error {
	var rows [][]string
	lines := []line{{name: "bare loop"}, {name: "karmada-mirror"}}
	var few, many comparison
	for _, n := range []int{w.manyObjects() / 50, w.manyObjects() / 5, w.manyObjects()} {
		c, err := w.compareTimes(ctx, min(w.repetitions, repetitionsOfMany), scenario{configMap1k, n, 1}, bareAndMirror...)
		if err != nil {
			return err
		}
		if few.repetitions == nil {
			few = c
		}
		many = c
		rows = append(rows, []string{fmt.Sprint(n), c.of(bare, outcome.rate).format(0), c.of(mirrored, outcome.rate).format(0), c.over(mirrored, bare, rateOver).format(2)})
		for i := range lines {
			lines[i].add(float64(n), c.of(i, outcome.rate).median)
		}
	}
	r.table("Throughput against the number of objects, 1 kB ConfigMaps for one cluster",
		[]string{"objects", "bare loop, Works/s", "karmada-mirror, Works/s", "over the bare loop's"}, rows)
	var over []float64
	for i := range many.repetitions {
		over = append(over, many.repetitions[i][mirrored].rate()/few.repetitions[i][mirrored].rate())
	}
	r.atLeast(fmt.Sprintf("Works/s at %d objects over %d", many.sources, few.sources), 0.9, summarize(over))
	return r.plot("objects.svg", "Works per second", "objects", "Works/s", true, lines...)
}
