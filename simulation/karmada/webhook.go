package karmada

import (
	"net/http"
	"slices"
	"strings"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

var _ apiserver.Admission = AdmitWork

// AdmitWork is Karmada's mutating webhook for Works (pkg/webhook/work/mutating.go).
func AdmitWork(op string, gr schema.GroupResource, subresource string, new, _ Object) (Object, error) {
	if gr != works() || subresource != "" || op == "DELETE" {
		return new, nil
	}
	work := in(new)
	id := work.GetLabels()[workv1alpha2.WorkPermanentIDLabel]
	if id == "" {
		id = string(uuid.NewUUID())
		merge(work, "labels", map[string]string{workv1alpha2.WorkPermanentIDLabel: id})
	}
	for _, item := range manifests(new) {
		if stringAt(item, "kind") == "" {
			return nil, denied("Object 'Kind' is missing")
		}
		if err := prune(item); err != nil {
			return nil, denied(err.Error())
		}
		record(item, id)
	}
	return new, nil
}

// denied is what the API server answers when the webhook answers 500.
func denied(why string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: `admission webhook "work.karmada.io" denied the request: ` + why,
	}}
}

// manifests are the objects in a Work, as they are stored.
func manifests(work Object) (all []Object) {
	for _, item := range listAt(work, "spec", "workload", "manifests") {
		if o, is := item.(Object); is {
			all = append(all, o)
		}
	}
	return all
}

// prune removes what must not reach a member; it looks at kinds without their groups, as Karmada does
// (pkg/resourceinterpreter/default/native/prune).
func prune(o Object) error {
	for _, field := range []string{
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields", "resourceVersion", "selfLink", "uid",
		"ownerReferences", "finalizers",
	} {
		unstructured.RemoveNestedField(o, "metadata", field)
	}
	delete(o, "status")
	u := in(o)
	annotations := func(keys ...string) {
		for _, key := range keys {
			unstructured.RemoveNestedField(o, "metadata", "annotations", key)
		}
	}
	switch u.GetKind() {
	case "Deployment":
		annotations("deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history")
	case "Job":
		return pruneJob(o)
	case "Secret":
		if stringAt(o, "type") == string(corev1.SecretTypeServiceAccountToken) {
			annotations(corev1.ServiceAccountUIDKey)
			o["data"] = nil
		}
	case "ServiceAccount":
		return pruneServiceAccount(o, u.GetName())
	case "Service":
		if ip := at(o, "spec", "clusterIP"); ip != nil && ip != corev1.ClusterIPNone {
			unstructured.RemoveNestedField(o, "spec", "clusterIP")
			unstructured.RemoveNestedField(o, "spec", "clusterIPs")
		}
	case "PersistentVolumeClaim":
		annotations("volume.kubernetes.io/selected-node")
	}
	return nil
}

func pruneJob(o Object) error {
	job := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, job); err != nil {
		return err
	}
	defer unstructured.RemoveNestedField(o, "spec", "ttlSecondsAfterFinished")
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return nil
	}
	for _, label := range []string{"controller-uid", batchv1.ControllerUidLabel} {
		unstructured.RemoveNestedField(o, "spec", "selector", "matchLabels", label)
		unstructured.RemoveNestedField(o, "spec", "template", "metadata", "labels", label)
	}
	for _, label := range []string{"job-name", batchv1.JobNameLabel} {
		unstructured.RemoveNestedField(o, "spec", "template", "metadata", "labels", label)
	}
	return nil
}

// pruneServiceAccount removes generated tokens; of two that follow each other it leaves the second, and it panics without
// a name, as Karmada does.
func pruneServiceAccount(o Object, name string) error {
	secrets := slices.Clone(listAt(o, "secrets"))
	for i := 0; i < len(secrets); i++ {
		secret, _ := secrets[i].(Object)
		if secret["name"] == nil {
			return denied("panic: interface conversion: interface {} is nil, not string [recovered]")
		}
		if strings.HasPrefix(stringAt(secret, "name"), name+"-token-") {
			secrets = slices.Delete(secrets, i, i+1)
		}
	}
	if len(listAt(o, "secrets")) > 0 {
		o["secrets"] = secrets
	}
	return nil
}
