package model

import (
	"math"
	"strconv"
	"strings"
)

// wavesKey orders clusters: a change reaches them wave by wave.
const wavesKey = "karmada.target/waves"

// WaveOf says in which wave of an object a cluster is, and how many of its clusters may be given a
// change at once. All clusters of an object without waves are in one.
func (w *World) WaveOf(k Key, cluster string) (number, atOnce int) {
	if !w.InWaves(k) {
		return 0, math.MaxInt
	}
	for _, text := range strings.Split(w.Objects[k].Annotations[wavesKey], ";") {
		list, limit, hasLimit := strings.Cut(text, "(")
		if in, out := split(list); fits(in, cluster) && !fits(out, cluster) {
			if n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(limit), ")")); hasLimit && err == nil {
				return number, n
			}
			return number, math.MaxInt // none, or a percentage, which this model does not know
		}
		number++
	}
	return number, math.MaxInt
}

// InWaves reports whether an object reaches its clusters in waves.
func (w *World) InWaves(k Key) bool {
	o := w.Objects[k]
	return o != nil && o.Annotations[wavesKey] != ""
}
