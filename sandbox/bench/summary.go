package bench

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// summary holds the median, the least and the greatest of some figures.
type summary struct{ median, least, greatest float64 }

func summarize(figures []float64) summary {
	figures = slices.Sorted(slices.Values(figures))
	middle := len(figures) / 2
	median := figures[middle]
	if len(figures)%2 == 0 {
		median = (figures[middle-1] + figures[middle]) / 2
	}
	return summary{median, figures[0], figures[len(figures)-1]}
}

// confidence returns between which figures the median lies with a confidence of at least
// 95 %, whatever the distribution (by the sign test); for fewer than six, the least and the
// greatest.
func confidence(figures []float64) (least, greatest float64) {
	figures = slices.Sorted(slices.Values(figures))
	n := len(figures)
	// chance is that of exactly so many figures below the median.
	within, sum, chance := 0, 0.0, math.Pow(0.5, float64(n))
	for sum+chance <= 0.025 {
		sum += chance
		chance *= float64(n-within) / float64(within+1)
		within++
	}
	first := max(0, within-1)
	return figures[first], figures[n-1-first]
}

// exactly returns the summary of a figure that was measured once.
func exactly(figure float64) summary { return summary{figure, figure, figure} }

func (s summary) format(digits int) string {
	if s.least == s.greatest {
		return fmt.Sprintf("%.*f", digits, s.median)
	}
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, s.median, digits, s.least, digits, s.greatest)
}

// latencies holds how long each of several operations took, sorted.
type latencies []time.Duration

// quantile returns a quantile in seconds.
func (l latencies) quantile(q float64) float64 {
	return l[min(len(l)-1, int(q*float64(len(l))))].Seconds()
}

func (l latencies) String() string {
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s (%d samples)", milliseconds(l.quantile(0.5)), milliseconds(l.quantile(0.9)), milliseconds(l.quantile(0.99)), len(l))
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.1f ms", 1000*seconds) }
