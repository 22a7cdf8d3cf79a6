package render

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// UIDs by the last bit of their FNV-1a hashes, which are 0xe40c292c and 0xe70c2de5.
const (
	ascendingUID  types.UID = "a"
	descendingUID types.UID = "b"
)

func TestDivide(t *testing.T) {
	type shares = map[string]int64
	cases := map[string]struct {
		reason  string
		total   int64
		weights shares
		uid     types.UID
		want    shares
	}{
		"Equal":           {"Each gets the same.", 9, shares{"a": 1, "b": 1, "c": 1}, ascendingUID, shares{"a": 3, "b": 3, "c": 3}},
		"Weighted":        {"Karmada's own example (pkg/scheduler/core/assignment.go, v1.18.2).", 9, shares{"a": 1, "b": 2}, ascendingUID, shares{"a": 3, "b": 6}},
		"Approximate":     {"Its other one.", 9, shares{"a": 1, "b": 3}, ascendingUID, shares{"a": 2, "b": 7}},
		"Textbook":        {"The example by which the method of Sainte-Laguë, which is the same, is usually explained.", 7, shares{"a": 53, "b": 24, "c": 23}, ascendingUID, shares{"a": 3, "b": 2, "c": 2}},
		"Zero":            {"Nothing to divide.", 0, shares{"a": 1, "b": 1}, ascendingUID, shares{"a": 0, "b": 0}},
		"Negative":        {"No API server accepts it.", -5, shares{"a": 1, "b": 1}, ascendingUID, shares{"a": 0, "b": 0}},
		"NoClusters":      {"No target is left.", 5, shares{}, ascendingUID, shares{}},
		"NilWeights":      {"No target is left.", 5, nil, ascendingUID, shares{}},
		"WeightZero":      {"A cluster with the weight 0 is in the result, with nothing.", 5, shares{"a": 1, "b": 0}, ascendingUID, shares{"a": 5, "b": 0}},
		"AllZero":         {"No cluster may have replicas.", 5, shares{"a": 0, "b": 0}, ascendingUID, shares{"a": 0, "b": 0}},
		"NegativeWeight":  {"No annotation has it: it counts as 0.", 5, shares{"a": 1, "b": -9}, ascendingUID, shares{"a": 5, "b": 0}},
		"OneForTwo":       {"The first by name wins the tie.", 1, shares{"a": 1, "b": 1}, ascendingUID, shares{"a": 1, "b": 0}},
		"OneForTwoOddUID": {"The last by name wins the tie of another source.", 1, shares{"a": 1, "b": 1}, descendingUID, shares{"a": 0, "b": 1}},
		"OneWithoutUID":   {"Without a UID, the first by name wins, although the hash of nothing is odd.", 1, shares{"a": 1, "b": 1}, "", shares{"a": 1, "b": 0}},
		"FiveForThree":    {"The ties of the second round are broken alike.", 5, shares{"a": 1, "b": 1, "c": 1}, descendingUID, shares{"a": 1, "b": 2, "c": 2}},
		"SmallerShare":    {"3/3 and 1/1 are equal: the one with the smaller share wins, whatever its name.", 2, shares{"a": 3, "b": 1}, ascendingUID, shares{"a": 1, "b": 1}},
		"SmallerShareOdd": {"And whatever the UID.", 2, shares{"z": 3, "b": 1}, descendingUID, shares{"z": 1, "b": 1}},
		"BelowHalf":       {"A quotient below a half gets nothing while others have more.", 10, shares{"a": 100, "b": 1}, ascendingUID, shares{"a": 10, "b": 0}},
		"AboveQuota":      {"Webster may give more than the share rounded up: 6*90/99 is 5.5, and 6 is more.", 6, shares{"a": 90, "b": 3, "c": 3, "d": 3}, ascendingUID, shares{"a": 6, "b": 0, "c": 0, "d": 0}},
		"BelowQuota":      {"And less than the share rounded down: 100*9700/10000 is 97.", 100, shares{"a": 9700, "b": 60, "c": 60, "d": 60, "e": 60, "f": 60}, ascendingUID, shares{"a": 95, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}},
		"MostReplicas":    {"Karmada's int32 overflows here.", math.MaxInt32, shares{"a": 1, "b": 2}, ascendingUID, shares{"a": 715827882, "b": 1431655765}},
		"AnyNumbers":      {"Nothing overflows.", math.MaxInt64, shares{"a": math.MaxInt64, "b": math.MaxInt64}, ascendingUID, shares{"a": math.MaxInt64/2 + 1, "b": math.MaxInt64 / 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Divide(tc.total, tc.weights, TiesOf(tc.uid))); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDivideByDefinition compares with the method as it is defined: replica by replica, each to
// the highest quotient.
func TestDivideByDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for range 3000 {
		weights := map[string]int64{}
		top := []int64{2, 4, 1000, MaxWeight}[random.IntN(4)]
		for i := range 1 + random.IntN(12) {
			weights[fmt.Sprint("m", i)] = random.Int64N(top)
		}
		total := random.Int64N([]int64{4, 30, 300}[random.IntN(3)])
		uid := types.UID(fmt.Sprint(random.Int()))
		if diff := cmp.Diff(divideOneByOne(total, weights, bool(TiesOf(uid))), Divide(total, weights, TiesOf(uid))); diff != "" {
			t.Fatalf("%d over %v by %q: -want +got:\n%s", total, weights, uid, diff)
		}
	}
}

func divideOneByOne(total int64, weights map[string]int64, isDescending bool) map[string]int64 {
	shares := map[string]int64{}
	for cluster := range weights {
		shares[cluster] = 0
	}
	for range total {
		next := ""
		for cluster, weight := range weights {
			if weight == 0 {
				continue
			}
			left, right := weight*(2*shares[next]+1), weights[next]*(2*shares[cluster]+1)
			switch {
			case next == "" || left > right:
				next = cluster
			case left == right && shares[cluster] != shares[next]:
				if shares[cluster] < shares[next] {
					next = cluster
				}
			case left == right && cluster < next != isDescending:
				next = cluster
			}
		}
		if next != "" {
			shares[next]++
		}
	}
	return shares
}

func FuzzDivide(f *testing.F) {
	f.Add(int64(5), int64(1), int64(1), int64(0), "u")
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(3), int64(-1), "")
	f.Fuzz(func(t *testing.T, total, a, b, c int64, uid string) {
		weights := map[string]int64{"a": a, "b": b, "c": c}
		sum := int64(0)
		for cluster, share := range Divide(total, weights, TiesOf(types.UID(uid))) {
			if share < 0 || share > 0 && weights[cluster] <= 0 {
				t.Errorf("%d over %v gives %d to %s", total, weights, share, cluster)
			}
			sum += share
		}
		want := max(total, 0)
		if a <= 0 && b <= 0 && c <= 0 {
			want = 0
		}
		if sum != want {
			t.Errorf("the shares of %d over %v add up to %d", total, weights, sum)
		}
	})
}

func BenchmarkDivide(b *testing.B) {
	for _, size := range []struct {
		clusters int
		total    int64
	}{{3, 10}, {100, 1000}, {1000, 2_000_000_000}} {
		b.Run(fmt.Sprintf("%dx%d", size.clusters, size.total), func(b *testing.B) {
			b.ReportAllocs()
			weights := map[string]int64{}
			for i := range size.clusters {
				weights[fmt.Sprint("member", i)] = int64(1 + i%7)
			}
			for b.Loop() {
				Divide(size.total, weights, false)
			}
		})
	}
}

// BenchmarkWeightOf measures the longest list that ParseDivision accepts.
func BenchmarkWeightOf(b *testing.B) {
	names, _, err := ParseDivision(numberedTerms(MaxTerms))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		names.WeightOf("m500")
	}
}
