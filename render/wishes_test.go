package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

func TestWishesOptions(t *testing.T) {
	cases := map[string]struct {
		reason      string
		annotations map[string]string
		want        Options
		fails       bool
	}{
		"None":           {"Without an annotation there is no wish.", nil, Options{}, false},
		"Suspend":        {"True suspends.", map[string]string{SuspendAnnotation: "true"}, Options{Suspend: true}, false},
		"NotSuspend":     {"False does not: it may replace a namespace's default.", map[string]string{SuspendAnnotation: "false"}, Options{}, false},
		"Preserve":       {"True preserves.", map[string]string{PreserveOnDeletionAnnotation: "true"}, Options{PreserveOnDeletion: true}, false},
		"Overwrite":      {"Overwrite is a wish.", map[string]string{ConflictResolutionAnnotation: "overwrite"}, Options{Overwrite: true}, false},
		"Abort":          {"Abort is the default.", map[string]string{ConflictResolutionAnnotation: "abort"}, Options{}, false},
		"KarmadaOwn":     {"Karmada's own key is smuggled, and ignored.", map[string]string{"work.karmada.io/conflict-resolution": "overwrite"}, Options{}, false},
		"UpperCase":      {"Kubernetes has no such booleans.", map[string]string{SuspendAnnotation: "True"}, Options{}, true},
		"EmptyValue":     {"An empty value is not one either.", map[string]string{PreserveOnDeletionAnnotation: ""}, Options{}, true},
		"Boolean":        {"A value of the other annotations.", map[string]string{ConflictResolutionAnnotation: "true"}, Options{}, true},
		"Space":          {"A space is a mistake that someone should see.", map[string]string{SuspendAnnotation: "true "}, Options{}, true},
		"Huge":           {"The message stays short.", map[string]string{SuspendAnnotation: strings.Repeat("\u2028", 80<<10)}, Options{}, true},
		"NothingOfABad":  {"One bad value spoils the rest.", map[string]string{SuspendAnnotation: "true", ConflictResolutionAnnotation: "x"}, Options{}, true},
		"Preserved":      {"Nor is an object deleted that is to stay.", map[string]string{PreserveOnDeletionAnnotation: "true", ConflictResolutionAnnotation: "x"}, Options{PreserveOnDeletion: true}, true},
		"EverythingAtOn": {"All wishes together.", map[string]string{SuspendAnnotation: "true", PreserveOnDeletionAnnotation: "true", ConflictResolutionAnnotation: "overwrite", ReplicasAnnotation: "retain"}, Options{true, true, true, true}, false},
		"Retain":         {"The members keep their replicas.", map[string]string{ReplicasAnnotation: "retain"}, Options{RetainReplicas: true}, false},
		"SuspendSome":    {"Some clusters are not all.", map[string]string{SuspendAnnotation: "prod-*,!prod-1"}, Options{}, false},
		"SuspendYesCR":   {"White space around it does not make it a cluster.", map[string]string{SuspendAnnotation: "yes\r\n"}, Options{}, true},
		"SuspendYesNBSP": {"Whichever white space.", map[string]string{SuspendAnnotation: "\u00a0true ,"}, Options{}, true},
		"SuspendYes":     {"It would suspend a cluster of that name.", map[string]string{SuspendAnnotation: "yes"}, Options{}, true},
		"SuspendNone":    {"A list names something.", map[string]string{SuspendAnnotation: "!prod-1"}, Options{}, true},
		"ExpandMaybe":    {"It is a boolean.", map[string]string{ExpandAnnotation: "some"}, Options{}, true},
		"RetainNothing":  {"An empty value may be a variable that was not set.", map[string]string{ReplicasAnnotation: ""}, Options{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ReadWishes(tc.annotations).Options()
			if _, wrong := ReadWishes(tc.annotations).Differences(); err == nil && wrong != nil {
				got, err = Options{}, wrong
			}
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nOptions: %v", tc.reason, err)
			}
			if err != nil {
				checkMessage(t, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWishesOver(t *testing.T) {
	type annotations = map[string]string
	cases := map[string]struct {
		reason            string
		object, namespace annotations
		asks, optOut      bool
		matches, not      []string
		options           Options
	}{
		"Nothing":         {"neither asks for anything", nil, nil, false, false, nil, []string{"a"}, Options{}},
		"Default":         {"the Namespace asks for its objects", nil, annotations{ClustersAnnotation: "a"}, true, false, []string{"a"}, []string{"b"}, Options{}},
		"Replaced":        {"an object's own list replaces the Namespace's, and does not add to it", annotations{ClustersAnnotation: "b"}, annotations{ClustersAnnotation: "a"}, true, false, []string{"b"}, []string{"a"}, Options{}},
		"OnlyThisKey":     {"and leaves the selector of the Namespace", annotations{ClustersAnnotation: "b"}, annotations{ClusterSelectorAnnotation: "tier=edge"}, true, false, []string{"b", "edge"}, []string{"a"}, Options{}},
		"OptOut":          {"an empty list inherits none of its targets", annotations{ClustersAnnotation: ""}, annotations{ClustersAnnotation: "a", ClusterSelectorAnnotation: "tier=edge"}, false, false, nil, []string{"a", "edge"}, Options{}},
		"OptOutBut":       {"except for a selector of its own", annotations{ClustersAnnotation: "", ClusterSelectorAnnotation: "tier=edge"}, annotations{ClustersAnnotation: "a"}, true, false, []string{"edge"}, []string{"a"}, Options{}},
		"OptOutOfNothing": {"where there is nothing to opt out of, an empty list may be a mistake", annotations{ClustersAnnotation: " "}, annotations{SuspendAnnotation: "true"}, true, true, nil, []string{"a"}, Options{Suspend: true}},
		"Excluded":        {"exclusions are a part of the list", annotations{ClustersAnnotation: "*,!a"}, annotations{ClustersAnnotation: "a"}, true, false, []string{"b"}, []string{"a"}, Options{}},
		"ExclusionsApply": {"exclusions hold for what a selector chooses, too", annotations{ClustersAnnotation: "!edge", ClusterSelectorAnnotation: "tier=edge"}, nil, true, false, []string{"other-edge"}, []string{"edge", "a"}, Options{}},
		"Fence":           {"the exclusions of the Namespace hold for a list of the object's own", annotations{ClustersAnnotation: "a,b"}, annotations{ClustersAnnotation: "*,!b"}, true, false, []string{"a"}, []string{"b", "c"}, Options{}},
		"FenceOfSelector": {"for a selector of its own", annotations{ClusterSelectorAnnotation: "tier=edge"}, annotations{ClustersAnnotation: "a,!edge"}, true, false, []string{"a", "other-edge"}, []string{"edge"}, Options{}},
		"FenceOfOptOut":   {"and for one that inherits no targets", annotations{ClustersAnnotation: "", ClusterSelectorAnnotation: "tier=edge"}, annotations{ClustersAnnotation: "a,!edge"}, true, false, []string{"other-edge"}, []string{"a", "edge"}, Options{}},
		"NoFence":         {"an empty list of the Namespace excludes nothing", annotations{ClustersAnnotation: "a"}, annotations{ClustersAnnotation: " "}, true, false, []string{"a"}, nil, Options{}},
		"OptionsDefault":  {"options of the Namespace hold for objects that ask by themselves", annotations{ClustersAnnotation: "a"}, annotations{SuspendAnnotation: "true", PreserveOnDeletionAnnotation: "true", ConflictResolutionAnnotation: "overwrite", ReplicasAnnotation: "retain"}, true, false, []string{"a"}, nil, Options{true, true, true, true}},
		"OptionsReplaced": {"each of them by itself", annotations{ClustersAnnotation: "a", SuspendAnnotation: "false"}, annotations{SuspendAnnotation: "true", PreserveOnDeletionAnnotation: "true"}, true, false, []string{"a"}, nil, Options{PreserveOnDeletion: true}},
	}
	labelsOf := func(cluster string) labels.Set {
		if strings.HasSuffix(cluster, "edge") {
			return labels.Set{"tier": "edge"}
		}
		return nil
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wishes := ReadWishes(tc.object).Over(ReadWishes(tc.namespace))
			if wishes.Ask() != tc.asks || wishes.OptOut() != tc.optOut {
				t.Errorf("%s: asks %v, opts out %v", tc.reason, wishes.Ask(), wishes.OptOut())
			}
			options, err := wishes.Options()
			if diff := cmp.Diff(tc.options, options); err != nil || diff != "" {
				t.Errorf("%s: %v; -want +got:\n%s", tc.reason, err, diff)
			}
			terms, err := wishes.Terms()
			if (err != nil) != tc.optOut {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			for _, cluster := range tc.matches {
				if !terms.Matches(cluster, labelsOf(cluster)) {
					t.Errorf("%s: it does not match %q", tc.reason, cluster)
				}
			}
			for _, cluster := range tc.not {
				if terms.Matches(cluster, labelsOf(cluster)) {
					t.Errorf("%s: it matches %q", tc.reason, cluster)
				}
			}
		})
	}
}

func TestSelector(t *testing.T) {
	cases := map[string]struct {
		value        string
		fails        bool
		matches, not labels.Set
	}{
		"Equal":        {"tier=edge", false, labels.Set{"tier": "edge"}, labels.Set{"tier": "core"}},
		"In":           {"tier in (edge, far-edge),!broken", false, labels.Set{"tier": "far-edge"}, labels.Set{"tier": "edge", "broken": ""}},
		"NotEqual":     {"tier!=edge", false, nil, labels.Set{"tier": "edge"}},
		"Exists":       {"example.com/gpu", false, labels.Set{"example.com/gpu": ""}, labels.Set{"gpu": ""}},
		"Empty":        {"", true, nil, nil},
		"Spaces":       {"  ", true, nil, nil},
		"Broken":       {"tier in (edge", true, nil, nil},
		"BadValue":     {"tier=a b", true, nil, nil},
		"ControlChars": {"tier=\n\x00", true, nil, nil},
		"Huge":         {strings.Repeat("a", 300), true, nil, nil},
		"JSON":         {`{"matchLabels":{"a":"b"}}`, true, nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			terms, err := ReadWishes(map[string]string{ClusterSelectorAnnotation: tc.value}).Terms()
			if (err != nil) != tc.fails {
				t.Fatalf("%q: %v", tc.value, err)
			}
			if err != nil {
				checkMessage(t, err)
				return
			}
			if !terms.Matches("any", tc.matches) || terms.Matches("any", tc.not) {
				t.Errorf("%q matches %v: %v, and %v: %v", tc.value, tc.matches, terms.Matches("any", tc.matches), tc.not, terms.Matches("any", tc.not))
			}
			keys := terms.Index()
			if len(keys) != 1 || !KeyMatches(keys[0], "any", tc.matches) || KeyMatches(keys[0], "any", tc.not) {
				t.Errorf("%q is found under %q", tc.value, keys)
			}
		})
	}
}

func TestWishesString(t *testing.T) {
	wishes := ReadWishes(map[string]string{ClustersAnnotation: "a,\x1b[31m", SuspendAnnotation: "false"}).
		Over(ReadWishes(map[string]string{ClustersAnnotation: "b,!c", ClusterSelectorAnnotation: "tier=edge"}))
	const want = `karmada.target/clusters="a,\x1b[31m", karmada.target/cluster-selector="tier=edge" (the Namespace's), karmada.target/suspend="false", karmada.target/clusters="b,!c" (the Namespace's exclusions)`
	if got := wishes.String(); got != want {
		t.Errorf("it is %s", got)
	}
}

// TestWishesCommandToAdd adds clusters and takes none away.
func TestWishesCommandToAdd(t *testing.T) {
	own := func(clusters string) Wishes { return ReadWishes(map[string]string{ClustersAnnotation: clusters}) }
	selecting := ReadWishes(map[string]string{ClusterSelectorAnnotation: "tier=edge"})
	cases := map[string]struct {
		reason string
		wishes Wishes
		want   string
	}{
		"List":         {"its own clusters stay", own("m1,prod-*,"), "karmada.target/clusters='m1,prod-*,m2,m3'"},
		"Excluded":     {"an exclusion wins over a name", own("*,!m3"), ""},
		"OtherMissing": {"other exclusions do not matter", own("m1,!m4"), "karmada.target/clusters='m1,!m4,m2,m3'"},
		"Selector":     {"a selector stays, and names add to it", selecting, "karmada.target/clusters='m2,m3'"},
		"Default":      {"its own list replaces the Namespace's, so it repeats that one", selecting.Over(own("m1")), "karmada.target/clusters='m1,m2,m3'"},
		"Fence":        {"the Namespace's exclusions win as well", own("m1").Over(own("*,!m2")), ""},
		"Broken":       {"an invalid list gets no additions", own("m1,!,"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.wishes.CommandToAdd([]string{"m2", "m3"}); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestWishesBrokenFence(t *testing.T) {
	_, err := ReadWishes(map[string]string{ClustersAnnotation: "a"}).Over(ReadWishes(map[string]string{ClustersAnnotation: "*,!B"})).Terms()
	if !errors.Is(err, ErrInherited) {
		t.Errorf("exclusions that cannot be parsed: %v", err)
	}
}
