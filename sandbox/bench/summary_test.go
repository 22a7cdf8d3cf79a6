package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	cases := map[string]struct {
		reason  string
		figures []float64
		want    summary
		text    string
	}{
		"Odd":  {"The middle one is the median, in whatever order they come.", []float64{3, 1, 2}, summary{2, 1, 3}, "2.00 (1.00–3.00)"},
		"Even": {"The median of an even number lies between the two in the middle.", []float64{4, 1, 2, 3}, summary{2.5, 1, 4}, "2.50 (1.00–4.00)"},
		"One":  {"One figure has no spread.", []float64{1.5}, exactly(1.5), "1.50"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := summarize(tc.figures)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(summary{})); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
			if text := got.format(2); text != tc.text {
				t.Errorf("%s It reads %q, want %q", tc.reason, text, tc.text)
			}
		})
	}
}

// TestConfidence compares with a table of the sign test.
func TestConfidence(t *testing.T) {
	for n, skipped := range map[int]int{1: 0, 5: 0, 6: 0, 8: 0, 9: 1, 20: 5, 30: 9, 60: 21} {
		var figures []float64
		for i := range n {
			figures = append(figures, float64(n-1-i))
		}
		if least, greatest := confidence(figures); least != float64(skipped) || greatest != float64(n-1-skipped) {
			t.Errorf("of %d figures: from %v to %v, which skips not %d", n, least, greatest, skipped)
		}
	}
}

func TestQuantile(t *testing.T) {
	var l latencies
	for i := range 200 {
		l = append(l, time.Duration(i)*time.Millisecond)
	}
	for q, want := range map[float64]float64{0: 0, 0.5: 0.1, 0.99: 0.198, 1: 0.199} {
		if got := l.quantile(q); got != want {
			t.Errorf("quantile(%g) = %g s, want %g s", q, got, want)
		}
	}
}
