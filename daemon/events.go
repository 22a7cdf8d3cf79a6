package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/mirror"
)

// eventTimeout is how long recording an Event may take: the next ones wait for it.
const eventTimeout = 30 * time.Second

// events records Events. client-go's recorder deduplicates them only within a process, from memory, and drops what
// the API server refuses once.
type events struct {
	client typedcorev1.EventsGetter
}

// newEvents creates a recorder with a client of its own, so that Events and Works do not delay each other.
func newEvents(config *rest.Config) (*events, error) {
	config = withLimits(config, mirror.EventsPerSecond, 2*mirror.EventsPerSecond)
	config.Timeout = eventTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for Events: %w", err)
	}
	return &events{client.CoreV1()}, nil
}

// Record implements mirror.Events. An Event is named after its content: a new leader finds every problem again, and
// updates the time of the Event.
func (e *events) Record(ctx context.Context, at time.Time, about *corev1.ObjectReference, eventType, reason, message string) error {
	now := metav1.NewTime(at)
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: about.Namespace},
		InvolvedObject: *about, Type: eventType, Reason: reason, Message: message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: mirror.EventSource}, ReportingController: mirror.EventSource,
	}
	if event.Namespace == "" {
		event.Namespace = metav1.NamespaceDefault
	}
	event.Name = eventName(event)
	_, err := e.client.Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	patch, err := json.Marshal(map[string]any{"lastTimestamp": now})
	if err == nil {
		_, err = e.client.Events(event.Namespace).Patch(ctx, event.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}

func eventName(event *corev1.Event) string {
	about := event.InvolvedObject
	sum := sha256.Sum256([]byte(strings.Join([]string{
		about.APIVersion, about.Kind, about.Namespace, about.Name, string(about.UID), event.Type, event.Reason, event.Message,
	}, "\n")))
	return fmt.Sprintf("karmada-mirror.%x", sum[:16])
}
