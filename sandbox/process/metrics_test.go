package process

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSeries(t *testing.T) {
	got, err := ParseSeries(`# TYPE syncs histogram
syncs_bucket{result="success",le="1"} 2
syncs_bucket{result="success",le="+Inf"} 3
syncs_sum{result="success"} 4.5
syncs_count{result="success"} 3
# TYPE works gauge
works{state="applied",member_cluster="a"} 7
works{member_cluster="a",state="pending"} 1e+06
# TYPE asks_count counter
asks_count 5
untyped{path="a\"b"} 1
`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		`syncs_bucket{le="1",result="success"}`:     2,
		`syncs_bucket{le="+Inf",result="success"}`:  3,
		`syncs_sum{result="success"}`:               4.5,
		`syncs_count{result="success"}`:             3,
		`works{member_cluster="a",state="applied"}`: 7,
		`works{member_cluster="a",state="pending"}`: 1e6,
		"asks_count":           5,
		`untyped{path="a\"b"}`: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := ParseSeries("works{ 1\n"); err == nil {
		t.Error("nonsense is accepted")
	}
}
