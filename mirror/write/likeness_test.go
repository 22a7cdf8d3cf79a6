package write

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
)

// TestMovedBacksOff: a Work that differs from the cached one, whose content another one is to get, is not read all the time.
func TestMovedBacksOff(t *testing.T) {
	source := asking("1", "m1,m2")
	sibling := observed(source, "m2", sample.Version("7"))
	moved := sample.WorkOf(source.Template.Work("m2"), sample.Edited, sample.Version("8"))
	reads := 0
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		reads++
		_ = json.NewEncoder(rw).Encode(moved.Object)
	}))
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Unix(1, 0))
	w := NewWriter(Options{Client: client, Memory: memory.New(clock), Breaker: NewBreaker(clock, 0), Caches: cached{}, Reports: untold{}, InFlight: 1})
	v := wanting(source)
	var waited time.Duration
	for range 100 {
		o := &Outcome{}
		w.CarryOut(t.Context(), v, judge.Operation{Kind: judge.Create, Cluster: "m1", From: sibling}, o)
		if o.Retry == 0 || o.Err() != nil {
			break
		}
		waited += o.Retry
		clock.Step(o.Retry)
	}
	if reads > 20 && waited < 10*time.Second {
		t.Errorf("%d reads of a whole Work within %s", reads, waited)
	}
}
