package machine

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/simulation/karmada"
	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// scene is what a machine plays with.
type scene struct {
	clusters []string
	objects  []model.Key
	// annotations are the choices for objects, by key, and defaults those for Namespaces.
	annotations, defaults map[string]choices
	// differing are the choices for objects that differ by cluster, which the others rarely draw
	// together with more than one cluster.
	differing map[string]choices
	// claims are the choices for the label that policies put on objects.
	claims choices
	steps  choices
	// judgesMembers says that the model also judges what is in the members.
	judgesMembers bool
	// inWaves says that its objects reach clusters in waves, of which some fail.
	inWaves bool
	// flags are the daemons', after the usual ones, and breaker replaces breakerOff.
	flags   []string
	options []string // annotations that are turned on and off
	// replicas is how many daemons there are, if not two.
	replicas int
	breaker  string
	// extra is mirrored besides the usual resources.
	extra []schema.GroupResource
	// isOld: the API servers do not stream lists. alters: a webhook may alter Works. judgesAge: content must not
	// go back. judgesCounts: statuses must not.
	isOld, alters, judgesAge, judgesCounts bool
	// isSighted: no daemon is kept from seeing anything.
	isSighted bool
	// isHostile: beside the clusters is one whose agent is hostile.
	isHostile bool
	// isMeasured: nothing may run beside it.
	isMeasured bool
	karmada    karmada.Version
}

// These annotations say to which clusters an object is mirrored.
const (
	clustersKey = "karmada.target/clusters"
	deletionKey = "karmada.target/deletion"
	selectorKey = "karmada.target/cluster-selector"
	wavesKey    = "karmada.target/waves"
	expandKey   = "karmada.target/expand" // of variables
)

// A few names are enough: the same things then happen to them again and again.
var (
	namespaceNames = []string{"a", "b"}
	pages          = []model.Key{{Kind: "ConfigMap", Name: "page-0"}, {Kind: "ConfigMap", Name: "page-1"}, {Kind: "ConfigMap", Name: "page-2"}}
	deployment     = model.Key{Kind: "Deployment", Name: "web"}
	autoscaler     = model.Key{Kind: "HorizontalPodAutoscaler", Name: "web"}
	policies       = []model.Key{
		{Kind: "OverridePolicy", Namespace: "a", Name: "first"}, {Kind: "OverridePolicy", Namespace: "a", Name: "second"},
		{Kind: "OverridePolicy", Namespace: "b", Name: "first"}, {Kind: "ClusterOverridePolicy", Name: "wide"},
	}
)

// strangePolicy is in the notes of Works that users have edited, and does not exist.
const strangePolicy = "OverridePolicy/strange"

// onAPIServer plays on a Karmada of which only the parts that serve requests run, so that
// it makes many steps per second.
var onAPIServer = &scene{
	clusters: []string{"m1", "m2", "m3"},
	objects:  append([]model.Key{deployment, autoscaler}, pages...),
	annotations: map[string]choices{
		clustersKey:                           {none: 14, "": 2, "m1": 2, "m1,m2": 1, "m*": 1, "*,!m2": 1, "m3": 1, "m1,!m2": 1, "!m2": 1},
		selectorKey:                           {none: 14, "tier=edge": 2, "!tier": 1, "tier in (edge,core)": 1, "topology.kubernetes.io/region=eu": 1, "topology.kubernetes.io/zone!=us-1": 1, "topology.kubernetes.io/zone=us-2": 1},
		"karmada.target/suspend":              {none: 20, "true": 2, "false": 1, "m1": 2, "m?,!m2": 1, "!m1": 1},
		expandKey:                             {none: 8, "true": 4, "false": 1, "yes": 1},
		"karmada.target/preserve-on-deletion": {none: 8, "true": 2, "false": 1},
		"karmada.target/conflict-resolution":  {none: 12, "overwrite": 1},
		deletionKey:                           {none: 8, "foreground": 4, "background": 1, "orphan": 1},
		"karmada.target/replicas":             {none: 12, "retain": 1, "divide": 3, "m1=2,m*=1": 1, "m2=0, m3 = 5": 1, "m1=1,m1=2": 1},
	},
	defaults: map[string]choices{
		clustersKey:                           {none: 8, "": 1, "m1": 3, "m1,m2": 2, "m*": 2, "*,!m2": 1, "m3": 1},
		selectorKey:                           {none: 10, "tier=edge": 2, "!tier": 1},
		"karmada.target/suspend":              {none: 12, "true": 2, "false": 1, "m*,!m1": 2, "!m1": 1},
		expandKey:                             {none: 10, "true": 3, "yes": 1},
		"karmada.target/replicas":             {none: 12, "divide": 2},
		"karmada.target/preserve-on-deletion": {none: 8, "true": 1},
		deletionKey:                           {none: 10, "foreground": 2},
	},
	differing: map[string]choices{
		clustersKey:               {"*": 3, "m1,m2": 2, "*,!m2": 1},
		"karmada.target/suspend":  {none: 4, "m1": 1, "m?,!m2": 1},
		expandKey:                 {none: 1, "true": 3},
		"karmada.target/replicas": {none: 1, "divide": 2, "m1=2": 2, "m2=0, m3 = 5": 1},
	},
	claims: choices{none: 20, "x": 1},
	steps: choices{
		"put": 30, "put back": 10, "differ": 20, "edit": 8, "delete": 6, "recreate": 3, "seal": 3, "namespace": 16, "namespace back": 10, "delete namespace": 1,
		"cluster": 8, "cluster leaves": 1, "configure": 2, "Work deleted": 2, "Work edited": 3, "shut": 8, "open": 6, "expire": 1, "late": 6, "throttle": 3, "slow reads": 3, "kill": 1, "restart": 1,
		"override": 14, "override goes": 3, "override and object": 8, "override there and back": 6, "override of a dying leader": 2,
		"there and back": 10, "namespace there and back": 10, "edit and back": 6, "move and back": 6, "autoscaler unreadable": 6, "default of a dying leader": 6, "default goes first": 6, "default selects": 16,
		"deletion is throttled": 4,
	},
}

// inWaves plays with objects that reach their clusters in waves, and with members that fail.
var inWaves = &scene{
	clusters: []string{"m1", "m2", "m3", "m4"},
	objects:  append([]model.Key{deployment}, pages[:2]...),
	annotations: map[string]choices{
		clustersKey:                          {"*": 12, "m1,m2": 1, "*,!m3": 2, "m2,m3,m4": 1, none: 1},
		"karmada.target/waves":               {"m1;*": 4, "m1;m2,m3(1);*": 6, "m?(1)": 2, "m4; m1(50%)": 1, none: 1},
		"karmada.target/conflict-resolution": {"overwrite": 1}, // users make Works preserve objects, and delete them
	},
	claims: choices{none: 1},
	steps: choices{
		"put": 12, "put back": 8, "edit": 30, "delete": 2, "recreate": 3, "seal": 3, "ail": 8, "fail": 8, "halt": 8, "heal": 8, "away": 8, "ready": 8, "rejoin": 6, "cluster leaves": 2,
		"Work deleted": 3, "Work edited": 3, "there and back": 10, "shut": 3, "open": 3, "late": 3, "throttle": 2, "slow reads": 2, "kill": 2, "restart": 1,
	},
	inWaves: true,
}

// inMembers plays on a whole Karmada. Existing objects are overwritten, because to Karmada
// a preserved object belongs to someone else.
var inMembers = &scene{
	clusters: []string{"m1", "m2"},
	objects:  pages,
	annotations: map[string]choices{
		clustersKey:                           {none: 4, "": 1, "m1": 3, "m1,m2": 3, "member*": 2, "*,!m1": 2, "!m2": 1},
		"karmada.target/preserve-on-deletion": {none: 4, "true": 1, "false": 1},
		"karmada.target/conflict-resolution":  {"overwrite": 1},
		deletionKey:                           {none: 2, "foreground": 1},
		expandKey:                             {none: 3, "true": 2},
	},
	defaults: map[string]choices{
		clustersKey: {none: 4, "m1": 2, "m1,m2": 2}, "karmada.target/preserve-on-deletion": {none: 6, "true": 1}, expandKey: {none: 4, "true": 1},
	},
	claims: choices{none: 1},
	steps: choices{
		"put": 30, "put back": 10, "edit": 10, "delete": 6, "recreate": 3, "namespace": 12, "namespace back": 6, "configure": 2, "Work deleted": 2, "Work edited": 3, "shut": 6, "open": 6, "late": 3, "kill": 1, "restart": 1,
		"override": 8, "override goes": 3, "override and object": 4,
	},
	judgesMembers: true,
}
