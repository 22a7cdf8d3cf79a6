package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDivision(t *testing.T) {
	type want struct {
		divides, retains bool
		weights          map[string]int64
	}
	cases := map[string]struct {
		reason string
		value  string
		want   want
	}{
		"Retain": {
			reason: "Each member keeps its number: nothing is divided.",
			value:  "retain",
			want:   want{retains: true},
		},
		"Divide": {
			reason: "Without weights, all are equal.",
			value:  "divide",
			want:   want{divides: true, weights: map[string]int64{"member1": 1, "": 1}},
		},
		"Spaces": {
			reason: "A value from a template often has a line break at its end.",
			value:  " divide\n",
			want:   want{divides: true, weights: map[string]int64{"member1": 1}},
		},
		"RetainWithSpaces": {
			reason: "So has this one.",
			value:  "retain ",
			want:   want{retains: true},
		},
		"Weights": {
			reason: "Names and globs have weights, and all other clusters have 1.",
			value:  "member1=2,prod-*=30,edge-?=4",
			want:   want{divides: true, weights: map[string]int64{"member1": 2, "prod-eu": 30, "edge-1": 4, "edge-10": 1, "member2": 1}},
		},
		"Loose": {
			reason: "Spaces and a trailing comma are fine, as in a list of clusters.",
			value:  " a = 2 ,\n\tb=3 , ",
			want:   want{divides: true, weights: map[string]int64{"a": 2, "b": 3, "c": 1}},
		},
		"HighestOfGlobs": {
			reason: "Several terms may match: the highest weight wins, wherever it is.",
			value:  "*=3,prod-*=7,prod-eu-*=5",
			want:   want{divides: true, weights: map[string]int64{"dev": 3, "prod-1": 7, "prod-eu-1": 7}},
		},
		"GlobBeatsName": {
			reason: "A name is not more than a glob: the highest weight wins.",
			value:  "prod-1=2,prod-2=9,prod-*=5",
			want:   want{divides: true, weights: map[string]int64{"prod-1": 5, "prod-2": 9, "prod-3": 5}},
		},
		"Zero": {
			reason: "The weight 0 is a weight, not a cluster that no term matches.",
			value:  "a=0,b-*=0",
			want:   want{divides: true, weights: map[string]int64{"a": 0, "b-1": 0, "c": 1}},
		},
		"AllButOne": {
			reason: "All clusters but one get none.",
			value:  "*=0,a=1",
			want:   want{divides: true, weights: map[string]int64{"a": 1, "b": 0}},
		},
		"LeadingZeros": {
			reason: "They do not make a number octal.",
			value:  "a=010",
			want:   want{divides: true, weights: map[string]int64{"a": 10}},
		},
		"MaxWeight": {
			reason: "The limit itself is allowed.",
			value:  fmt.Sprint("a=", MaxWeight),
			want:   want{divides: true, weights: map[string]int64{"a": MaxWeight}},
		},
		"Keyword": {
			reason: "A cluster may have the name of a keyword.",
			value:  "retain=2,divide=3",
			want:   want{divides: true, weights: map[string]int64{"retain": 2, "divide": 3}},
		},
		"MaxTerms": {
			reason: "The limit itself is allowed.",
			value:  numberedTerms(MaxTerms),
			want:   want{divides: true, weights: map[string]int64{"m0": 0, "m1023": 1023, "m1024": 1}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, retains, err := ParseDivision(tc.value)
			if err != nil {
				t.Fatalf("%s\nParseDivision(%q): %v", tc.reason, tc.value, err)
			}
			got := want{divides: d.Divides(), retains: retains}
			for cluster := range tc.want.weights {
				if got.weights == nil {
					got.weights = map[string]int64{}
				}
				got.weights[cluster] = d.WeightOf(cluster)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// numberedTerms returns a list of n names, each with its number as weight.
func numberedTerms(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "m%d=%d,", i, i)
	}
	return list.String()
}

func TestParseDivisionRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  string
		says   string
	}{
		"Empty":          {"An empty variable in a template asks for nothing.", "", `write "divide"`},
		"OnlySpaces":     {"So does one with spaces.", " \n", `write "divide"`},
		"Comma":          {"No term is left.", ",", "term 1: it is empty"},
		"UpperCase":      {"Values are lower case.", "Divide", `"Divide" is neither`},
		"OldWord":        {"Another word.", "keep", `"keep" is neither`},
		"NoWeight":       {"A name alone, as in a list of clusters.", "a=1,member1", `term 2: "member1" has no weight`},
		"WordInList":     {"A keyword stands alone.", "divide,a=2", `term 1: "divide" has no weight`},
		"NoName":         {"A weight alone.", "a=1,=2", `term 2: "=2" names no cluster`},
		"Hole":           {"An empty term is likely an empty variable.", "a=1,,b=1", "term 2: it is empty"},
		"TwoTrailing":    {"One trailing comma is fine, two are a hole.", "a=1,,", "term 2: it is empty"},
		"Exclusion":      {"Here, 0 takes the place of exclusions.", "*=1,!a=1", "write member1=0"},
		"ExclusionAlone": {"The same without a weight.", "*=1,!a", "write member1=0"},
		"Negative":       {"A weight is not negative.", "a=-1", "is not a whole number from 0 to 1000000"},
		"Sign":           {"A weight has no sign.", "a=+1", "is not a whole number"},
		"Fraction":       {"A weight is whole.", "a=1.5", "is not a whole number"},
		"Hexadecimal":    {"A weight is decimal.", "a=0x10", "is not a whole number"},
		"Underscores":    {"A weight has no groups of digits.", "a=1_000", "is not a whole number"},
		"Percent":        {"A weight is not a share.", "a=50%", "is not a whole number"},
		"TwoSigns":       {"A term has one weight.", "a=1=2", "is not a whole number"},
		"MissingComma":   {"Two terms need a comma.", "a=1 b=2", "is not a whole number"},
		"NoNumber":       {"A term has a weight.", "a=", "is not a whole number"},
		"Digits":         {"Digits are ASCII.", "a=٣", "is not a whole number"},
		"TooHeavy":       {"Above the limit.", "a=1000001", "is not a whole number"},
		"FarTooHeavy":    {"Above what an int64 can hold.", "a=99999999999999999999", "is not a whole number"},
		"Twice":          {"Which of them counts?", "a=1,b=2,a=3", `"a" has two weights`},
		"TwiceTheSame":   {"One of them is likely a typo.", "a*=1,b=2,a*=1", `"a*" has two weights`},
		"BadName":        {"Cluster names are lower case.", "Member1=1", "is not a valid cluster name"},
		"BadGlob":        {"Globs have no classes.", "a[bc]=1", "is not a valid cluster name"},
		"LongName":       {"Karmada allows 48 characters.", strings.Repeat("a", 49) + "=1", "is longer than"},
		"Selector":       {"The operator of a label selector.", "tier==edge", "is not a whole number"},
		"TooMany":        {"A list of ten thousand is a mistake.", numberedTerms(10000), "use a glob"},
		"Huge":           {"The largest annotation that the API server accepts.", strings.Repeat("A", 250<<10), "is neither"},
		"HugeTerm":       {"The same as a term.", strings.Repeat("A", 250<<10) + "=1", "is longer than"},
		"HugeWeight":     {"The same as a weight.", "a=" + strings.Repeat("1", 250<<10), "is not a whole number"},
		"InvalidUTF8":    {"Bytes that are not text.", "a\xff=\xfe", "is not a valid cluster name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, retains, err := ParseDivision(tc.value)
			if err == nil {
				t.Fatalf("%s\nParseDivision accepts it", tc.reason)
			}
			checkMessage(t, err)
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s\nthe message does not say %s: %v", tc.reason, tc.says, err)
			}
			if d.Divides() || retains || d.WeightOf("a") != 1 {
				t.Errorf("%s\nParseDivision returns something with an error", tc.reason)
			}
		})
	}
}

func FuzzParseDivision(f *testing.F) {
	for _, seed := range []string{"", "divide", "retain", "a=1", "a=1,b-*=0,", "*=5,a?=7", "a=1,,b=2", "!a=1", "a==1", "=", "\xff=1", "a=1000001"} {
		f.Add(seed, "a1")
	}
	f.Fuzz(func(t *testing.T, value, cluster string) {
		d, retains, err := ParseDivision(value)
		if err != nil {
			checkMessage(t, err)
		}
		if d.Divides() == (retains || err != nil) {
			t.Errorf("%q divides: %v, retains: %v, and the error is %v", value, d.Divides(), retains, err)
		}
		weight := d.WeightOf(cluster)
		if weight < 0 || weight > MaxWeight {
			t.Errorf("%q gives %q the weight %d", value, cluster, weight)
		}
		if !d.Divides() || strings.TrimSpace(value) == divide {
			return
		}
		heavier, _, err := ParseDivision(fmt.Sprintf("%s=%d,%s", quietName, MaxWeight, value))
		if err != nil {
			if !strings.Contains(value, quietName) && strings.Count(value, ",")+1 < MaxTerms {
				t.Errorf("%q behind another term: %v", value, err)
			}
			return
		}
		if got := heavier.WeightOf(cluster); cluster != quietName && got != weight {
			t.Errorf("%q gives %q the weight %d, and %d behind a term that does not match", value, cluster, weight, got)
		}
	})
}
