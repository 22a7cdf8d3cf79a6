package render

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTerms(t *testing.T) {
	type want struct {
		names   []string
		index   []string
		matches []string
		not     []string
	}
	cases := map[string]struct {
		reason string
		value  string
		want   want
	}{
		"Names": {
			reason: "Names are sorted and deduplicated, whatever the spaces, order and repetition.",
			value:  " b,a , b,\ta,",
			want:   want{names: []string{"a", "b"}, index: []string{"a", "b"}, matches: []string{"a", "b"}, not: []string{"c", "ab", ""}},
		},
		"Digits": {
			reason: "A name may begin with a digit and have one character.",
			value:  "1,2-b",
			want:   want{names: []string{"1", "2-b"}, index: []string{"1", "2-b"}, matches: []string{"1", "2-b"}},
		},
		"LongestName": {
			reason: "Karmada allows 48 characters.",
			value:  strings.Repeat("a", 48),
			want:   want{names: []string{strings.Repeat("a", 48)}, index: []string{strings.Repeat("a", 48)}},
		},
		"Glob": {
			reason: "A glob names no cluster, matches the whole name, and is its own index key.",
			value:  "prod-*,a?",
			want:   want{index: []string{"a?", "prod-*"}, matches: []string{"prod-1", "prod-", "ab"}, not: []string{"my-prod-1", "a", "abc"}},
		},
		"Everything": {
			reason: "A star means every cluster.",
			value:  "*",
			want:   want{index: []string{"*"}, matches: []string{"a", "any-9"}},
		},
		"ExclusionFirst": {
			reason: "An exclusion wins even if it comes first.",
			value:  "!b,*",
			want:   want{index: []string{"*"}, matches: []string{"a"}, not: []string{"b"}},
		},
		"ExclusionOfAName": {
			reason: "A name that is excluded is neither named nor matched.",
			value:  "a,b,!b",
			want:   want{names: []string{"a"}, index: []string{"a"}, matches: []string{"a"}, not: []string{"b"}},
		},
		"ExclusionByGlob": {
			reason: "A glob may exclude a name.",
			value:  "prod-1,test-1,*,!prod-?",
			want:   want{names: []string{"test-1"}, index: []string{"test-1", "*"}, matches: []string{"a", "prod-10"}, not: []string{"prod-1"}},
		},
		"NothingLeft": {
			reason: "Terms that cancel each other are a valid way to name no cluster.",
			value:  "a,!a",
			want:   want{not: []string{"a"}},
		},
		"MaxTerms": {
			reason: "The limit itself is allowed.",
			value:  strings.Repeat("a,", MaxTerms),
			want:   want{names: []string{"a"}, index: []string{"a"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			terms, err := ParseTerms(tc.value)
			if err != nil {
				t.Fatalf("%s\nParseTerms(%q): %v", tc.reason, tc.value, err)
			}
			if diff := cmp.Diff(tc.want.names, terms.Names()); diff != "" {
				t.Errorf("%s\nNames(): -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want.index, terms.Index()); diff != "" {
				t.Errorf("%s\nIndex(): -want +got:\n%s", tc.reason, diff)
			}
			for _, cluster := range tc.want.matches {
				if !terms.Matches(cluster, nil) {
					t.Errorf("%s\nMatches(%q) is false", tc.reason, cluster)
				}
			}
			for _, cluster := range tc.want.not {
				if terms.Matches(cluster, nil) {
					t.Errorf("%s\nMatches(%q) is true", tc.reason, cluster)
				}
			}
		})
	}
}

func TestParseTermsRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  string
	}{
		"Empty":            {"Nothing is named.", ""},
		"Spaces":           {"Nothing is named.", " \t "},
		"Commas":           {"Nothing is named.", ",,,"},
		"CommasAndSpaces":  {"Nothing is named.", " , ,"},
		"Hole":             {"An empty term in the middle is likely an empty variable.", "a,,b"},
		"LeadingComma":     {"So is one at the beginning.", ",a"},
		"TwoTrailing":      {"One trailing comma is fine, two are a hole.", "a,,"},
		"UpperCase":        {"Cluster names are lower case.", "Member1"},
		"Path":             {"A path is not a name.", "../"},
		"Underscore":       {"Not in a DNS label.", "a_b"},
		"Dot":              {"A cluster's name is a label, not a domain.", "a.b"},
		"Unicode":          {"Letters are ASCII.", "münchen"},
		"Emoji":            {"Letters are ASCII.", "🚀"},
		"ControlCharacter": {"A line break would break the message too.", "a\nb"},
		"InnerSpace":       {"A space inside is likely a missing comma.", "a b"},
		"Brackets":         {"Globs have no classes.", "a[bc]"},
		"Backslash":        {"Globs have no escapes.", `a\*`},
		"TrailingDash":     {"A label ends in a letter or digit.", "a-"},
		"GlobTrailingDash": {"No name can match.", "*-"},
		"OnlyExclamation":  {"Nothing is excluded.", "a,!"},
		"DoubleExclusion":  {"Not a name.", "a,!!b"},
		"OnlyExclusions":   {"They exclude something from nothing.", "!a,!b-*"},
		"TooLong":          {"Karmada allows 48 characters.", strings.Repeat("a", 49)},
		"LongGlob":         {"A glob may not be longer either.", strings.Repeat("a", 48) + "*"},
		"TooMany":          {"A list of ten thousand is a mistake.", strings.Repeat("a,", 10000)},
		"Huge":             {"The largest annotation that the API server accepts.", strings.Repeat("A", 250<<10)},
		"HugeUnicode":      {"Escapes are longer than what they stand for.", strings.Repeat("\u2028", 80<<10)},
		"InvalidUTF8":      {"Bytes that are not text.", "a\xff\xfe"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			terms, err := ParseTerms(tc.value)
			if err == nil {
				t.Fatalf("%s\nParseTerms accepts it", tc.reason)
			}
			checkMessage(t, err)
			if !terms.Equal(Terms{}) {
				t.Errorf("%s\nParseTerms returns terms with an error", tc.reason)
			}
		})
	}
}

// checkMessage wants an error that fits an Event: one bounded line of ASCII.
func checkMessage(t *testing.T, err error) {
	t.Helper()
	message := err.Error()
	if len(message) > 300 {
		t.Errorf("the message has %d bytes: %.300s", len(message), message)
	}
	for _, r := range message {
		if r < ' ' || r > '~' {
			t.Errorf("the message contains %q: %s", r, message)
			return
		}
	}
}

// TestTooManyTerms: what all annotations of an object have together is bounded, since each of them costs
// something whenever the object is judged.
func TestTooManyTerms(t *testing.T) {
	list := func(n int, format string) string {
		var terms []string
		for i := range n {
			terms = append(terms, fmt.Sprintf(format, i))
		}
		return strings.Join(terms, ",")
	}
	cases := map[string]struct {
		reason      string
		annotations map[string]string
		want        string // in the error
	}{
		"Names":             {"three clusters in four, for each purpose", map[string]string{ClustersAnnotation: list(700, "m%d"), ReplicasAnnotation: list(700, "m%d=2"), WavesAnnotation: list(600, "m%d") + ";*"}, ""},
		"Globs":             {"as many as there may be", map[string]string{ClustersAnnotation: list(64, "m%d-*"), WavesAnnotation: strings.ReplaceAll(list(64, "m%d-*"), ",", ";")}, ""},
		"TooManyGlobs":      {"in one list", map[string]string{ClustersAnnotation: list(129, "m%d-*")}, ClustersAnnotation + ": it has more than 128 globs"},
		"TooManyExclusions": {"they are compared as well", map[string]string{ClustersAnnotation: "*," + list(128, "!m%d-*")}, ClustersAnnotation + ": it has more than 128 globs"},
		"InTwoLists":        {"of two annotations", map[string]string{ClustersAnnotation: list(100, "m%d-*"), SuspendAnnotation: list(29, "m%d-*")}, SuspendAnnotation + ": with the other annotations it has 129 globs, more than 128"},
		"Weights":           {"they are globs, too", map[string]string{ClustersAnnotation: "*", ReplicasAnnotation: list(128, "m%d-*=2")}, ReplicasAnnotation + ": with the other annotations it has 129 globs"},
		"Waves":             {"of all waves", map[string]string{ClustersAnnotation: "*", WavesAnnotation: list(100, "m%d-*") + ";" + list(100, "n%d-*")}, WavesAnnotation + ": with the other annotations it has 201 globs"},
		"TooManyNames":      {"reading them takes time as well", map[string]string{ClustersAnnotation: list(1024, "m%d"), SuspendAnnotation: list(1024, "m%d"), WavesAnnotation: "m1"}, WavesAnnotation + ": with the other annotations it has 2049 terms, more than 2048"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := ReadWishes(c.annotations).Check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("%s: %v", c.reason, err)
			}
		})
	}
}

// FuzzMatchesGlob: it is path.Match.
func FuzzMatchesGlob(f *testing.F) {
	for _, glob := range []string{"", "*", "?", "a*", "*a", "*a*b*c", "a?c", "*?", "?*?", "a**b", "*ab*ab"} {
		f.Add(glob, "aabababc")
	}
	for _, name := range []string{"", "a", "abab", "aab", "abc"} {
		f.Add("*ab", name)
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		if glob != "" && !isLabel(glob) || name != "" && !isLabel(name) {
			return // no term is like that
		}
		if want, err := path.Match(glob, name); matchesGlob(glob, name) != want || err != nil {
			t.Errorf("%q matches %q: %v, %v", glob, name, !want, err)
		}
	})
}

func TestTermsEqual(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   string
		want   bool
	}{
		"Spelling": {"Order and repetition do not matter.", "a,b,!c,d*", "d*,!c,!c,b,a,", true},
		"Name":     {"Another name is another target.", "a,b", "a,c", false},
		"Glob":     {"So is another glob.", "a*", "b*", false},
		"Excluded": {"So is a missing exclusion.", "*,!a", "*", false},
		"NotGlob":  {"Or another exclusion.", "*,!a*", "*,!b*", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, errA := ParseTerms(tc.a)
			b, errB := ParseTerms(tc.b)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if got := a.Equal(b); got != tc.want {
				t.Errorf("%s\nEqual is %v", tc.reason, got)
			}
		})
	}
}

func FuzzParseTerms(f *testing.F) {
	for _, seed := range []string{"", "a", "a,!a", "*,!b-?", "a,,b", " a ,b,", "A", "../", "!", "\xff", "a[b]"} {
		f.Add(seed, "member1")
	}
	f.Fuzz(func(t *testing.T, value, cluster string) {
		terms, err := ParseTerms(value)
		if err != nil {
			checkMessage(t, err)
			return
		}
		for _, name := range terms.Names() {
			if !terms.Matches(name, nil) || len(name) > maxClusterName {
				t.Errorf("%q names %q", value, name)
			}
		}
		if terms.Matches(cluster, nil) && !terms.IsOpen() && !contains(terms.Names(), cluster) {
			t.Errorf("%q matches %q, which no term names", value, cluster)
		}
		if again, err := ParseTerms("!" + quietName + "," + value); err != nil || again.Matches(quietName, nil) {
			if len(strings.Split(value, ",")) < MaxTerms {
				t.Errorf("%q behind an exclusion: %v", value, err)
			}
		}
	})
}

const quietName = "excluded"
