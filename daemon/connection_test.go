package daemon

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// TestConnectionTrusts: a server whose certificate another authority has signed gets no
// request, and so no token.
func TestConnectionTrusts(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	another, _, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	authorities := map[string]struct {
		reason    string
		authority []byte
		want      int
	}{
		"Its":     {"the server is who it says", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 1},
		"Another": {"a man in the middle", another, 0},
		"None":    {"the system's authorities have not signed its certificate", nil, 0},
	}
	for name, c := range authorities {
		t.Run(name, func(t *testing.T) {
			asked = 0
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			err := clientcmd.WriteToFile(clientcmdapi.Config{
				CurrentContext: "c", Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "u"}},
				Clusters:  map[string]*clientcmdapi.Cluster{"c": {Server: server.URL, CertificateAuthorityData: c.authority}},
				AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {Token: "token"}},
			}, kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			config, err := (&Options{kubeconfig: kubeconfig}).connection("test")
			if err != nil {
				t.Fatal(err)
			}
			client, err := rest.HTTPClientFor(config.Config)
			if err != nil {
				t.Fatal(err)
			}
			defer client.CloseIdleConnections()
			response, err := client.Get(server.URL)
			if err == nil {
				_ = response.Body.Close()
			}
			if asked != c.want || (err == nil) != (c.want > 0) {
				t.Errorf("%s: %d requests, %v", c.reason, asked, err)
			}
		})
	}
}
