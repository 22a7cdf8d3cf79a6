package daemon

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
)

// slowSink takes an Event in a tenth of a second.
type slowSink struct {
	record.EventSink
	taken map[string]bool
}

func (s slowSink) Create(event *corev1.Event) (*corev1.Event, error) {
	time.Sleep(100 * time.Millisecond)
	s.taken[event.InvolvedObject.Name] = true
	return event, nil
}

func (s slowSink) Patch(event *corev1.Event, _ []byte) (*corev1.Event, error) { return s.Create(event) }

// TestPace: none of more Events than client-go keeps is lost, however slow the API server is;
// and Events that client-go never sends do not block for long.
func TestPace(t *testing.T) {
	const events = 3 * maxAhead
	synctest.Test(t, func(t *testing.T) {
		sink, p := slowSink{taken: map[string]bool{}}, make(pace, maxAhead)
		broadcaster := record.NewBroadcaster()
		broadcaster.StartRecordingToSink(pacedSink{sink, p})
		recorder := pacedRecorder{broadcaster.NewRecorder(kubescheme.Scheme, corev1.EventSource{Component: "karmada-mirror"}), p}
		record := func(name string) {
			recorder.Event(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}}, corev1.EventTypeWarning, "UnknownCluster", name)
		}
		for i := range events {
			record(fmt.Sprint("page-", i))
		}
		time.Sleep(time.Hour) // of the bubble
		synctest.Wait()
		if len(sink.taken) != events {
			t.Errorf("%d of %d were taken", len(sink.taken), events)
		}
		for len(p) < maxAhead { // as if none of these was ever sent
			p.recorded()
		}
		began := time.Now()
		record("another")
		if waited := time.Since(began); waited > 2*maxPause || len(p) > 1 {
			t.Errorf("waits %s for Events that are never sent; %d are ahead", waited, len(p))
		}
		time.Sleep(time.Hour)
		broadcaster.Shutdown()
	})
}
