package shared

import (
	"fmt"
	"strings"

	"github.com/karmada-target/karmada-mirror/render"
)

// These labels of Karmada's say that a policy propagates an object, and that the members keep
// their replicas.
const (
	claimLabel  = "propagationpolicy.karmada.io/permanent-id"
	retainLabel = "resourcetemplate.karmada.io/retain-replicas"
)

type annotations = map[string]string

// admissionCase is a write that a user tries.
type admissionCase struct {
	reason string
	// user is "some", who may mirror to c1 and c2; "all", to all clusters; or "many", to
	// manyClusters.
	user string
	// above is what the Namespace says; before and now are what the object says. If before
	// is nil, the object is created.
	above, before, now annotations
	// wasWrong: before was written before there was a policy.
	wasWrong, forbidden bool
}

func admissionCases() map[string]admissionCase {
	clusters, selector, suspend, preserve := render.ClustersAnnotation, render.ClusterSelectorAnnotation, render.SuspendAnnotation, render.PreserveOnDeletionAnnotation
	conflict, replicas, expand := render.ConflictResolutionAnnotation, render.ReplicasAnnotation, render.ExpandAnnotation
	follows := render.FollowsAnnotation
	waves, bake, deadline := render.WavesAnnotation, render.WaveBakeAnnotation, render.WaveDeadlineAnnotation
	many := manyClusters()
	fenced := annotations{selector: "a=b", clusters: "c2,!c3"}
	return map[string]admissionCase{
		"Named":              {reason: "the tenant may mirror to all of them", user: "some", now: annotations{clusters: "c1,c2"}},
		"OneOfThem":          {reason: "one cluster without permission is enough to refuse", user: "some", now: annotations{clusters: "c1,c3"}, forbidden: true},
		"Star":               {reason: "a glob needs permission for all clusters", user: "some", now: annotations{clusters: "*"}, forbidden: true},
		"Glob":               {reason: "even if it matches only permitted clusters", user: "some", now: annotations{clusters: "c?"}, forbidden: true},
		"Selector":           {reason: "so does a selector", user: "some", now: annotations{selector: "a=b"}, forbidden: true},
		"Excluded":           {reason: "an exclusion needs no permission", user: "some", now: annotations{clusters: "c1,!c3"}},
		"Follows":            {reason: "what is followed may go anywhere", user: "some", now: annotations{follows: "deployment/web"}, forbidden: true},
		"FollowsOfAll":       {reason: "which permission for all clusters covers", user: "all", now: annotations{follows: "deployment/web"}},
		"FollowsUnchanged":   {reason: "another user's may stay", user: "some", before: annotations{follows: "deployment/web"}, now: annotations{follows: "deployment/web", "other": "x"}},
		"FollowsChanged":     {reason: "another leader goes elsewhere", user: "some", before: annotations{follows: "deployment/web"}, now: annotations{follows: "deployment/api"}, forbidden: true},
		"FollowsNoLonger":    {reason: "to follow nothing needs no permission", user: "some", before: annotations{follows: "deployment/web", clusters: "c3"}, now: annotations{clusters: "c3"}},
		"FollowsNoMore":      {reason: "unless the Namespace's default applies then", user: "some", above: annotations{clusters: "c3"}, before: annotations{follows: "deployment/web"}, now: annotations{}, forbidden: true},
		"FollowsInsteadOf":   {reason: "the Namespace's default does not apply", user: "all", above: annotations{clusters: "c3"}, now: annotations{follows: "deployment/web"}},
		"FollowsOverwriting": {reason: "an option speaks for all clusters of what is followed", user: "some", before: annotations{follows: "deployment/web"}, now: annotations{follows: "deployment/web", conflict: "overwrite"}, forbidden: true},
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

// manyWeights are n different weights.
func manyWeights(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "c%d=1,", i)
	}
	return all.String()
}

// spoken are the values that reachNoMore draws for an object, by key.
func spoken() map[string][]string {
	return map[string][]string{
		render.ClustersAnnotation:           {"", "c1", "c2", "c1,c2", "c1,!c2", "*", "*,!c2", "c?,!c*", "!c2", "c1,\u00a0,c1"},
		render.ClusterSelectorAnnotation:    {"zone=a", "zone=b"},
		render.SuspendAnnotation:            {"true", "false", "c1", "*,!c1", strings.Repeat("c1,", render.MaxTerms+1)},
		render.PreserveOnDeletionAnnotation: {"true", "true", "false"},
		render.ConflictResolutionAnnotation: {"overwrite", "overwrite", "abort"},
		render.ExpandAnnotation:             {"true", "false"},
		render.ReplicasAnnotation:           {"retain", "c1=2,*=1", manyWeights(300) + "c0=1"},
		render.WavesAnnotation:              {"c1;*", "c2(1);x"},
		claimLabel:                          {"x"},
		retainLabel:                         {"true"},
	}
}

// spokenAbove are those for a Namespace.
func spokenAbove() map[string][]string {
	all := spoken()
	delete(all, claimLabel)
	delete(all, retainLabel)
	all[render.ClustersAnnotation] = []string{"c1", "c2", "c1,!c2", "*,!c2", "*,!d*"}
	return all
}

// parsed are values of an annotation, and what the refusal of a bad one says.
type parsed struct {
	key, hint string
	good, bad []string
}

func parsedValues() []parsed {
	return []parsed{
		{
			key: render.ClustersAnnotation, hint: "karmada.target/clusters: ",
			good: []string{"member1", "member1,member2", " member1 ,\tmember2 ,", "1", "a-b-c", "*", "prod-*", "prod-?", "*-eu,!prod-eu", "!b,*", "a,!a", "*,!b*",
				strings.Repeat("a", 48), strings.Repeat("a,", 1024), strings.Repeat("a,", 1023) + "a\u00a0", "a,\u00a0b\u2003,\v", "\u0085a\u3000,\u00a0!b\u2029,"},
			bad: []string{",", " , ", "a,,b", ",a", "a,,", "a, ,b", "Member1", "a_b", "a.b", "a b", "a\nb", "münchen", "🚀", "../", "a[bc]", `a\*`, "-a", "a-", "!", "!!a", "a!", "!a", "!a,!b", "a;b", "a,!",
				strings.Repeat("a", 49), `["a"]`, "a/b", strings.Repeat("a,", 1025), strings.Repeat("a,", 1024) + "a", "a,\u00a0,b", "a,\u2003,", "\v,a", "a,\u0085\u3000,b", "a\u00a0b", "a\u200b", "a,\ufeff,b"},
		},
		{
			key: render.ClusterSelectorAnnotation, hint: "karmada.target/cluster-selector: ",
			good: []string{"tier=edge", "tier==edge", "tier!=edge", "tier", "!tier", "tier in (edge)", "tier in (edge, core),region notin (eu),!drained", "example.com/tier=edge", "generation>3", "generation < 3",
				"a=b,c=d", " a = b , c ", "tier=", "tier in (,a)", "a.b-c.d/tier=edge", strings.Repeat("a.", 126) + "a/tier", "generation>123456789012345678", "in in (in),notin"},
			bad: []string{"", "  ", "tier in edge", "tier in (edge", "tier=a b", "=edge", "tier=,=", "a=b,", ",a=b", "tier in ()x", "tier=-a", "-tier", `{"matchLabels":{"a":"b"}}`, "a > b", "!a=b",
				"a\u00a0=b", "a..b/tier", "a-.b/tier=edge", "a.-b/tier", strings.Repeat("a.", 126) + "aa/tier", "generation>99999999999999999999"},
		},
		{
			key: render.FollowsAnnotation, hint: "each as TYPE/NAME",
			good: []string{"deployment/web", "deployments.apps/web, configmap/a,", "a/b:c", "a/B.c", " a/b\u00a0", strings.Repeat("a/b,", 16)},
			bad:  []string{"", ",", "web", "a/b/c", "A/b", "a/", "/b", "a/b,,c/d", "a/b c", "a/%b", "-a/b", "a/.", "a/b, c/..", strings.Repeat("a/b,", 17), "a/" + strings.Repeat("b", 254)},
		},
		{key: render.PreserveOnDeletionAnnotation, hint: `is neither "true" nor "false"`, good: []string{"true", "false"}, bad: []string{"yes", "", "True", "true\u00a0"}},
		{key: render.ConflictResolutionAnnotation, hint: `is neither "abort" nor "overwrite"`, good: []string{"abort", "overwrite"}, bad: []string{"Overwrite", "", "\u2003abort"}},
		{
			key: render.SuspendAnnotation, hint: "prod-*,!prod-1",
			good: []string{"true", "false", "a", "*", "true,a", "!on,*", "ye?", "prod-*", "prod-*,!prod-1", "!prod-1,prod-*", " a ,\tb ,", "a\n", strings.Repeat("a", 48), strings.Repeat("a,", 1024), strings.Repeat("a,", 1023) + "a",
				"a,\u00a0b\u2003,", "\va\u0085", "\u3000!a ,\u2029*"},
			bad: []string{"", " ", ",", "!a", "!a,!b", "True", "a,,b", ",a", "a,,", "a b", "a_b", "-a", "a-", "!", "!!a", "a=1", "a;b", "münchen", "yes", "no ", "on", "1", " true", "false,", "true\n", `["a"]`,
				strings.Repeat("a", 49), "a," + strings.Repeat("b", 49), strings.Repeat("a,", 1025), strings.Repeat("a,", 1024) + "a", strings.Repeat("a,", 9000),
				"a,\u00a0,b", "\u2003", "\v,a", "a,\u0085,", "a\u00a0b", "true\u00a0", "\u2003no,", "\u00a0!a", "a\u200b"},
		},
		{
			key: render.ReplicasAnnotation, hint: "member1=2,prod-*=1",
			good: []string{"retain", "divide", "a=1", "a=0", "*=1000000", "member1=2,prod-*=1", " a = 1 ,\tb=2 ,", "a=1\n", "2=2", "a=2,b=2", "a=007", "divide=1", " divide", "retain\n", strings.Repeat("a", 48) + "=1", manyWeights(256), manyWeights(255) + "a=1",
				"a\u00a0=\u20031\u3000,\vb=2\u0085,", "\u00a0divide\u2003"},
			bad: []string{"", "true", "Retain", "divide,retain", "a", "a=", "=1", "a=-1", "a=+1", "a=1.5", "a=1000001", "a=9999999", "a=99999999999999999999", "a=one", "a=1,,b=1", ",a=1", "a=1,,",
				"!a=1", "a=1,!b=1", "a=1;b=2", "a=1=2", "a:1", "A=1", "a=1,a=2", "a=1, a = 1 ,", "p-*=1,b=2,p-*=3", strings.Repeat("a", 49) + "=1", manyWeights(255) + "c0=1", manyWeights(300) + "c0=1", manyWeights(257) + "c256 = 2", manyWeights(1025), manyWeights(3000),
				"a=1,\u00a0,b=1", "\u2003", "\v,a=1", "a=1,\u0085,", "a=1\u00a02", "a\u00a0b=1", "a=1,a\u00a0=2", "a=\u200b1"},
		},
		{key: render.DeletionAnnotation, hint: `is neither "background" nor "foreground"`, good: []string{"background", "foreground"}, bad: []string{"", "Foreground", "true", "orphan", "foreground,", "foreground\u00a0"}},
		{
			key: render.WavesAnnotation, hint: "canary-*; prod-*(20%); *",
			good: []string{"a", "*", "a;b;*", "a;b; ", " canary-* ;\tprod-eu-*,!prod-eu-1 ( 5 ); prod-*(20%)\n;", "!b,*", "*, !b ,", "*,*", "**,a", "a;*,!b(2)", "a,;b,", "a, (1)", "a;a", "a(1);a(1)", "a(100%)", "a(007)", "a(000000001)", "a(999999999)",
				"a\v;\u00a0b\u2003(1)\u0085", strings.Repeat("a", 48) + "(1)", strings.Repeat("a;", 64), strings.Repeat("a;", 63) + "a", strings.Repeat("a,", 1024) + "(5);b", "a(\f5\r%\n)"},
			bad: []string{"", " ", ";", ",", "a;;b", ";a", "a;;", "a; ;", "!a", "a;!b", "!a,!b;*", "!a(1);*", "a,,b", ",a", "a;,b", "a,,(1)", "A", "a b", "a_b", "-a", "a-", "!", "!!a,b", "münchen", "a=1",
				"a()", "(3)", "a;(3)", "a(1),b", "a(1)b", "a(1)(2)", "a(1", "a1)", "a(0)", "a(000%)", "a(101%)", "a(1000%)", "a(-1)", "a(1.5)", "a(%)", "a(1%%)", "a(1 0)", "a(1234567890)", "a(0000000001)", "a(\u00a01)", "a(\v1)", "a;\u00a0;b", "a,\u2003,b", "\u0085,a", "a\u00a0b", "a(1\u3000)",
				"a,*", "*, a", "a;*\u2003,b*(1)", "!a,*,b", strings.Repeat("a", 49), strings.Repeat("a;", 65), strings.Repeat("a;", 64) + "a", strings.Repeat("a,", 1025), "b;" + strings.Repeat("a,", 1024) + "a(5)", strings.Repeat(";", 9000), strings.Repeat("a;", 9000)},
		},
		{
			key: render.WaveBakeAnnotation, hint: "90s, 10m or 1h, up to 720h",
			good: []string{"0", "0s", "-0s", "60s", " 10m\n", "1h30m", "+5s", "1.5h", ".5m", "1.s", "1ns", "250ms", "1us", "1µs", "1μs", "720h", "719h60m", "43200m", "2592000000000000ns", "007s", "720.0h", "0h0m0s", "\u00a010m\u2003"},
			bad: []string{"", " ", "5", "-1s", "1d", "721h", "720h1ns", "719h61m", "43201m", "99999999999999999999h", "9223372036854775807ns", "s", ".s", "1", "1s1", "1 s", "1s,2s", "1S", "never", "h1", "--1s", "1..5s", "1h-1m", "2592001s",
				strings.Repeat("719h", 200), strings.Repeat("9999999s", 120), "1h\u00a05m", "\u200b10m"},
		},
		{key: render.WaveDeadlineAnnotation, hint: "at least 1s", good: []string{"1s", "1000ms", "10m", "720h", "0.5s0.5s"}, bad: []string{"", "0", "0s", "\u00a0", "999ms", "999999999ns", "-10m", "721h", "10"}},
		{key: render.ExpandAnnotation, hint: `is neither "true" nor "false"`, good: []string{"true", "false"}, bad: []string{"", "True", "yes", "a", "true,", "true\u00a0"}},
	}
}

// parsedTokens are what random values of an annotation consist of.
func parsedTokens() map[string][]string {
	terms := []string{"a", "b", "a-b", "p-*", "?", "!", ",", ",", ",", " ", "\u00a0", "\u2003", "\v", "-", "true", "on", "A", "="}
	return map[string][]string{
		render.ClustersAnnotation: terms, render.SuspendAnnotation: terms,
		render.ClusterSelectorAnnotation: {"a", "b", "in", " in (", " notin (", "c)", ",", ",", "=", "!=", "!", ">", "<", "3", "99999999999999999999", ".", "x.io/", "-", " ", "\u00a0"},
		render.ReplicasAnnotation:        {"a=1", "b=2", "*", "p-", "=", "=", "0", "7", "1000000", ",", ",", " ", "\u00a0", "\u0085", "-", "!", "divide"},
		render.WavesAnnotation:           {"a", "b-1", "p-*", "!", "!b", ",", ",", ";", ";", " ", "\u00a0", "\u3000", "(1)", "(20%)", "(", "0", "5", "%", ")"},
		render.WaveBakeAnnotation:        {"0h", "1m", "90s", "719h", "30m", "1.5s", "250ms", "7ns", "1", ".5", "h", "s", "-", "+", " ", "\u00a0", "d"},
	}
}
