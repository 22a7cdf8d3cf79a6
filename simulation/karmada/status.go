package karmada

import (
	"fmt"
	"slices"
	"strconv"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// syncStatus is the work-status controller (pkg/controllers/status/work_status_controller.go), which in 1.18 repairs what
// was changed or deleted in the member as well.
func (m *Member) syncStatus(key objectKey) error {
	observed := m.Store.Get(key.object)
	if observed == nil {
		return m.recreate(key)
	}
	now, err := m.keyOf(observed)
	if err != nil || now.work.Namespace == "" || now.work.Name == "" {
		return nil
	}
	work := m.k.control.Get(now.work)
	if work == nil || in(work).GetDeletionTimestamp() != nil {
		return nil
	}
	if err := m.repair(now, work, observed); err != nil {
		return err
	}
	return m.reflect(now, work, observed)
}

// repair puts an object back to what its Work says.
func (m *Member) repair(key objectKey, work, observed Object) error {
	if boolAt(work, "spec", "suspendDispatching") {
		return nil
	}
	i := indexOf(work, observed)
	if i < 0 {
		return fmt.Errorf("no such manifest exist")
	}
	desired := copyOf(manifests(work)[i])
	if !m.needsUpdate(key, desired, observed) {
		return nil
	}
	if m.k.options.Version == V119 {
		m.works.add(key.work)
		return nil
	}
	return m.update(key, desired, observed)
}

// recreate creates an object that is gone from the member again: in 1.18 that of the Work which has its name, in 1.19
// that of the Work which the object named.
func (m *Member) recreate(key objectKey) error {
	if m.k.options.Version == V119 {
		m.works.add(key.work)
		return nil
	}
	ref := key.work
	ref.Name = workName(key.Kind, key.object.Name, key.object.Namespace)
	work := m.k.control.Get(ref)
	if work == nil || in(work).GetDeletionTimestamp() != nil || boolAt(work, "spec", "suspendDispatching") {
		return nil
	}
	for _, manifest := range manifests(work) {
		of, err := m.keyOf(manifest)
		if err != nil || of.GroupVersionKind != key.GroupVersionKind || of.object != key.object {
			continue
		}
		name := key.object.Namespace + "/" + key.object.Name
		if err := m.create(of, copyOf(manifest)); err != nil {
			m.sourceEvent(statusController, manifest, corev1.EventTypeWarning, syncFailed, fmt.Sprintf("Failed to create or update resource(%s) in member cluster(%s): %v", name, m.Name, err))
			_ = m.applied(ref, metav1.ConditionFalse, "ReCreateFailed", err.Error())
			return err
		}
		m.sourceEvent(statusController, manifest, corev1.EventTypeNormal, syncSucceed, fmt.Sprintf("Successfully applied resource(%s) to cluster %s", name, m.Name))
		break
	}
	return m.applied(ref, metav1.ConditionTrue, "ReCreateSuccessful", "Manifest has been successfully applied")
}

// indexOf is the place of an object in a Work, or -1.
func indexOf(work, o Object) int {
	u := in(o)
	for i, manifest := range manifests(work) {
		if d := in(manifest); d.GroupVersionKind() == u.GroupVersionKind() && d.GetNamespace() == u.GetNamespace() && d.GetName() == u.GetName() {
			return i
		}
	}
	return -1
}

// reflect writes the status and the health of an object to its Work.
func (m *Member) reflect(key objectKey, work, observed Object) error {
	name := key.Kind + "/" + key.object.Namespace + "/" + key.object.Name
	event := func(kind, reason, message string) { m.k.recorder.event(statusController, work, kind, reason, message) }
	status, err := reflected(key.GroupVersionKind, observed)
	if err != nil {
		event(corev1.EventTypeWarning, "ReflectStatusFailed", fmt.Sprintf("Reflect status for object(%s) failed, err: %s.", name, err))
		return err
	}
	event(corev1.EventTypeNormal, "ReflectStatusSucceed", fmt.Sprintf("Reflect status for object(%s) succeed.", name))
	health := workv1alpha1.ResourceHealthy
	if isHealthy := interpreters[key.GroupVersionKind]; isHealthy != nil {
		text := "healthy"
		if !isHealthy(observed) {
			health, text = workv1alpha1.ResourceUnhealthy, "unhealthy"
		}
		event(corev1.EventTypeNormal, "InterpretHealthSucceed", fmt.Sprintf("Interpret health of object(%s) as %s.", name, text))
	}
	i := indexOf(work, observed)
	if i < 0 {
		return fmt.Errorf("no such manifest exist")
	}
	identifier := Object{"ordinal": int64(i), "version": key.Version, "kind": key.Kind, "resource": "", "name": key.object.Name}
	for field, value := range map[string]string{"group": key.Group, "namespace": key.object.Namespace} {
		if value != "" {
			identifier[field] = value
		}
	}
	report := Object{"identifier": identifier, "health": string(health)}
	if status != nil {
		report["status"] = status
	}
	return setStatus(m.k.control, key.work, func(o Object) {
		o["manifestStatuses"] = []any{report} // one only: there is one manifest in a Work
	})
}

// reflection says what of a status is reported.
type reflection struct {
	always, ifSet []string // fields
	generations   bool     // those of the object and of its source
}

// reflections are those of pkg/resourceinterpreter/default/native/reflectstatus.go; of other kinds the whole status is
// reported.
var reflections = map[schema.GroupVersionKind]reflection{
	appsKind("Deployment"):  {nil, []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas", "observedGeneration"}, true},
	appsKind("ReplicaSet"):  {[]string{"replicas"}, []string{"fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"}, true},
	appsKind("StatefulSet"): {[]string{"replicas", "availableReplicas"}, []string{"currentReplicas", "readyReplicas", "updatedReplicas"}, true},
	appsKind("DaemonSet"): {
		[]string{"currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"},
		[]string{"numberAvailable", "updatedNumberScheduled", "numberUnavailable", "observedGeneration"}, true,
	},
	{Group: "batch", Version: "v1", Kind: "Job"}: {nil, []string{"active", "succeeded", "failed", "conditions", "startTime", "completionTime"}, false},
	{Version: "v1", Kind: "Service"}:             {[]string{"loadBalancer"}, nil, false},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}: {
		[]string{"disruptionsAllowed", "expectedPods", "desiredHealthy", "currentHealthy"}, []string{"disruptedPods"}, false,
	},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: {[]string{"desiredReplicas"}, []string{"currentReplicas"}, false},
}

// reflected is what a Work reports of an object's status, nil for nothing.
func reflected(gvk schema.GroupVersionKind, o Object) (any, error) {
	status := objectAt(o, "status")
	of, special := reflections[gvk]
	if status == nil || gvk.Kind == "Service" && gvk.Group == "" && stringAt(o, "spec", "type") != string(corev1.ServiceTypeLoadBalancer) {
		return nil, nil
	}
	if !special {
		return status, nil
	}
	report := Object{}
	for _, field := range of.always {
		report[field] = any(int64(0))
		if field == "loadBalancer" {
			report[field] = Object{}
		}
	}
	for _, fields := range [][]string{of.always, of.ifSet} {
		for _, field := range fields {
			if value := status[field]; value != nil && value != int64(0) {
				report[field] = value
			}
		}
	}
	if of.generations {
		u := in(o)
		generation, err := strconv.ParseInt(u.GetAnnotations()[workv1alpha2.ResourceTemplateGenerationAnnotationKey], 10, 64)
		if err != nil {
			return nil, err
		}
		for field, value := range map[string]int64{"generation": u.GetGeneration(), "resourceTemplateGeneration": generation} {
			if value != 0 {
				report[field] = value
			}
		}
	}
	return report, nil
}

func intAt(o Object, path ...string) int64 { n, _ := at(o, path...).(int64); return n }

func appsKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

// interpreters say whether an object is healthy (pkg/resourceinterpreter/default/native/healthy.go); other kinds are.
var interpreters = map[schema.GroupVersionKind]func(Object) bool{
	appsKind("Deployment"):  isRolledOut,
	appsKind("StatefulSet"): isRolledOut,
	appsKind("ReplicaSet"): func(o Object) bool {
		return isObserved(o) && intAt(o, "status", "availableReplicas") >= intAt(o, "spec", "replicas")
	},
	appsKind("DaemonSet"): func(o Object) bool {
		updated := intAt(o, "status", "updatedNumberScheduled")
		return isObserved(o) && updated >= intAt(o, "status", "desiredNumberScheduled") && intAt(o, "status", "numberAvailable") >= updated
	},
	{Version: "v1", Kind: "Service"}: func(o Object) bool {
		return stringAt(o, "spec", "type") != string(corev1.ServiceTypeLoadBalancer) || hasAddress(o)
	},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}: hasAddress,
	{Version: "v1", Kind: "PersistentVolumeClaim"}: func(o Object) bool {
		return stringAt(o, "status", "phase") == string(corev1.ClaimBound)
	},
	{Version: "v1", Kind: "Pod"}: func(o Object) bool {
		phase := stringAt(o, "status", "phase")
		return phase == string(corev1.PodSucceeded) || phase == string(corev1.PodRunning) && isTrue(o, string(corev1.PodReady))
	},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}: func(o Object) bool {
		return intAt(o, "status", "currentHealthy") >= intAt(o, "status", "desiredHealthy")
	},
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
