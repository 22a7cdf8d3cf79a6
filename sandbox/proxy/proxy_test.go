package proxy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

func TestMain(m *testing.M) {
	// client-go's connection pool belongs to the process.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// TestProxy lets a client ask through the proxy while it fails in each way, and then no longer.
func TestProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"ConfigMap","data":{"token":%q}}`, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	config, dir := clientcmdapi.NewConfig(), t.TempDir()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	config.AuthInfos["c"] = &clientcmdapi.AuthInfo{Token: "mine"}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	config.CurrentContext = "c"
	must(t, clientcmd.WriteToFile(*config, filepath.Join(dir, "kubeconfig")))
	p, err := Start(filepath.Join(dir, "kubeconfig"), dir)
	must(t, err)
	through, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	must(t, err)
	client, err := kubernetes.NewForConfig(through)
	must(t, err)
	ask := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		object, err := client.CoreV1().ConfigMaps("shop").Get(ctx, "page", metav1.GetOptions{})
		if err == nil && object.Data["token"] != "Bearer mine" {
			err = fmt.Errorf("the client's token arrives as %q", object.Data["token"])
		}
		return err
	}
	must(t, ask(time.Minute))
	if p.Connections() != 1 {
		t.Errorf("%d connections", p.Connections())
	}

	rule := p.Faults.Inject(fault.Match{Resource: "configmaps"}, fault.Refuse(apierrors.NewUnauthorized("no")))
	if err := ask(time.Minute); !apierrors.IsUnauthorized(err) {
		t.Errorf("it is not refused: %v", err)
	}
	rule.Remove()
	p.Freeze()
	if ask(time.Second/10) == nil {
		t.Error("frozen: there is an answer")
	}
	p.Thaw()
	must(t, ask(time.Minute))
	must(t, p.Close())
	if ask(time.Minute) == nil {
		t.Error("there is an answer from a proxy that is closed")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
