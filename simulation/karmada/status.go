package karmada

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errNoManifest is Karmada's for an object that its Work does not contain.
var errNoManifest = errors.New("no such manifest exist")

// syncStatus is the work-status controller (pkg/controllers/status/work_status_controller.go), which in 1.18 repairs what
// was changed or deleted in the member as well.
func (m *Member) syncStatus(key objectKey) error {
	observed := m.Store.Get(key.object)
	if observed == nil {
		return m.recreate(key)
	}
	key, err := m.keyOf(observed)
	work := m.k.control.Get(key.work)
	if err != nil || work == nil || isEnding(work) {
		return nil
	}
	i := indexOf(work, key)
	isSuspended := boolAt(work, "spec", "suspendDispatching")
	switch {
	case i < 0:
		return errNoManifest
	case isSuspended || !m.needsUpdate(key, manifests(work)[i], observed):
	case m.k.options.Version == V119:
		m.works.add(key.work)
	default:
		if err := m.update(key, copyOf(manifests(work)[i]), observed); err != nil {
			return err
		}
	}
	return m.reflect(key, i, work, observed)
}

// recreate creates an object that is gone from the member again: in 1.18 that of the Work which has its name, in 1.19
// that of the Work which the object named.
func (m *Member) recreate(key objectKey) error {
	ref := key.work
	if m.k.options.Version == V119 {
		m.works.add(ref)
		return nil
	}
	ref.Name = WorkName(key.Kind, key.object.Name, key.object.Namespace)
	work := m.k.control.Get(ref)
	if work == nil || isEnding(work) || boolAt(work, "spec", "suspendDispatching") {
		return nil
	}
	if i := indexOf(work, key); i >= 0 {
		manifest := manifests(work)[i]
		err := m.create(key, copyOf(manifest))
		if m.tell(statusController, manifest, err); err != nil {
			_ = m.applied(ref, metav1.ConditionFalse, "ReCreateFailed", err.Error())
			return err
		}
	}
	return m.applied(ref, metav1.ConditionTrue, "ReCreateSuccessful", "Manifest has been successfully applied")
}

// indexOf is the place of an object in a Work, or -1.
func indexOf(work Object, key objectKey) int {
	return slices.IndexFunc(manifests(work), func(o Object) bool {
		return in(o).GroupVersionKind() == key.GroupVersionKind && refOf(key.object.Resource, o) == key.object
	})
}

// reflect writes the status and the health of an object to its Work.
func (m *Member) reflect(key objectKey, index int, work, observed Object) error {
	name := key.Kind + "/" + key.object.Namespace + "/" + key.object.Name
	event := func(isWarning bool, reason, format string, arguments ...any) {
		m.k.recorder.event(statusController, work, "", isWarning, reason, fmt.Sprintf(format, arguments...))
	}
	status, err := Reflect(observed)
	if err != nil {
		event(true, "ReflectStatusFailed", "Reflect status for object(%s) failed, err: %s.", name, err)
		return err
	}
	event(false, "ReflectStatusSucceed", "Reflect status for object(%s) succeed.", name)
	health := workv1alpha1.ResourceHealthy
	if isHealthy, isInterpreted := Health(observed); isInterpreted {
		text := "healthy"
		if !isHealthy {
			health, text = workv1alpha1.ResourceUnhealthy, "unhealthy"
		}
		event(false, "InterpretHealthSucceed", "Interpret health of object(%s) as %s.", name, text)
	}
	identifier := Object{"ordinal": int64(index), "version": key.Version, "kind": key.Kind, "resource": "", "name": key.object.Name}
	if key.Group != "" {
		identifier["group"] = key.Group
	}
	if key.object.Namespace != "" {
		identifier["namespace"] = key.object.Namespace
	}
	report := Object{"identifier": identifier, "health": string(health)}
	if status != nil {
		report["status"] = status
	}
	return setStatus(m.k.control, key.work, func(o Object) { o["manifestStatuses"] = []any{report} }) // a Work has one manifest
}

// reflection says what of a status is reported.
type reflection struct {
	always, ifSet []string // fields
	generations   bool     // those of the object and of its source
}

// reflections are those of pkg/resourceinterpreter/default/native/reflectstatus.go, without those of ReplicaSets and
// PodDisruptionBudgets; of other kinds the whole status is reported.
var reflections = map[schema.GroupVersionKind]reflection{
	appsKind("Deployment"):  {nil, []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas", "observedGeneration"}, true},
	appsKind("StatefulSet"): {[]string{"replicas", "availableReplicas"}, []string{"currentReplicas", "readyReplicas", "updatedReplicas"}, true},
	appsKind("DaemonSet"): {
		[]string{"currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"},
		[]string{"numberAvailable", "updatedNumberScheduled", "numberUnavailable", "observedGeneration"}, true,
	},
	{Group: "batch", Version: "v1", Kind: "Job"}: {nil, []string{"active", "succeeded", "failed", "conditions", "startTime", "completionTime"}, false},
	service: {[]string{"loadBalancer"}, nil, false},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: {[]string{"desiredReplicas", "currentMetrics"}, []string{"currentReplicas"}, false},
}

// Reflect is what a Work reports of an object's status, nil for nothing.
func Reflect(o Object) (Object, error) {
	gvk, status := in(o).GroupVersionKind(), objectAt(o, "status")
	of, isSpecial := reflections[gvk]
	if status == nil || gvk == service && !isLoadBalancer(o) {
		return nil, nil
	}
	if !isSpecial {
		return status, nil
	}
	report := Object{}
	for _, field := range slices.Concat(of.always, of.ifSet) {
		value := status[field]
		switch isZero := value == nil || value == int64(0); {
		case field == "currentMetrics":
			report[field] = nil
		case !isZero:
			report[field] = value
		case field == "loadBalancer":
			report[field] = Object{}
		case slices.Contains(of.always, field):
			report[field] = int64(0)
		}
	}
	if of.generations {
		generation, err := strconv.ParseInt(in(o).GetAnnotations()[workv1alpha2.ResourceTemplateGenerationAnnotationKey], 10, 64)
		if err != nil {
			return nil, err
		}
		for field, value := range map[string]int64{"generation": in(o).GetGeneration(), "resourceTemplateGeneration": generation} {
			if value != 0 {
				report[field] = value
			}
		}
	}
	return report, nil
}

var service = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

func isLoadBalancer(o Object) bool {
	return stringAt(o, "spec", "type") == string(corev1.ServiceTypeLoadBalancer)
}

func appsKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

// interpreters say whether an object is healthy (pkg/resourceinterpreter/default/native/healthy.go, without
// those of ReplicaSets, Pods and PodDisruptionBudgets); other kinds are.
var interpreters = map[schema.GroupVersionKind]func(Object) bool{
	appsKind("Deployment"):  isRolledOut,
	appsKind("StatefulSet"): isRolledOut,
	appsKind("DaemonSet"): func(o Object) bool {
		updated := intAt(o, "status", "updatedNumberScheduled")
		return isObserved(o) && updated >= intAt(o, "status", "desiredNumberScheduled") && intAt(o, "status", "numberAvailable") >= updated
	},
	service: func(o Object) bool { return !isLoadBalancer(o) || hasAddress(o) },
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}: hasAddress,
	{Version: "v1", Kind: "PersistentVolumeClaim"}:               func(o Object) bool { return stringAt(o, "status", "phase") == string(corev1.ClaimBound) },
}

// Health reports whether an object is healthy, and whether Karmada looks at that.
func Health(o Object) (isHealthy, isInterpreted bool) {
	interpret := interpreters[in(o).GroupVersionKind()]
	return interpret == nil || interpret(o), interpret != nil
}

func isObserved(o Object) bool {
	return intAt(o, "status", "observedGeneration") == in(o).GetGeneration()
}

func isRolledOut(o Object) bool {
	updated := intAt(o, "status", "updatedReplicas")
	return isObserved(o) && updated >= intAt(o, "spec", "replicas") && intAt(o, "status", "availableReplicas") >= updated
}

func hasAddress(o Object) bool {
	return slices.ContainsFunc(listAt(o, "status", "loadBalancer", "ingress"), func(item any) bool {
		address, _ := item.(Object)
		return stringAt(address, "ip") != "" || stringAt(address, "hostname") != ""
	})
}
