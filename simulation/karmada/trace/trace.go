// Package trace plays scripts of what users and members do against a Karmada, and writes down what that made of a Work
// and its object. A real Karmada and the simulated one play the same scripts; it knows neither of them.
package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
)

// Namespace is where the objects of all scripts are.
const Namespace = "trace"

// Object is a part of an object, as JSON decodes it.
type Object = map[string]any

// Script is what is done, step by step.
type Script struct {
	Name, Kind string // the kind of the object that it is about
	Steps      []Step
}

// Step is one thing that is done, and what must be true once everything is quiet again; nil is nothing.
type Step struct {
	Name  string
	Do    func(*Player) error
	Until func(State) bool
}

// State is a Work, the object in the member, and the Events about the Work and its source, without what differs from one
// run to the next.
type State struct {
	Work   Object   `json:"work,omitempty"`
	Member Object   `json:"member,omitempty"`
	Events []string `json:"events,omitempty"`
}

// Moment is the state after a step.
type Moment struct {
	Step  string `json:"step"`
	State State  `json:"state"`
}

// Player plays scripts for one cluster.
type Player struct {
	Ctx             context.Context
	Control, Member dynamic.Interface
	Cluster         string
	// Away makes the cluster unreachable or reachable, and returns when Karmada says so.
	Away func(isAway bool) error
	// Claim lets a policy for the cluster select the source, Release ends that and deletes the binding.
	Claim, Release func(gvr schema.GroupVersionResource, source *unstructured.Unstructured) error
	// Settle waits until the state is right and does not change any more.
	Settle func(look func() (State, error), isRight func(State) bool) (State, error)

	// The object that a script is about, its Work, and the UID of its source.
	gvr                            schema.GroupVersionResource
	kind, name, workName, sourceID string
	isAway                         bool
}

// Works is the resource of Works.
var Works = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}

// Play returns what each step of a script led to.
func (p *Player) Play(s Script) (moments []Moment, err error) {
	p.kind, p.name, p.sourceID = s.Kind, "object-"+s.Name, string(uuid.NewUUID())
	p.gvr = map[string]schema.GroupVersionResource{
		"ConfigMap": {Version: "v1", Resource: "configmaps"}, "Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
	}[s.Kind]
	hash := fnv.New32a() // the name as Karmada makes it (pkg/util/names/names.go)
	_, _ = hash.Write([]byte(strings.ToLower(Namespace + "-" + p.name + "-" + s.Kind)))
	p.workName = p.name + "-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
	for _, step := range s.Steps {
		if err := step.Do(p); err != nil {
			return nil, fmt.Errorf("cannot %s: %w", step.Name, err)
		}
		state, err := p.Settle(p.look, step.Until)
		if err != nil {
			return nil, fmt.Errorf("cannot see the end of %q: %w", step.Name, err)
		}
		moments = append(moments, Moment{step.Name, state})
	}
	return moments, nil
}

func (p *Player) works() dynamic.ResourceInterface {
	return p.Control.Resource(Works).Namespace("karmada-es-" + p.Cluster)
}

func (p *Player) inMember() dynamic.ResourceInterface {
	return p.Member.Resource(p.gvr).Namespace(Namespace)
}

// look reads the state.
func (p *Player) look() (State, error) {
	work, err := p.works().Get(p.Ctx, p.workName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return State{}, err
	}
	s := State{Work: p.normalWork(work)}
	if !p.isAway { // no one can look into the member then
		o, err := p.inMember().Get(p.Ctx, p.name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return State{}, err
		}
		s.Member = p.normalObject(o)
	}
	for _, namespace := range []string{"karmada-es-" + p.Cluster, Namespace} {
		events, err := p.Control.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(namespace).List(p.Ctx, metav1.ListOptions{})
		if err != nil {
			return State{}, err
		}
		for _, e := range events.Items {
			about, _, _ := unstructured.NestedStringMap(e.Object, "involvedObject")
			component, _, _ := unstructured.NestedString(e.Object, "source", "component")
			isOurs := about["name"] == p.workName && about["kind"] == "Work" || about["uid"] == p.sourceID
			if isOurs && (component == "execution-controller" || component == "work-status-controller") {
				s.Events = append(s.Events, fmt.Sprint(component, " ", about["kind"], " ", e.Object["reason"]))
			}
		}
	}
	slices.Sort(s.Events)
	s.Events = slices.Compact(s.Events)
	return p.plain(s)
}

// volatile are identifiers that differ from run to run.
var volatile = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// plain replaces what differs from run to run, and from cluster to cluster.
func (p *Player) plain(s State) (plain State, err error) {
	data, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	text := volatile.ReplaceAllString(string(data), "<id>")
	return plain, json.Unmarshal([]byte(strings.ReplaceAll(text, p.Cluster, "<cluster>")), &plain)
}

func (p *Player) normalWork(work *unstructured.Unstructured) Object {
	if work == nil {
		return nil
	}
	o := metadataOf(work)
	o["spec"] = work.Object["spec"]
	if work.GetDeletionTimestamp() != nil {
		o["deleting"] = true
	}
	conditions, _, _ := unstructured.NestedSlice(work.Object, "status", "conditions")
	for _, item := range conditions {
		c := item.(Object)
		o["condition "+fmt.Sprint(c["type"])] = fmt.Sprint(c["status"], ", ", c["reason"], ": ", c["message"])
	}
	if reports, _, _ := unstructured.NestedSlice(work.Object, "status", "manifestStatuses"); reports != nil {
		o["manifestStatuses"] = reports
	}
	return o
}

// normalObject removes what an API server fills in.
func (p *Player) normalObject(u *unstructured.Unstructured) Object {
	if u == nil {
		return nil
	}
	o := metadataOf(u)
	for _, path := range [][]string{{"data"}, {"spec", "replicas"}, {"spec", "type"}} {
		if value, has, _ := unstructured.NestedFieldNoCopy(u.Object, path...); has {
			o[strings.Join(path, ".")] = value
		}
	}
	return o
}

func metadataOf(u *unstructured.Unstructured) Object {
	o := Object{}
	annotations := u.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	for field, keys := range map[string]map[string]string{"labels": u.GetLabels(), "annotations": annotations} {
		if len(keys) > 0 {
			o[field] = maps.Clone(keys)
		}
	}
	if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
		o["finalizers"] = finalizers
	}
	return o
}
