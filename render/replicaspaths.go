package render

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scale is how large a workload is.
type Scale struct {
	// Replicas is how many Pods run at a time.
	Replicas int64
	// Completions is how many Pods of a Job have to succeed. It counts only if HasCompletions:
	// other kinds have none, nor do Jobs that work off a queue.
	Completions    int64
	HasCompletions bool
}

// Divide divides a Scale over clusters; see the function Divide.
//
// A Job's completions are divided by the shares of its parallelism, as in Karmada
// (divideReplicasByJobCompletions in pkg/controllers/binding/common.go, v1.18.2), so that all
// members finish at about the same time, and no member has completions but no Pods, which
// would never finish. A member with the weight 0 gets a Job with no completions, which an API
// server accepts and which is complete at once; without completions, the Job waits there.
// While the parallelism is 0, completions are divided by weight: Karmada leaves each member
// all of them.
//
// The completions of a Job are immutable (validateCompletions in pkg/apis/batch/validation of
// Kubernetes, v1.35.4). Once a Job is in the members, a member refuses any change of targets,
// weights or parallelism that gives it other completions, and the condition Applied of its
// Work says so. The same is true of Karmada's division. Keeping what each member has is no way
// out: as soon as a member joins or leaves, the shares would no longer add up to the
// completions. To divide such a Job again, delete it and recreate it.
func (s Scale) Divide(weights map[string]int64, ties Ties) map[string]Scale {
	replicas := Divide(s.Replicas, weights, ties)
	by := replicas
	if s.Replicas == 0 {
		by = weights
	}
	var completions map[string]int64
	if s.HasCompletions {
		completions = Divide(s.Completions, by, ties)
	}
	shares := make(map[string]Scale, len(replicas))
	for cluster, n := range replicas {
		shares[cluster] = Scale{Replicas: n, Completions: completions[cluster], HasCompletions: s.HasCompletions}
	}
	return shares
}

// ScalePaths are the paths of the fields by which a kind is scaled. The zero value is that of
// a kind that is not.
type ScalePaths struct {
	replicas []string
	// completions is set for Jobs only.
	completions []string
	// isDefaulted: without a number, the API server takes it to be 1.
	isDefaulted bool
}

// String returns the path of the replicas: another path makes another Scale.
func (p ScalePaths) String() string { return strings.Join(p.replicas, ".") }

// builtinScales are the kinds of Kubernetes that have replicas, with the field in their spec.
// Karmada divides all but ReplicationControllers
// (pkg/resourceinterpreter/default/native/revisereplica.go, v1.18.2).
var builtinScales = map[schema.GroupKind]string{
	{Kind: "ReplicationController"}:      "replicas",
	{Group: "apps", Kind: "Deployment"}:  "replicas",
	{Group: "apps", Kind: "StatefulSet"}: "replicas",
	{Group: "apps", Kind: "ReplicaSet"}:  "replicas",
	{Group: "batch", Kind: "Job"}:        "parallelism",
}

// scalePath is a path under .spec in dot notation. The API server accepts any text after
// .spec. and splits it at its dots (validateSimpleJSONPath in pkg/apis/apiextensions/validation
// of k8s.io/apiextensions-apiserver, v0.35.4). Brackets, quotes and the like would be parts of
// a field's name there, which no author means.
var scalePath = regexp.MustCompile(`^\.spec(\.[A-Za-z0-9_-]+)+$`)

// ScalePathsOf returns the paths of a kind. Those of a kind that is not built in come from the
// scale subresource of its definition: replicasPath is its specReplicasPath, such as
// .spec.replicas, or empty if it has none. It returns false for a kind that is not scaled, and
// for a path that it cannot follow.
func ScalePathsOf(kind schema.GroupKind, replicasPath string) (ScalePaths, bool) {
	if field, ok := builtinScales[kind]; ok {
		paths := ScalePaths{replicas: []string{"spec", field}, isDefaulted: true}
		if kind.Kind == "Job" {
			paths.completions = []string{"spec", "completions"}
		}
		return paths, true
	}
	if !scalePath.MatchString(replicasPath) {
		return ScalePaths{}, false
	}
	return ScalePaths{replicas: strings.Split(replicasPath[1:], ".")}, true
}

// Read returns the Scale of a decoded object. A kind that is not built in must have the
// number, as its scale subresource requires too. Of a Job that has fewer completions than
// parallelism, only so many Pods run: Replicas is no more, as in Karmada (jobReplica in
// pkg/resourceinterpreter/default/native/replica.go, v1.18.2).
//
// An Indexed Job is an error, although Karmada divides it: each member counts its indexes from
// 0, so that the first would be worked on in every member and the last in none.
func (p ScalePaths) Read(obj map[string]any) (Scale, error) {
	if len(p.replicas) == 0 {
		return Scale{}, errors.New("its kind has no replicas to divide")
	}
	replicas, hasReplicas, err := readNumber(obj, p.replicas)
	if err != nil {
		return Scale{}, err
	}
	if !hasReplicas && !p.isDefaulted {
		return Scale{}, fmt.Errorf("it has no %s to divide; set it", describePath(p.replicas))
	}
	if !hasReplicas {
		replicas = 1
	}
	if p.completions == nil {
		return Scale{Replicas: replicas}, nil
	}
	if mode, _ := fieldsOf(obj["spec"])["completionMode"].(string); mode == string(batchv1.IndexedCompletion) {
		return Scale{}, errors.New("an Indexed Job cannot be divided: every member would run the first indexes, and none the last")
	}
	completions, hasCompletions, err := readNumber(obj, p.completions)
	if err != nil {
		return Scale{}, err
	}
	switch {
	case hasCompletions:
		return Scale{min(replicas, completions), completions, true}, nil
	case hasReplicas:
		return Scale{Replicas: replicas}, nil
	default: // by SetDefaults_Job in pkg/apis/batch/v1 of Kubernetes, v1.35.4
		return Scale{1, 1, true}, nil
	}
}

// Set writes a share into a decoded object in place. It never changes an object for which it
// returns an error.
func (p ScalePaths) Set(obj map[string]any, share Scale) error {
	if len(p.replicas) == 0 {
		return errors.New("its kind has no replicas to set")
	}
	parent, err := parentOf(obj, p.replicas)
	if err != nil {
		return err
	}
	for _, number := range []int64{share.Replicas, share.Completions} {
		if number < 0 || number > math.MaxInt32 {
			return fmt.Errorf("a share of %d is not a number of replicas", number)
		}
	}
	parent[p.replicas[len(p.replicas)-1]] = share.Replicas
	if p.completions != nil && share.HasCompletions { // it has the same parent
		parent[p.completions[len(p.completions)-1]] = share.Completions
	}
	return nil
}

// parentOf returns the map that has the last field of a path.
func parentOf(obj map[string]any, path []string) (map[string]any, error) {
	for i, field := range path[:len(path)-1] {
		inner, isMap := obj[field].(map[string]any)
		switch {
		case !isMap && obj[field] != nil:
			return nil, fmt.Errorf("its %s is not an object", describePath(path[:i+1]))
		case inner == nil:
			return nil, fmt.Errorf("it has no %s", describePath(path[:i+1]))
		}
		obj = inner
	}
	return obj, nil
}

// readNumber returns the number of replicas at a path, and whether there is one. A null is
// none, as for the API server.
func readNumber(obj map[string]any, path []string) (number int64, found bool, err error) {
	for i, field := range path[:len(path)-1] {
		inner, isMap := obj[field].(map[string]any)
		if !isMap && obj[field] != nil {
			return 0, false, fmt.Errorf("its %s is not an object", describePath(path[:i+1]))
		}
		obj = inner
	}
	var value float64 // exact for every number of replicas that an API server accepts
	switch v := obj[path[len(path)-1]].(type) {
	case nil:
		return 0, false, nil
	case int64:
		value = float64(v)
	case float64:
		value = v
	default:
		return 0, false, fmt.Errorf("its %s is not a number", describePath(path))
	}
	switch {
	case value < 0:
		return 0, false, fmt.Errorf("its %s is negative", describePath(path))
	case value > math.MaxInt32:
		return 0, false, fmt.Errorf("its %s is greater than %d", describePath(path), math.MaxInt32)
	case value != math.Trunc(value):
		return 0, false, fmt.Errorf("its %s is not a whole number", describePath(path))
	}
	return int64(value), true, nil
}

// describePath formats a path for a message.
func describePath(path []string) string { return quote(strings.Join(path, ".")) }
