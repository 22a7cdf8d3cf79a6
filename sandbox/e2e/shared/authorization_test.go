package shared

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// enforce binds the admission policies of the manifests to a namespace until the test
// ends: elsewhere, other tests write what the policies would refuse.
func enforce(t *testing.T, ns string) {
	t.Helper()
	Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) { u.SetLabels(enforced(t)) })
	for _, policy := range AdmissionPolicies {
		bindPolicy(t, policy, enforced(t)["enforce"])
	}
	for _, mistake := range []annotations{{render.PreserveOnDeletionAnnotation: "perhaps"}, {"karmada.target/nothing": ""}} {
		Eventually(t, "the policies to be in force", func(ctx context.Context) error {
			if err := dryRun(ctx, Env.Admin, ns, mistake); err == nil {
				return fmt.Errorf("nothing is refused yet")
			}
			return nil
		})
	}
}

// bindPolicy binds an admission policy to the Namespaces with a value of the label enforce.
func bindPolicy(t *testing.T, policy, label string) {
	t.Helper()
	name := "enforce-" + policy + "-" + Home(t)
	binding := fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %s}
spec:
  policyName: %s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {enforce: %s}}}
`, name, policy, label)
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(binding)))
	t.Cleanup(func() {
		_ = Env.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// enforced are the labels of the Namespaces that the policies are bound to.
func enforced(t *testing.T) map[string]string { return map[string]string{"enforce": Home(t)} }

// newGuarded makes a Namespace that the policies are bound to.
func newGuarded(t *testing.T, a annotations) (name string) {
	t.Helper()
	name = Home(t) + "-" + utilrand.String(5)
	makeGuarded(t, name, enforced(t), a)
	return name
}

// makeGuarded makes a Namespace with a given name and labels. It has its annotations from
// the start, so that the API server cannot have cached it without.
func makeGuarded(t *testing.T, name string, labels map[string]string, a annotations) {
	t.Helper()
	u := Object("v1", "Namespace", "", name, nil)
	u.SetLabels(labels)
	u.SetAnnotations(a)
	Create(t, Namespaces, u)
	t.Cleanup(func() { _ = Env.Admin.Resource(Namespaces).Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

type annotations = map[string]string

// dryRun creates a ConfigMap with annotations as a dry run.
func dryRun(ctx context.Context, as dynamic.Interface, namespace string, a annotations) error {
	u := Plain(namespace, "", "one")
	u.SetGenerateName("page-")
	u.SetAnnotations(a)
	_, err := as.Resource(ConfigMaps).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// TestPolicyParses checks that the API server's policies parse values as the daemon does.
func TestPolicyParses(t *testing.T) {
	ns := Isolate(t)
	enforce(t, ns)
	clusters, selector := render.ClustersAnnotation, render.ClusterSelectorAnnotation
	good := []annotations{
		{clusters: "member1"}, {clusters: "member1,member2"}, {clusters: " member1 ,\tmember2 ,"}, {clusters: "1"}, {clusters: "a-b-c"},
		{clusters: "*"}, {clusters: "prod-*"}, {clusters: "prod-?"}, {clusters: "*-eu,!prod-eu"}, {clusters: "!b,*"}, {clusters: "a,!a"}, {clusters: "*,!b*"},
		{clusters: strings.Repeat("a", 48)}, {clusters: strings.Repeat("a,", 1024)}, {clusters: strings.Repeat("a,", 1023) + "a\u00a0"},
		{clusters: "a,\u00a0b\u2003,\v"}, {clusters: "\u0085a\u3000,\u00a0!b\u2029,"},
		{selector: "tier=edge"}, {selector: "tier==edge"}, {selector: "tier!=edge"}, {selector: "tier"}, {selector: "!tier"}, {selector: "tier in (edge)"},
		{selector: "tier in (edge, core),region notin (eu),!drained"}, {selector: "example.com/tier=edge"}, {selector: "generation>3"}, {selector: "generation < 3"},
		{selector: "a=b,c=d"}, {selector: " a = b , c "}, {selector: "tier="}, {selector: "tier in (,a)"},
		{selector: "a.b-c.d/tier=edge"}, {selector: strings.Repeat("a.", 126) + "a/tier"}, {selector: "generation>123456789012345678"}, {selector: "in in (in),notin"},
		{clusters: "!a", selector: "tier=edge"}, {clusters: "b,!a", selector: "tier=edge"},
		{clusters: "a", render.SuspendAnnotation: "true"}, {clusters: "a", render.SuspendAnnotation: "false"}, {render.PreserveOnDeletionAnnotation: "true"},
		{clusters: "a", render.ConflictResolutionAnnotation: "abort"}, {clusters: "a", render.ConflictResolutionAnnotation: "overwrite"},
	}
	bad := []annotations{
		{clusters: ","}, {clusters: " , "}, {clusters: "a,,b"}, {clusters: ",a"}, {clusters: "a,,"}, {clusters: "a, ,b"}, {clusters: "Member1"}, {clusters: "a_b"},
		{clusters: "a.b"}, {clusters: "a b"}, {clusters: "a\nb"}, {clusters: "münchen"}, {clusters: "🚀"}, {clusters: "../"}, {clusters: "a[bc]"}, {clusters: `a\*`},
		{clusters: "-a"}, {clusters: "a-"}, {clusters: "!"}, {clusters: "!!a"}, {clusters: "a!"}, {clusters: "!a"}, {clusters: "!a,!b"}, {clusters: "a;b"}, {clusters: "a,!"},
		{clusters: strings.Repeat("a", 49)}, {clusters: `["a"]`}, {clusters: "a/b"}, {clusters: strings.Repeat("a,", 1025)}, {clusters: strings.Repeat("a,", 1024) + "a"},
		{clusters: "a,\u00a0,b"}, {clusters: "a,\u2003,"}, {clusters: "\v,a"}, {clusters: "a,\u0085\u3000,b"}, {clusters: "a\u00a0b"}, {clusters: "a\u200b"}, {clusters: "a,\ufeff,b"},
		{selector: ""}, {selector: "  "}, {selector: "tier in edge"}, {selector: "tier in (edge"}, {selector: "tier=a b"}, {selector: "=edge"}, {selector: "tier=,="},
		{selector: "a=b,"}, {selector: ",a=b"}, {selector: "tier in ()x"}, {selector: "tier=-a"}, {selector: "-tier"}, {selector: `{"matchLabels":{"a":"b"}}`}, {selector: "a > b"}, {selector: "!a=b"},
		{selector: "a\u00a0=b"}, {selector: "a..b/tier"}, {selector: "a-.b/tier=edge"}, {selector: "a.-b/tier"}, {selector: strings.Repeat("a.", 126) + "aa/tier"}, {selector: "generation>99999999999999999999"},
		{clusters: "a", render.SuspendAnnotation: "True"}, {clusters: "a", render.SuspendAnnotation: ""}, {render.PreserveOnDeletionAnnotation: "yes"}, {render.PreserveOnDeletionAnnotation: "true\u00a0"},
		{clusters: "a", render.ConflictResolutionAnnotation: "Overwrite"}, {clusters: "a", render.ConflictResolutionAnnotation: "\u2003abort"},
	}
	check := func(a annotations, isGood bool) {
		if err := render.ReadWishes(a).Check(); (err == nil) != isGood {
			t.Errorf("%q: the daemon says %v", a, err)
		}
		err := dryRun(t.Context(), Env.Admin, ns, a)
		if (err == nil) != isGood {
			t.Errorf("%q: the API server says %v", a, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "karmada.target/") || strings.Contains(err.Error(), "expression")) {
			t.Errorf("%q is refused without saying why: %v", a, err)
		}
	}
	for _, a := range good {
		check(a, true)
	}
	for _, a := range bad {
		check(a, false)
	}
	t.Logf("%d good and %d bad values", len(good), len(bad))
	for _, commas := range []int{200_000, 20_000} {
		if err := dryRun(t.Context(), Env.Admin, ns, annotations{clusters: strings.Repeat(",", commas)}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "longer than 16 KiB") {
			t.Errorf("%d commas: %v", commas, err)
		}
	}
	if err := dryRun(t.Context(), Env.Admin, ns, annotations{clusters: ""}); err != nil {
		t.Errorf("an object cannot opt out: %v", err)
	}
	parsesPerCluster(t, ns)
}

// parsesPerCluster checks that the API server and the daemon parse the values of options that
// differ by cluster: some against what they should be, and random ones against another parser.
func parsesPerCluster(t *testing.T, ns string) {
	t.Helper()
	clusters, selector, suspend, replicas := render.ClustersAnnotation, render.ClusterSelectorAnnotation, render.SuspendAnnotation, render.ReplicasAnnotation
	waves, bake, deadline := render.WavesAnnotation, render.WaveBakeAnnotation, render.WaveDeadlineAnnotation
	check := func(key, value string, isGood bool, hint string) {
		if err := render.ReadWishes(annotations{key: value}).Check(); (err == nil) != isGood {
			t.Errorf("%s %q: the daemon says %v", key, value, err)
		}
		err := dryRun(t.Context(), Env.Admin, ns, annotations{key: value})
		if (err == nil) != isGood {
			t.Errorf("%s %q: the API server says %v", key, value, err)
		}
		saysWhy := key + " must be"
		if key == clusters || key == selector {
			saysWhy = key + ": "
		}
		if err != nil && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), saysWhy) || !strings.Contains(err.Error(), hint)) {
			t.Errorf("%s %q is refused without saying what is allowed: %v", key, value, err)
		}
	}
	for _, c := range []struct {
		key, hint string
		good, bad []string
	}{
		{
			key: suspend, hint: "prod-*,!prod-1",
			good: []string{"true", "false", "a", "*", "true,a", "!on,*", "ye?", "prod-*", "prod-*,!prod-1", "!prod-1,prod-*", " a ,\tb ,", "a\n", strings.Repeat("a", 48), strings.Repeat("a,", 1024), strings.Repeat("a,", 1023) + "a",
				"a,\u00a0b\u2003,", "\va\u0085", "\u3000!a ,\u2029*"},
			bad: []string{"", " ", ",", "!a", "!a,!b", "True", "a,,b", ",a", "a,,", "a b", "a_b", "-a", "a-", "!", "!!a", "a=1", "a;b", "münchen", "yes", "no ", "on", "1", " true", "false,", "true\n", `["a"]`,
				strings.Repeat("a", 49), "a," + strings.Repeat("b", 49), strings.Repeat("a,", 1025), strings.Repeat("a,", 1024) + "a", strings.Repeat("a,", 9000),
				"a,\u00a0,b", "\u2003", "\v,a", "a,\u0085,", "a\u00a0b", "true\u00a0", "\u2003no,", "\u00a0!a", "a\u200b"},
		},
		{
			key: replicas, hint: "member1=2,prod-*=1",
			good: []string{"retain", "divide", "a=1", "a=0", "*=1000000", "member1=2,prod-*=1", " a = 1 ,\tb=2 ,", "a=1\n", "2=2", "a=2,b=2", "a=007", "divide=1", " divide", "retain\n", strings.Repeat("a", 48) + "=1", manyWeights(256), manyWeights(255) + "a=1",
				"a\u00a0=\u20031\u3000,\vb=2\u0085,", "\u00a0divide\u2003"},
			bad: []string{"", "true", "Retain", "divide,retain", "a", "a=", "=1", "a=-1", "a=+1", "a=1.5", "a=1000001", "a=9999999", "a=99999999999999999999", "a=one", "a=1,,b=1", ",a=1", "a=1,,",
				"!a=1", "a=1,!b=1", "a=1;b=2", "a=1=2", "a:1", "A=1", "a=1,a=2", "a=1, a = 1 ,", "p-*=1,b=2,p-*=3", strings.Repeat("a", 49) + "=1", manyWeights(255) + "c0=1", manyWeights(300) + "c0=1", manyWeights(257) + "c256 = 2", manyWeights(1025), manyWeights(3000),
				"a=1,\u00a0,b=1", "\u2003", "\v,a=1", "a=1,\u0085,", "a=1\u00a02", "a\u00a0b=1", "a=1,a\u00a0=2", "a=\u200b1"},
		},
		{key: render.DeletionAnnotation, hint: `"background" or "foreground"`, good: []string{"background", "foreground"}, bad: []string{"", "Foreground", "true", "orphan", "foreground,", "foreground\u00a0"}},
		{
			key: waves, hint: "canary-*; prod-*(20%); *",
			good: []string{"a", "*", "a;b;*", "a;b; ", " canary-* ;\tprod-eu-*,!prod-eu-1 ( 5 ); prod-*(20%)\n;", "!b,*", "a,;b,", "a, (1)", "a;a", "a(1);a(1)", "a(100%)", "a(007)", "a(000000001)", "a(999999999)",
				"a\v;\u00a0b\u2003(1)\u0085", strings.Repeat("a", 48) + "(1)", strings.Repeat("a;", 64), strings.Repeat("a;", 63) + "a", strings.Repeat("a,", 1024) + "(5);b", "a(\f5\r%\n)"},
			bad: []string{"", " ", ";", ",", "a;;b", ";a", "a;;", "a; ;", "!a", "a;!b", "!a,!b;*", "!a(1);*", "a,,b", ",a", "a;,b", "a,,(1)", "A", "a b", "a_b", "-a", "a-", "!", "!!a,b", "münchen", "a=1",
				"a()", "(3)", "a;(3)", "a(1),b", "a(1)b", "a(1)(2)", "a(1", "a1)", "a(0)", "a(000%)", "a(101%)", "a(1000%)", "a(-1)", "a(1.5)", "a(%)", "a(1%%)", "a(1 0)", "a(1234567890)", "a(0000000001)", "a(\u00a01)", "a(\v1)", "a;\u00a0;b", "a,\u2003,b", "\u0085,a", "a\u00a0b", "a(1\u3000)",
				strings.Repeat("a", 49), strings.Repeat("a;", 65), strings.Repeat("a;", 64) + "a", strings.Repeat("a,", 1025), "b;" + strings.Repeat("a,", 1024) + "a(5)", strings.Repeat(";", 9000), strings.Repeat("a;", 9000)},
		},
		{
			key: bake, hint: "90s, 10m or 1h, up to 720h",
			good: []string{"0", "0s", "-0s", "60s", " 10m\n", "1h30m", "+5s", "1.5h", ".5m", "1.s", "1ns", "250ms", "1us", "1µs", "1μs", "720h", "719h60m", "43200m", "2592000000000000ns", "007s", "720.0h", "0h0m0s", "\u00a010m\u2003"},
			bad: []string{"", " ", "5", "-1s", "1d", "721h", "720h1ns", "719h61m", "43201m", "99999999999999999999h", "9223372036854775807ns", "s", ".s", "1", "1s1", "1 s", "1s,2s", "1S", "never", "h1", "--1s", "1..5s", "1h-1m", "2592001s",
				strings.Repeat("719h", 200), strings.Repeat("9999999s", 120), "1h\u00a05m", "\u200b10m"},
		},
		{key: deadline, hint: "at least 1s", good: []string{"1s", "1000ms", "10m", "720h", "0.5s0.5s"}, bad: []string{"", "0", "0s", "\u00a0", "999ms", "999999999ns", "-10m", "721h", "10"}},
		{key: render.ExpandAnnotation, hint: `"true" or "false"`, good: []string{"true", "false"}, bad: []string{"", "True", "yes", "a", "true,", "true\u00a0"}},
	} {
		for _, value := range c.good {
			check(c.key, value, true, c.hint)
		}
		for _, value := range c.bad {
			check(c.key, value, false, c.hint)
		}
	}
	// The policy takes less than the daemon here, and says so.
	for key, value := range map[string]string{replicas: manyWeights(257), selector: "generation>1234567890123456789", clusters: "a" + strings.Repeat(" ", 16384)} {
		Must(t, render.ReadWishes(annotations{key: value}).Check())
		if err := dryRun(t.Context(), Env.Admin, ns, annotations{key: value}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "expression") {
			t.Errorf("%s %.40q: the API server says %v", key, value, err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(tokens ...string) (value string) {
		for range 1 + random.IntN(8) {
			value += tokens[random.IntN(len(tokens))]
		}
		return value
	}
	good := 0
	for range 300 {
		terms := draw("a", "b", "a-b", "p-*", "?", "!", ",", ",", ",", " ", "\u00a0", "\u2003", "\v", "-", "true", "on", "A", "=")
		check(suspend, terms, areTerms(terms) && !isMistaken(terms), "")
		check(clusters, terms, areTerms(terms) || strings.TrimSpace(terms) == "", "")
		selection := draw("a", "b", "in", " in (", " notin (", "c)", ",", ",", "=", "!=", "!", ">", "<", "3", "99999999999999999999", ".", "x.io/", "-", " ", "\u00a0")
		check(selector, selection, isSelector(selection), "")
		weights := draw("a=1", "b=2", "*", "p-", "=", "=", "0", "7", "1000000", ",", ",", " ", "\u00a0", "\u0085", "-", "!", "divide")
		check(replicas, weights, areWeights(weights), "")
		order := draw("a", "b-1", "p-*", "!", "!b", ",", ",", ";", ";", " ", "\u00a0", "\u3000", "(1)", "(20%)", "(", "0", "5", "%", ")")
		check(waves, order, areWaves(order), "")
		bakes := draw("0h", "1m", "90s", "719h", "30m", "1.5s", "250ms", "7ns", "1", ".5", "h", "s", "-", "+", " ", "\u00a0", "d")
		check(bake, bakes, isTime(bakes), "")
		for _, isGood := range []bool{areTerms(terms), isSelector(selection), areWeights(weights), areWaves(order), isTime(bakes)} {
			if isGood {
				good++
			}
		}
	}
	if good < 120 {
		t.Errorf("only %d of the random values can be parsed", good)
	}
}

// manyWeights are n different weights.
func manyWeights(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "c%d=1,", i)
	}
	return all.String()
}

// items are the parts of a list, of which the last may be empty; false if another is.
func items(list string) (all []string, ok bool) {
	all = strings.Split(list, ",")
	for i, item := range all {
		all[i] = strings.TrimSpace(item)
		if all[i] == "" && (i == 0 || i < len(all)-1) {
			return nil, false
		}
	}
	return slices.DeleteFunc(all, func(item string) bool { return item == "" }), true
}

// isTerm reports whether a text is the name of a cluster or a glob.
func isTerm(text string) bool {
	return len(text) <= 48 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-*?") == "" && text == strings.Trim(text, "-") && text != ""
}

// isMistaken reports whether a list of clusters to suspend is a single word that is rather meant as
// a boolean.
func isMistaken(list string) bool {
	switch strings.TrimFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
	case "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0", "enabled", "disabled":
		return true
	case "true", "false":
		return list != "true" && list != "false"
	}
	return false
}

// isSelector takes what Kubernetes takes, except control characters and a selector of everything.
func isSelector(text string) bool {
	selector, err := labels.Parse(text)
	return err == nil && !selector.Empty() && !strings.ContainsFunc(text, unicode.IsControl)
}

func areTerms(list string) bool {
	all, ok := items(list)
	isGood := func(term string) bool { return isTerm(strings.TrimPrefix(term, "!")) }
	return ok && !slices.ContainsFunc(all, func(term string) bool { return !isGood(term) }) && slices.ContainsFunc(all, isTerm)
}

func areWeights(list string) bool {
	if word := strings.TrimSpace(list); word == "divide" || word == "retain" {
		return true
	}
	all, ok := items(list)
	seen := map[string]bool{}
	for _, item := range all {
		term, weight, _ := strings.Cut(item, "=")
		term, weight = strings.TrimSpace(term), strings.TrimSpace(weight)
		n, err := strconv.ParseUint(weight, 10, 32)
		if !isTerm(term) || err != nil || n > 1_000_000 || seen[term] {
			return false
		}
		seen[term] = true
	}
	return ok
}

// areWaves takes at most nine digits, and reads them as a number between 1 and, of percent, 100.
func areWaves(value string) bool {
	waves := strings.Split(strings.TrimSpace(value), ";")
	if last := len(waves) - 1; last > 0 && waves[last] == "" {
		waves = waves[:last]
	}
	return !slices.ContainsFunc(waves, func(wave string) bool {
		terms, limit, isLimited := strings.Cut(strings.TrimSpace(wave), "(")
		if isLimited {
			inside, isClosed := strings.CutSuffix(limit, ")")
			digits, isPercent := strings.CutSuffix(strings.Trim(inside, " "), "%")
			digits = strings.Trim(digits, " ")
			n, err := strconv.ParseUint(digits, 10, 32)
			if !isClosed || err != nil || len(digits) > 9 || n == 0 || isPercent && n > 100 {
				return true
			}
		}
		all, ok := items(terms)
		isGood := func(term string) bool { return isTerm(strings.TrimPrefix(term, "!")) }
		return !ok || slices.ContainsFunc(all, func(term string) bool { return !isGood(term) }) || !slices.ContainsFunc(all, isTerm)
	})
}

// isTime reports whether a text is a time from 0 to 720h.
func isTime(text string) bool {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	return err == nil && d >= 0 && d <= 720*time.Hour
}

// TestSpelling has users write annotations that would have no effect: they are refused,
// with what was probably meant. The configuration's own rule says which kinds are never
// mirrored.
func TestSpelling(t *testing.T) {
	ns := Isolate(t)
	enforce(t, ns)
	for key, meant := range map[string]string{
		"cluster": "did you mean karmada.target/clusters or karmada.target/cluster-selector?", "clusterSelector": "did you mean karmada.target/cluster-selector?",
		"Clusters": "did you mean karmada.target/clusters?", "suspended": "karmada.target/suspend?", "preserve": "karmada.target/preserve-on-deletion?",
		"replica": "karmada.target/replicas?", "conflict": "karmada.target/conflict-resolution?", "x": "it knows karmada.target/clusters, ", "approve-deletion": "did you mean karmada.target/deletion?",
		"source": "it knows", "selector": "karmada.target/cluster-selector?", "expanded": "did you mean karmada.target/expand?",
		"wave": "did you mean karmada.target/waves or karmada.target/wave-bake or karmada.target/wave-deadline?", "waveBake": "did you mean karmada.target/wave-bake?", "deadline": "did you mean karmada.target/wave-deadline?",
	} {
		err := dryRun(t.Context(), Env.Admin, ns, annotations{"karmada.target/" + key: Push})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "karmada.target/"+key+" is not an annotation of karmada-mirror") || !strings.Contains(err.Error(), meant) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, a := range []annotations{{"karmada.target/approve-deletions": ""}, {"karmada.targets/cluster": "x"}, {"example.io/cluster": "x"}, nil} {
		if err := dryRun(t.Context(), Env.Admin, ns, a); err != nil {
			t.Errorf("%v: %v", a, err)
		}
	}
	labelled := Plain(ns, "page", "one")
	labelled.SetLabels(map[string]string{render.ClustersAnnotation: Push})
	_, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Create(t.Context(), labelled, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "kubectl annotate") {
		t.Errorf("a label: %v", err)
	}
	neverMirrored(t, ns)
	wrongBefore(t)
}

// neverMirrored annotates objects of many kinds.
func neverMirrored(t *testing.T, ns string) {
	t.Helper()
	rule := map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}
	for _, u := range []*unstructured.Unstructured{
		Object("rbac.authorization.k8s.io/v1", "Role", ns, "page", map[string]any{"rules": []any{rule}}),
		Object("discovery.k8s.io/v1", "EndpointSlice", ns, "page", map[string]any{"addressType": "IPv4", "endpoints": []any{}}),
		Object("v1", "Endpoints", ns, "page", nil),
		Object("policy.karmada.io/v1alpha1", "OverridePolicy", ns, "page", map[string]any{"spec": map[string]any{"overrideRules": []any{}}}),
		Object("v1", "Service", ns, "page", map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}),
		Object("v1", "Secret", ns, "page", nil),
		Object("v1", "ServiceAccount", ns, "page", nil),
		Object("policy/v1", "PodDisruptionBudget", ns, "page", map[string]any{"spec": map[string]any{"minAvailable": int64(1)}}),
	} {
		mapping, err := Mapper(t).RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
		Must(t, err)
		_, never := config.Forbidden(mapping.Resource.GroupResource())
		u.SetAnnotations(annotations{render.ClustersAnnotation: Push})
		_, err = Env.Admin.Resource(mapping.Resource).Namespace(ns).Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if refused := err != nil && strings.Contains(err.Error(), "are never mirrored: remove the annotation "+render.ClustersAnnotation); refused != never {
			t.Errorf("%s: never mirrored %v, and the API server says %v", mapping.Resource.GroupResource(), never, err)
		}
	}
}

// wrongBefore changes an object that already had a mistake before the policy was bound:
// only a new mistake is refused.
func wrongBefore(t *testing.T) {
	t.Helper()
	ns := NewNamespace(t)
	old := Plain(ns, "old", "one")
	old.SetAnnotations(annotations{"karmada.target/cluster": "x"})
	Create(t, ConfigMaps, old)
	Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) { u.SetLabels(enforced(t)) })
	Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		if dryRun(ctx, Env.Admin, ns, annotations{"karmada.target/cluster": "x"}) == nil {
			return fmt.Errorf("a new mistake is not refused")
		}
		return nil
	})
	Change(t, ConfigMaps, ns, "old", SetField("two", "data", "key"))
	u, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Get(t.Context(), "old", metav1.GetOptions{})
	Must(t, err)
	SetAnnotation("karmada.target/cluster", "y")(u)
	if _, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Update(t.Context(), u, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a changed mistake is not refused: %v", err)
	}
}

// tenant is a user who may write ConfigMaps and Namespaces, and mirror to these clusters;
// nil means all.
func tenant(t *testing.T, name string, clusters ...string) dynamic.Interface {
	t.Helper()
	names := ""
	if clusters != nil {
		names = fmt.Sprintf("resourceNames: [%s]", strings.Join(clusters, ","))
	}
	roles := fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: ["", apps], resources: [configmaps, namespaces, namespaces/status, deployments, deployments/status, deployments/scale], verbs: ["*"]}
- {apiGroups: [cluster.karmada.io], resources: [clusters], verbs: [mirror], %[2]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, name, names)
	if err := karmada.Apply(t.Context(), Env.Config(), []byte(roles)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = Env.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = Env.Client.RbacV1().ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	config := rest.CopyConfig(Env.Config())
	config.Impersonate.UserName = name
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the tenant to have permissions", func(ctx context.Context) error {
		_, err := client.Resource(ConfigMaps).Namespace("default").List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	return client
}

// TestTenant has the same tenant refused by the API server, and where no policy is bound,
// by the daemon.
func TestTenant(t *testing.T) {
	ns := Isolate(t)
	d := StartDaemon(t)
	client := tenant(t, "tenant-of-member1", Push)
	t.Run("Admission", func(t *testing.T) {
		guarded := NewNamespace(t)
		enforce(t, guarded)
		if _, err := client.Resource(ConfigMaps).Namespace(guarded).Create(t.Context(), ConfigMap(guarded, "page", Push2, "one"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Fatalf("the tenant is not refused %s: %v", Push2, err)
		}
		if _, err := client.Resource(ConfigMaps).Namespace(guarded).Create(t.Context(), ConfigMap(guarded, "page", Push, "one"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		WantInMembers(t, guarded, "page", "one", Push)
	})
	t.Run("Configuration", func(t *testing.T) {
		Create(t, ConfigMaps, ConfigMap(ns, "before", Push2, "one"))
		WantInMembers(t, ns, "before", "one", Push2)
		d.Reconfigure(t, func() {
			Configure(t, Resources(t, "configmaps")+"authorization:\n- {namespaces: ["+ns+"], resources: [configmaps], clusters: ["+Push+"]}\n")
		})
		if _, err := client.Resource(ConfigMaps).Namespace(ns).Create(t.Context(), ConfigMap(ns, "page", Push+","+Push2, "one"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		WantInMembers(t, ns, "page", "one", Push)
		WantEvent(t, ns, "page", "NotAuthorized", Push2)
		WantEvent(t, ns, "before", "NotAuthorized", Push2)
		WantNoWork(t, ConfigMapWork(ns, "page", Push2))
		// A cluster's labels do not give access that its name does not.
		selected := Plain(ns, "selected", "one")
		selected.SetAnnotations(annotations{render.ClusterSelectorAnnotation: "!never.example.com/drained"})
		Create(t, ConfigMaps, selected)
		WantInMembers(t, ns, "selected", "one", Push)
		WantEvent(t, ns, "selected", "NotAuthorized", Push2)
		WantNoWork(t, ConfigMapWork(ns, "selected", Push2))
		before := MustWork(t, ConfigMapWork(ns, "before", Push2)).GetGeneration()
		Change(t, ConfigMaps, ns, "before", SetField("two", "data", "key"))
		Change(t, ConfigMaps, ns, "page", SetField("two", "data", "key"))
		WantInMembers(t, ns, "page", "two", Push)
		Settle(t)
		if now := MustWork(t, ConfigMapWork(ns, "before", Push2)); now.GetGeneration() != before || now.GetDeletionTimestamp() != nil {
			t.Errorf("the Work on a cluster that is no longer authorized was touched: %v", now.Object["metadata"])
		}
	})
}
