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
	"k8s.io/client-go/kubernetes"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/karmada-target/karmada-mirror/mirror"
)

// eventTimeout is how long recording an Event may take: the next ones wait for it.
const eventTimeout = 30 * time.Second

// newEvents creates the recorder of Events. It has a client of its own, so that Events and
// Works do not delay each other.
func newEvents(ctx context.Context, config *rest.Config) (record.EventBroadcaster, record.EventRecorder, error) {
	config = withLimits(config, mirror.EventsPerSecond, 2*mirror.EventsPerSecond)
	config.Timeout = eventTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a client for Events: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{SpamKeyFunc: spamKey}))
	p := make(pace, maxAhead)
	broadcaster.StartRecordingToSink(pacedSink{eventSink{&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")}}, p})
	return broadcaster, pacedRecorder{broadcaster.NewRecorder(kubescheme.Scheme, corev1.EventSource{Component: "karmada-mirror"}), p}, nil
}

// spamKey is what client-go allows 25 Events at once for: many about one thing take none from another about the same object.
func spamKey(e *corev1.Event) string {
	return strings.Join([]string{e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, string(e.InvolvedObject.UID), e.Reason}, "/")
}

// eventSink names an Event after its content. client-go deduplicates Events only within a
// process, from memory; a new leader finds every problem again, and without this would
// create new Events for all of them with each rollout.
type eventSink struct {
	record.EventSink
}

// Create implements record.EventSink. If the Event exists, it updates lastTimestamp.
func (s eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	event.Name = eventName(event)
	created, err := s.EventSink.Create(event)
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	patch, err := json.Marshal(map[string]any{"lastTimestamp": event.LastTimestamp})
	if err != nil {
		return nil, err
	}
	return s.Patch(event, patch)
}

func eventName(event *corev1.Event) string {
	about := event.InvolvedObject
	sum := sha256.Sum256([]byte(strings.Join([]string{
		about.APIVersion, about.Kind, about.Namespace, about.Name, string(about.UID), event.Type, event.Reason, event.Message,
	}, "\n")))
	return fmt.Sprintf("karmada-mirror.%x", sum[:16])
}
