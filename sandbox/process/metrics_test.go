package process

import "testing"

const exposed = `# TYPE syncs histogram
syncs_bucket{result="success",le="1"} 2
syncs_bucket{result="success",le="+Inf"} 3
syncs_sum{result="success"} 4.5
syncs_count{result="success"} 3
# TYPE works gauge
works{member_cluster="a",state="applied"} 7
works{member_cluster="a",state="pending"} 1e+06
# TYPE asks_count counter
asks_count 5
`

func TestValue(t *testing.T) {
	cases := map[string]struct {
		reason, series string
		want           float64
		missing        bool
	}{
		"Labels":       {reason: "the order of labels means nothing", series: `works{state="applied",member_cluster="a"}`, want: 7},
		"Exponent":     {reason: "numbers are written with exponents too", series: `works{member_cluster="a",state="pending"}`, want: 1e6},
		"Count":        {reason: "the count of a histogram is a series", series: `syncs_count{result="success"}`, want: 3},
		"Sum":          {reason: "so is its sum", series: `syncs_sum{result="success"}`, want: 4.5},
		"NamedCount":   {reason: "a counter may have a name that ends like a histogram's", series: "asks_count", want: 5},
		"FewerLabels":  {reason: "a series has all its labels", series: `works{member_cluster="a"}`, missing: true},
		"AnotherValue": {reason: "values are compared", series: `works{member_cluster="b",state="applied"}`, missing: true},
		"NoSeries":     {reason: "nonsense is an error", series: `works{`, missing: true},
	}
	families, err := parse(exposed)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := value(families, tc.series)
			if got != tc.want || (err != nil) != tc.missing {
				t.Errorf("%s: %g, %v", tc.reason, got, err)
			}
		})
	}
}
