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
)

// AdmitWork is Karmada's mutating webhook for Works (pkg/webhook/work/mutating.go), an apiserver.Admission.
func AdmitWork(op string, gr schema.GroupResource, subresource string, new, _ Object) (Object, error) {
	if gr != works || subresource != "" || op == "DELETE" {
		return new, nil
	}
	id := in(new).GetLabels()[workv1alpha2.WorkPermanentIDLabel]
	if id == "" {
		id = string(uuid.NewUUID())
		merge(new, "labels", map[string]string{workv1alpha2.WorkPermanentIDLabel: id})
	}
	if objectAt(new, "spec", "workload") == nil { // a field that Karmada's type always has
		_ = unstructured.SetNestedMap(new, Object{}, "spec", "workload") // the spec is an object, or missing
	}
	for _, manifest := range manifests(new) {
		if stringAt(manifest, "kind") == "" {
			return nil, denied("Object 'Kind' is missing")
		}
		if err := prune(manifest); err != nil {
			return nil, denied(err.Error())
		}
		record(manifest, id)
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

// prune removes what must not reach a member; it looks at kinds without their groups, as Karmada does
// (pkg/resourceinterpreter/default/native/prune).
func prune(o Object) error {
	metadata := objectAt(o, "metadata")
	for _, field := range []string{
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields", "resourceVersion", "selfLink", "uid",
		"ownerReferences", "finalizers",
	} {
		delete(metadata, field)
	}
	delete(o, "status")
	annotations := objectAt(metadata, "annotations")
	switch stringAt(o, "kind") {
	case "Deployment":
		delete(annotations, "deployment.kubernetes.io/revision")
		delete(annotations, "deployment.kubernetes.io/revision-history")
	case "Job":
		return pruneJob(o)
	case "Secret":
		if stringAt(o, "type") == string(corev1.SecretTypeServiceAccountToken) {
			delete(annotations, corev1.ServiceAccountUIDKey)
			o["data"] = nil
		}
	case "ServiceAccount":
		return pruneServiceAccount(o)
	case "Service":
		if ip, is := at(o, "spec", "clusterIP").(string); is && ip != corev1.ClusterIPNone {
			delete(objectAt(o, "spec"), "clusterIP")
			delete(objectAt(o, "spec"), "clusterIPs")
		}
	case "PersistentVolumeClaim":
		delete(annotations, "volume.kubernetes.io/selected-node")
	}
	return nil
}

func pruneJob(o Object) error {
	job := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, job); err != nil {
		return err
	}
	unstructured.RemoveNestedField(o, "spec", "ttlSecondsAfterFinished")
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return nil
	}
	for _, label := range []string{"controller-uid", batchv1.ControllerUidLabel} {
		unstructured.RemoveNestedField(o, "spec", "selector", "matchLabels", label)
	}
	for _, label := range []string{"controller-uid", batchv1.ControllerUidLabel, "job-name", batchv1.JobNameLabel} {
		unstructured.RemoveNestedField(o, "spec", "template", "metadata", "labels", label)
	}
	return nil
}

// pruneServiceAccount removes generated tokens. Of two that follow each other it leaves the second, and it fails where
// Karmada panics.
func pruneServiceAccount(o Object) error {
	secrets := slices.Clone(listAt(o, "secrets"))
	for i := 0; i < len(secrets); i++ {
		secret, _ := secrets[i].(Object)
		name, is := secret["name"].(string)
		if !is {
			return apierrors.NewInternalError(apierrors.NewBadRequest("panic: a secret has no name"))
		}
		if strings.HasPrefix(name, in(o).GetName()+"-token-") {
			secrets = slices.Delete(secrets, i, i+1)
		}
	}
	if secrets != nil {
		o["secrets"] = secrets
	}
	return nil
}
