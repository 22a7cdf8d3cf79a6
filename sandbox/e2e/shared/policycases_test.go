package shared

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// policyCase is a write that a user tries.
type policyCase struct {
	reason string
	user   string
	// above is what the Namespace says; before and now are what the object says. If before
	// is nil, the object is created.
	above, before, now annotations
	// wasWrong: before was written before there was a policy.
	wasWrong, forbidden bool
}

func policyCases() map[string]policyCase {
	clusters, selector, suspend, preserve := render.ClustersAnnotation, render.ClusterSelectorAnnotation, render.SuspendAnnotation, render.PreserveOnDeletionAnnotation
	conflict, replicas, expand := render.ConflictResolutionAnnotation, render.ReplicasAnnotation, render.ExpandAnnotation
	waves, bake, deadline := render.WavesAnnotation, render.WaveBakeAnnotation, render.WaveDeadlineAnnotation
	many := manyClusters()
	fenced := annotations{selector: "a=b", clusters: "c2,!c3"}
	return map[string]policyCase{
		"Named":              {reason: "the tenant may mirror to all of them", user: "some", now: annotations{clusters: "c1,c2"}},
		"OneOfThem":          {reason: "one cluster without permission is enough to refuse", user: "some", now: annotations{clusters: "c1,c3"}, forbidden: true},
		"Star":               {reason: "a glob needs permission for all clusters", user: "some", now: annotations{clusters: "*"}, forbidden: true},
		"Glob":               {reason: "even if it matches only permitted clusters", user: "some", now: annotations{clusters: "c?"}, forbidden: true},
		"Selector":           {reason: "so does a selector", user: "some", now: annotations{selector: "a=b"}, forbidden: true},
		"Excluded":           {reason: "an exclusion needs no permission", user: "some", now: annotations{clusters: "c1,!c3"}},
		"StarOfAll":          {reason: "permission for all clusters covers globs", user: "all", now: annotations{clusters: "*"}},
		"SelectorOfAll":      {reason: "permission for all clusters covers selectors", user: "all", now: annotations{selector: "a=b"}},
		"ManyOfAll":          {reason: "permission for all clusters covers any number", user: "all", now: annotations{clusters: strings.Join(many, ",")}},
		"TwentyFour":         {reason: "as many as the policy can check", user: "many", now: annotations{clusters: strings.Join(many[:24], ",")}},
		"TwentyFive":         {reason: "one more than it can check", user: "many", now: annotations{clusters: strings.Join(many[:25], ",")}, forbidden: true},
		"InSteps":            {reason: "they can be added in steps", user: "many", before: annotations{clusters: strings.Join(many[:24], ",")}, now: annotations{clusters: strings.Join(many, ",")}},
		"LastOfTwentyFour":   {reason: "each position is checked", user: "many", now: annotations{clusters: strings.Join(many[:23], ",") + ",c1"}, forbidden: true},
		"Unchanged":          {reason: "another user's annotation may stay", user: "some", before: annotations{clusters: "c3,*"}, now: annotations{clusters: "c3,*", "other": "x"}},
		"Shrunk":             {reason: "removing a cluster needs no permission", user: "some", before: annotations{clusters: "c3,c4"}, now: annotations{clusters: "c4"}},
		"Removed":            {reason: "nor does removing all", user: "some", before: annotations{clusters: "c3", selector: "a=b"}, now: annotations{}},
		"Widened":            {reason: "adding one does", user: "some", before: annotations{clusters: "c1"}, now: annotations{clusters: "c1,c3"}, forbidden: true},
		"WidenedByMine":      {reason: "existing clusters are not checked again", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3,c1"}},
		"ExclusionGone":      {reason: "removing an exclusion adds clusters", user: "some", before: annotations{clusters: "*,!c3"}, now: annotations{clusters: "*"}, forbidden: true},
		"NameUnexcluded":     {reason: "also for a named cluster", user: "some", before: annotations{clusters: "c1,c3,!c3"}, now: annotations{clusters: "c1,c3"}, forbidden: true},
		"SelectorUnexcluded": {reason: "and with a selector", user: "some", before: annotations{clusters: "c1,!c3", selector: "a=b"}, now: annotations{clusters: "c1", selector: "a=b"}, forbidden: true},
		"SelectorChanged":    {reason: "another selector selects other clusters", user: "some", before: annotations{selector: "a=b"}, now: annotations{selector: "a=c"}, forbidden: true},
		"ListGone":           {reason: "removing the list also removes its exclusions", user: "some", before: annotations{clusters: "c1,!c3", selector: "a=b"}, now: annotations{selector: "a=b"}, forbidden: true},
		"NameExcluded":       {reason: "the cluster was excluded, and is not added", user: "some", before: annotations{clusters: "c1,!c3"}, now: annotations{clusters: "c1"}},
		"Overwrites":         {reason: "overwriting objects in a cluster needs permission for it", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", conflict: "overwrite"}, forbidden: true},
		"OverwritesMine":     {reason: "and the tenant has it for its own clusters", user: "some", before: annotations{clusters: "c1"}, now: annotations{clusters: "c1", conflict: "overwrite"}},
		"OverwritesNoMore":   {reason: "removing overwrite needs no permission", user: "some", before: annotations{clusters: "c3", conflict: "overwrite"}, now: annotations{clusters: "c3"}},
		"Resumes":            {reason: "resuming needs permission for the cluster", user: "some", before: annotations{clusters: "c3", suspend: "true"}, now: annotations{clusters: "c3", suspend: "false"}, forbidden: true},
		"Preserves":          {reason: "so does preserving", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", preserve: "true"}, forbidden: true},
		"PreservesAndLeaves": {reason: "also if the cluster is removed in the same step", user: "some", before: annotations{clusters: "c3"}, now: annotations{preserve: "true"}, forbidden: true},
		"PreservesNoMore":    {reason: "so does preserving no longer", user: "some", before: annotations{clusters: "c3", preserve: "true"}, now: annotations{clusters: "c3"}, forbidden: true},
		"Planted":            {reason: "the option must not wait for another user to name clusters", user: "some", now: annotations{conflict: "overwrite"}, forbidden: true},
		"LeftAndPreserves":   {reason: "nor apply to clusters that were just removed", user: "some", before: annotations{}, now: annotations{preserve: "true"}, forbidden: true},
		"NotPlanted":         {reason: "options without such effects may wait", user: "some", now: annotations{conflict: "abort", suspend: "true"}},
		"Retains":            {reason: "retaining replicas needs permission for the cluster", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", replicas: "retain"}, forbidden: true},
		"RetainsNoMore":      {reason: "so does retaining them no longer", user: "some", before: annotations{clusters: "c3", replicas: "retain"}, now: annotations{clusters: "c3"}, forbidden: true},
		"Divides":            {reason: "so does dividing them", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", replicas: "divide"}, forbidden: true},
		"DividesMine":        {reason: "and the tenant may divide over its own clusters", user: "some", before: annotations{clusters: "c1,c2"}, now: annotations{clusters: "c1,c2", replicas: "c1=2"}},
		"Reweighs":           {reason: "other weights change the numbers", user: "some", before: annotations{clusters: "c1,c3", replicas: "c3=1"}, now: annotations{clusters: "c1,c3", replicas: "c3=0"}, forbidden: true},
		"Expands":            {reason: "expanding changes the manifest there", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", expand: "true"}, forbidden: true},
		"ExpandsMine":        {reason: "and the tenant may in its own clusters", user: "some", before: annotations{clusters: "c1"}, now: annotations{clusters: "c1", expand: "true"}},
		"ExpandsNoMore":      {reason: "no longer expanding changes it as well", user: "some", before: annotations{clusters: "c3", expand: "true"}, now: annotations{clusters: "c3"}, forbidden: true},
		"ExpandsNothing":     {reason: "saying what holds anyway changes nothing", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", expand: "false"}},
		"ExpandPlanted":      {reason: "the option must not wait for another user to name clusters", user: "some", now: annotations{expand: "true"}, forbidden: true},
		"ExpandsInherited":   {reason: "a new object counts as having its Namespace's clusters", user: "some", above: annotations{clusters: "c3"}, now: annotations{expand: "true"}, forbidden: true},
		"SuspendsSome":       {reason: "suspending some adds no cluster either", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", suspend: "c3"}},
		"SuspendsAll":        {reason: "nor does suspending all of them", user: "some", before: annotations{clusters: "c1,c3", suspend: "c3"}, now: annotations{clusters: "c1,c3", suspend: "true"}},
		"SuspendsSomeLater":  {reason: "nor does suspending what other users will name", user: "some", now: annotations{suspend: "c3"}},
		"SuspendsFewer":      {reason: "from all to some resumes the others", user: "some", before: annotations{clusters: "c3", suspend: "true"}, now: annotations{clusters: "c3", suspend: "c1"}, forbidden: true},
		"SuspendsFewerMine":  {reason: "on the tenant's own clusters it may", user: "some", before: annotations{clusters: "c1", suspend: "true"}, now: annotations{clusters: "c1", suspend: "c2"}},
		"SuspendsOthers":     {reason: "other terms may resume a cluster", user: "some", before: annotations{clusters: "c3", suspend: "*"}, now: annotations{clusters: "c3", suspend: "*,!c3"}, forbidden: true},
		"ResumesSome":        {reason: "so does removing the terms", user: "some", before: annotations{clusters: "c3", suspend: "c3"}, now: annotations{clusters: "c3"}, forbidden: true},
		"ResumesInherited":   {reason: "the object's own value replaces the Namespace's terms", user: "some", above: annotations{clusters: "c3", suspend: "c?"}, now: annotations{suspend: "c1"}, forbidden: true},
		"ResumesKept":        {reason: "Works that are kept may be suspended anywhere", user: "some", before: annotations{clusters: "", suspend: "c3"}, now: annotations{clusters: "c1"}, forbidden: true},
		"OptionsOnly":        {reason: "suspending adds no cluster", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", suspend: "true"}},

		"Waves":           {reason: "waves only order the clusters of the list", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", waves: "c3;*", bake: "1m", deadline: "1h"}},
		"OtherWaves":      {reason: "so do other waves", user: "some", before: annotations{clusters: "c3,c4", waves: "c3;*"}, now: annotations{clusters: "c3,c4", waves: "c4(1)"}},
		"WavesGone":       {reason: "so does removing them", user: "some", before: annotations{clusters: "c3", waves: "c3;*", bake: "1h"}, now: annotations{clusters: "c3"}},
		"WavesLater":      {reason: "and waves of clusters that other users will name", user: "some", now: annotations{waves: "c3;*"}},
		"WavesOfNamed":    {reason: "waves choose no cluster that the list does not", user: "some", now: annotations{clusters: "c1", waves: "c1;c3;*"}},
		"WavesInherited":  {reason: "nor do those of the Namespace", user: "some", above: annotations{waves: "c1;*"}, now: annotations{clusters: "c1"}},
		"WavesAndMore":    {reason: "a cluster in a later wave still needs permission", user: "some", now: annotations{clusters: "c1,c3", waves: "c1;c3"}, forbidden: true},
		"WavesWithoutIt":  {reason: "so does one that no wave names", user: "some", before: annotations{clusters: "c1", waves: "c1"}, now: annotations{clusters: "c1,c3", waves: "c1"}, forbidden: true},
		"WavesAndOptions": {reason: "so does an option for a cluster in a later wave", user: "some", before: annotations{clusters: "c1,c3", waves: "c1;c3"}, now: annotations{clusters: "c1,c3", waves: "c1;c3", preserve: "true"}, forbidden: true},
		"WavesOfMany":     {reason: "long waves leave enough of the budget to check as many clusters as there can be", user: "many", before: annotations{waves: strings.Repeat("a,", 1000)}, now: annotations{clusters: strings.Join(many[:24], ","), waves: strings.Repeat(strings.Repeat("a,", 1000)+";", 8)}},
		"WrongWaves":      {reason: "Works are kept, in any cluster, while the waves cannot be parsed", user: "some", before: annotations{clusters: "c1", waves: "c1;;c3"}, wasWrong: true, now: annotations{clusters: "c1", preserve: "true"}, forbidden: true},
		"WrongTime":       {reason: "so they are while one of their times cannot be", user: "some", before: annotations{clusters: "c1", bake: "soon"}, wasWrong: true, now: annotations{clusters: "c1", preserve: "true"}, forbidden: true},
		"WrongSpace":      {reason: "so they are while the list has an empty term, also one of a no-break space", user: "some", before: annotations{clusters: "c1,\u00a0,c1"}, wasWrong: true, now: annotations{clusters: "c1", preserve: "true"}, forbidden: true},
		"WrongSuspend":    {reason: "and while there are too many terms", user: "some", before: annotations{clusters: "c1", suspend: strings.Repeat("c1,", render.MaxTerms+1)}, wasWrong: true, now: annotations{clusters: "c1", suspend: "true", preserve: "true"}, forbidden: true},
		"WrongWeights":    {reason: "and while there are two equal ones among many", user: "some", before: annotations{clusters: "c1", replicas: manyWeights(300) + "c0=1"}, wasWrong: true, now: annotations{clusters: "c1", preserve: "true"}, forbidden: true},
		"WrongDefault":    {reason: "and while the Namespace's default cannot be parsed", user: "some", above: annotations{suspend: "!c3"}, before: annotations{clusters: "c1"}, wasWrong: true, now: annotations{clusters: "c1", preserve: "true"}, forbidden: true},
		"WrongAndShrunk":  {reason: "without a change of options, a cluster may be removed", user: "some", above: annotations{waves: ";"}, before: annotations{clusters: "c1,c3"}, wasWrong: true, now: annotations{clusters: "c1"}},
		"WrongAndWidened": {reason: "but not added", user: "some", above: annotations{waves: ";"}, before: annotations{clusters: "c1"}, wasWrong: true, now: annotations{clusters: "c1,c3"}, forbidden: true},
		"WavesCorrected":  {reason: "without a change of options, a mistake may be corrected", user: "some", before: annotations{clusters: "c1", waves: "C1", deadline: "99999999999999999999h"}, wasWrong: true, now: annotations{clusters: "c1", waves: "c1"}},

		"OneWrite":         {reason: "an object that asked for nothing may get clusters and options at once", user: "some", before: annotations{}, now: annotations{clusters: "c1", preserve: "true"}},
		"KeptThenTakes":    {reason: "an empty list keeps the Works that there are, in any cluster", user: "some", before: annotations{clusters: "", preserve: "true"}, now: annotations{clusters: "c1"}, forbidden: true},
		"KeptThenGives":    {reason: "whichever way the option changes", user: "some", before: annotations{clusters: ""}, now: annotations{clusters: "c1", preserve: "true"}, forbidden: true},
		"KeptThenMoves":    {reason: "without a change of options, they only go", user: "some", before: annotations{clusters: "", preserve: "true"}, now: annotations{clusters: "c1", preserve: "true"}},
		"ClaimedThenTakes": {reason: "so does the claim of a policy", user: "some", before: annotations{claimLabel: "x", preserve: "true"}, now: annotations{clusters: "c1"}, forbidden: true},
		"ClaimedAndListed": {reason: "also if the object lists clusters", user: "some", before: annotations{claimLabel: "x", clusters: "c1"}, now: annotations{claimLabel: "x", clusters: "c1", preserve: "true"}, forbidden: true},
		"ClaimedByEmptyID": {reason: "and if its value is empty", user: "some", before: annotations{claimLabel: "", clusters: "c1"}, now: annotations{clusters: "c1", conflict: "overwrite"}, forbidden: true},
		"ClaimAnnotated":   {reason: "and if it is an annotation", user: "some", before: annotations{"resourcetemplate.karmada.io/claimed-by": "x", clusters: "c1"}, now: annotations{clusters: "c1", replicas: "retain"}, forbidden: true},

		"RetainedByLabel": {reason: "Karmada's own label counts as well", user: "some", before: annotations{clusters: "c3"}, now: annotations{clusters: "c3", retainLabel: "true"}, forbidden: true},
		"LabelOfMine":     {reason: "on the tenant's own clusters it may", user: "some", before: annotations{clusters: "c1"}, now: annotations{clusters: "c1", retainLabel: "true"}},
		"LabelInherited":  {reason: "and if the Namespace has the list", user: "some", above: annotations{clusters: "c3"}, before: annotations{}, now: annotations{retainLabel: "true"}, forbidden: true},
		"LabelLeaves":     {reason: "and if the cluster is removed in the same step", user: "some", before: annotations{clusters: "c3"}, now: annotations{retainLabel: "true"}, forbidden: true},
		"LabelAlone":      {reason: "on an object that is not mirrored, it is not ours to judge", user: "some", now: annotations{retainLabel: "true"}},
		"LabelLater":      {reason: "nor later", user: "some", before: annotations{}, now: annotations{retainLabel: "true"}},

		"FencedList":      {reason: "the Namespace's exclusions hold anyway", user: "some", above: fenced, now: annotations{clusters: "c1"}},
		"FencedWidened":   {reason: "a list that names what they exclude asks for it", user: "some", above: fenced, now: annotations{clusters: "c1,c3"}, forbidden: true},
		"FencedSame":      {reason: "repeating an exclusion adds nothing", user: "some", above: fenced, now: annotations{clusters: "!c3"}},
		"FencedMore":      {reason: "nor does another one", user: "some", above: fenced, now: annotations{clusters: "!c2"}},
		"FencedOut":       {reason: "nor does opting out", user: "some", above: fenced, now: annotations{clusters: ""}},
		"FencedOfAll":     {reason: "permission for all clusters covers it", user: "all", above: fenced, now: annotations{clusters: "c1"}},
		"FencedShrinks":   {reason: "a list may shrink", user: "some", above: fenced, before: annotations{clusters: "c1,c2"}, now: annotations{clusters: "c1", suspend: "true"}},
		"SelectorGone":    {reason: "the Namespace's selector then holds", user: "some", above: annotations{selector: "a=b"}, before: annotations{selector: "c=d"}, now: annotations{}, forbidden: true},
		"SelectorDefault": {reason: "a new object gets what every object gets there", user: "some", above: annotations{selector: "a=b"}, now: annotations{}},
	}
}

// manyClusters are more clusters than the policy can check at once.
func manyClusters() (names []string) {
	for i := range 30 {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	return names
}

// policyDesk is where the cases are tried: its users, and its Namespaces by what they say.
type policyDesk struct {
	users      map[string]dynamic.Interface
	labels     map[string]string
	namespaces map[string]string
}

// newPolicyDesk makes one whose Namespaces have labels that a policy is bound to.
func newPolicyDesk(t *testing.T, labels map[string]string) *policyDesk {
	t.Helper()
	users := map[string]dynamic.Interface{
		"some": tenant(t, Home(t)+"-some", "c1", "c2"), "all": tenant(t, Home(t)+"-all"), "many": tenant(t, Home(t)+"-many", manyClusters()...),
	}
	return &policyDesk{users, labels, map[string]string{}}
}

func (d *policyDesk) namespace(t *testing.T, above annotations) string {
	t.Helper()
	key := fmt.Sprint(above)
	if d.namespaces[key] == "" {
		d.namespaces[key] = Home(t) + "-" + utilrand.String(5)
		makeGuarded(t, d.namespaces[key], d.labels, above)
	}
	return d.namespaces[key]
}

// try returns an error unless a case ends as it should.
func (d *policyDesk) try(t *testing.T, name string, c policyCase) error {
	t.Helper()
	err := d.answer(t, name, c)
	switch {
	case apierrors.IsForbidden(err) != c.forbidden, err != nil && !c.forbidden:
		return fmt.Errorf("%s: %v", c.reason, err)
	case err != nil && !strings.Contains(err.Error(), "verb mirror"):
		return fmt.Errorf("it does not say what is missing: %w", err)
	}
	return nil
}

// answer is what the API server says to the write of a case, as a dry run.
func (d *policyDesk) answer(t *testing.T, name string, c policyCase) error {
	t.Helper()
	ns := Home(t) + "-" + utilrand.String(5)
	if c.wasWrong {
		makeGuarded(t, ns, nil, c.above)
	} else {
		ns = d.namespace(t, c.above)
	}
	objects := d.users[c.user].Resource(ConfigMaps).Namespace(ns)
	u := Plain(ns, strings.ToLower(name), "one")
	if c.before == nil {
		say(u, c.now)
		_, err := objects.Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	say(u, c.before)
	u = Create(t, ConfigMaps, u)
	defer Remove(t, ConfigMaps, ns, u.GetName())
	if c.wasWrong {
		Change(t, Namespaces, "", ns, func(u *unstructured.Unstructured) { u.SetLabels(d.labels) })
		d.waitFor(t, ns)
	}
	say(u, c.now)
	_, err := objects.Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// TestPolicyAuthorizes has users write annotations that they may and may not write.
func TestPolicyAuthorizes(t *testing.T) {
	ns := Isolate(t)
	enforce(t, ns)
	desk := newPolicyDesk(t, enforced(t))
	for name, c := range policyCases() {
		if !c.wasWrong {
			desk.namespace(t, c.above)
		}
		t.Run(name, func(t *testing.T) { Must(t, desk.try(t, name, c)) })
	}
	some, clusters := desk.users["some"], render.ClustersAnnotation
	t.Run("Namespace", func(t *testing.T) {
		u, err := some.Resource(Namespaces).Get(t.Context(), ns, metav1.GetOptions{})
		Must(t, err)
		for list, forbidden := range map[string]bool{"c1": false, "c3": true} {
			u.SetAnnotations(annotations{clusters: list})
			_, err = some.Resource(Namespaces).Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsForbidden(err) != forbidden || err != nil && !forbidden {
				t.Errorf("a default of %q: %v", list, err)
			}
		}
		u.SetAnnotations(annotations{clusters: ""})
		if _, err := Env.Admin.Resource(Namespaces).Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); !apierrors.IsInvalid(err) {
			t.Errorf("an empty list on a Namespace is not refused: %v", err)
		}
	})
	t.Run("Subresource", func(t *testing.T) {
		u := Create(t, Deployments, deployment(ns, 1))
		u.SetAnnotations(annotations{clusters: "c3"})
		_, err := some.Resource(Deployments).Namespace(ns).UpdateStatus(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsForbidden(err) {
			t.Errorf("an annotation written through /status: %v", err)
		}
	})
}

// policyMutants replace a part of one of the policy's variables, or all of it, so that one of
// its safeguards is missing.
var policyMutants = []struct{ variable, part, by string }{
	{"lifted", "", "variables.terms[0].filter(t, false)"},
	{"fence", "", "variables.terms[0].filter(t, false)"},
	{"option", `variables.above[?key].orValue("-")`, `"-"`},
	{"isChanged", "", "false"},
	{"isChanged", replicasChanged, "false"},
	{"isChanged", replicasChanged, `(variables.option[0][3] == "retain") != (variables.option[1][3] == "retain")`},
	{"isChanged", replicasChanged, replicasChanged + ` && variables.option.exists(o, o[3] in ["-", "divide", "retain"])`},
	{"isResumed", "", "false"},
	{"isResumed", `!(variables.option[0][0] in ["-", "false", variables.option[1][0]])`, `variables.option[0][0] == "true"`},
	{"isResumed", `variables.option[1][0] != "true"`, `variables.option[1][0] in ["-", "false"]`},
	{"isResumed", `"false", variables.option[1][0]`, `"false", "true", variables.option[1][0]`},
	{"isExpanded", "", "false"},
	{"isExpanded", "!=", "&& !"},
	{"isExpanded", "(variables.option[0][4] == \"true\") !=", "variables.option[0][4] != \"true\" &&"},
	{"isPlanted", "", "false"},
	{"isKept", "", "false"},
	{"isNarrow", "", "true"},
	{"asks", "", "[true, true]"},
	{"isOpen", "", "false"},
	{"included", "", `[0, 1].map(i, variables.terms[i].filter(t, !t.startsWith("!") && (!("karmada.target/waves" in variables.own[i]) || variables.own[i]["karmada.target/waves"].startsWith(t))))`},
	{"included", "", `[0, 1].map(i, variables.terms[i].filter(t, !t.startsWith("!")) + (variables.bad[i] ? [] : variables.own[i][?"karmada.target/waves"].orValue("").split(";").filter(t, t != "")))`},
	{"isChanged", replicasChanged, replicasChanged + ` || variables.own[0][?"karmada.target/waves"] != variables.own[1][?"karmada.target/waves"]`},
	{"bad", " || variables.badWaves[i]", ""},
	{"bad", " || variables.badTimes[i]", ""},
	{"bad", " || variables.badCommas[i]", ""},
	{"badCommas", `[\\s\\v\\x{85}\\pZ]*`, `\\s*`},
	{"badSuspend", ` || s.split(",").size() > 1025`, ""},
	{"badReplicas", ".size() > 257 ||", ".size() <= 257 &&"},
	{"isKept", " || variables.bad[2]", ""},
}

const replicasChanged = "variables.option[0][3] != variables.option[1][3]"

// TestPolicyMutants breaks the policy in one place after another: the cases of
// TestPolicyAuthorizes notice each.
func TestPolicyMutants(t *testing.T) {
	Isolate(t)
	whole, err := Env.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(t.Context(), Account, metav1.GetOptions{})
	Must(t, err)
	desk := newPolicyDesk(t, nil)
	for i, m := range policyMutants {
		t.Run(fmt.Sprintf("%s-%d", m.variable, i), func(t *testing.T) {
			desk := &policyDesk{users: desk.users, labels: map[string]string{"enforce": breakPolicy(t, whole, i)}, namespaces: map[string]string{}}
			desk.waitFor(t, desk.namespace(t, nil))
			for name, c := range policyCases() {
				if err := desk.try(t, name, c); err != nil {
					t.Logf("%s notices: %v", name, err)
					return
				}
			}
			t.Errorf("no case notices the policy with %q in %s", m.by, m.variable)
		})
	}
}

// breakPolicy makes a copy of the policy with one of the mutants, and binds it to the Namespaces
// with the label that it returns.
func breakPolicy(t *testing.T, whole *admissionregistrationv1.ValidatingAdmissionPolicy, mutant int) (label string) {
	t.Helper()
	m := policyMutants[mutant]
	label = fmt.Sprintf("%s-%s-%d", Home(t), strings.ToLower(m.variable), mutant)
	broken := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: label}, Spec: *whole.Spec.DeepCopy()}
	i := slices.IndexFunc(broken.Spec.Variables, func(v admissionregistrationv1.Variable) bool { return v.Name == m.variable })
	if i < 0 || !strings.Contains(broken.Spec.Variables[i].Expression, m.part) {
		t.Fatalf("the policy has no variable %s with %q", m.variable, m.part)
	}
	expression := &broken.Spec.Variables[i].Expression
	if *expression = strings.Replace(*expression, m.part, m.by, 1); m.part == "" {
		*expression = m.by
	}
	policies := Env.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	_, err := policies.Create(t.Context(), broken, metav1.CreateOptions{})
	Must(t, err)
	t.Cleanup(func() { _ = policies.Delete(context.Background(), label, metav1.DeleteOptions{}) })
	bindPolicy(t, label, label)
	return label
}

// waitFor waits until the policy is in force in a Namespace, and not only because it does not compile.
func (d *policyDesk) waitFor(t *testing.T, ns string) {
	t.Helper()
	Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		if err := dryRun(ctx, Env.Admin, ns, annotations{render.PreserveOnDeletionAnnotation: "perhaps"}); !apierrors.IsInvalid(err) {
			return fmt.Errorf("a mistake: %v", err)
		}
		return dryRun(ctx, Env.Admin, ns, annotations{render.ClustersAnnotation: Push})
	})
}
