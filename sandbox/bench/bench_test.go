package bench

import "testing"

func TestSelected(t *testing.T) {
	cases := map[string]struct {
		reason string
		of     Options
		want   int // sections; 0 means an error
	}{
		"All":     {"Without a choice, everything is measured.", Options{}, len(sections)},
		"Quick":   {"A quick run skips the long sections.", Options{Quick: true}, 3},
		"Named":   {"A long section runs in a quick run if it is named.", Options{Quick: true, Only: []string{"memory", "latency"}}, 2},
		"Unknown": {"A section that does not exist is an error.", Options{Only: []string{"speed"}}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chosen, err := tc.of.selected()
			if len(chosen) != tc.want || (err == nil) != (tc.want > 0) {
				t.Errorf("%s\nselected() = %d sections, %v; want %d", tc.reason, len(chosen), err, tc.want)
			}
		})
	}
}
