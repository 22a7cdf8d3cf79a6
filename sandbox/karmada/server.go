package karmada

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// administrators is the group that may do everything in every Kubernetes API
// server.
const administrators = "system:masters"

// server is what clients of one kube-apiserver need to know, that of Karmada or
// of a member.
type server struct {
	// name is "karmada" or the member's.
	name      string
	port      int
	authority *authority
	// dir holds the kubeconfigs of components.
	dir string
	// kubeconfig is the path of the administrator's kubeconfig, config its
	// content.
	kubeconfig string
	config     *rest.Config
}

func (k *Karmada) newServer(name string) (*server, error) {
	pki := filepath.Join(k.options.Dir, "pki", name)
	s := &server{
		name:       name,
		dir:        filepath.Join(k.options.Dir, "etc", name),
		kubeconfig: filepath.Join(k.options.Dir, name+".kubeconfig"),
	}
	for _, dir := range []string{pki, s.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot create folder %q: %w", dir, err)
		}
	}
	ports, err := k.ports.take(1)
	if err != nil {
		return nil, err
	}
	s.port = ports[0]
	if s.authority, err = newAuthority(pki, name); err != nil {
		return nil, err
	}
	if err := s.writeKubeconfig(s.kubeconfig, "system:admin", administrators); err != nil {
		return nil, err
	}
	if s.config, err = clientcmd.BuildConfigFromFlags("", s.kubeconfig); err != nil {
		return nil, fmt.Errorf("cannot read kubeconfig %q: %w", s.kubeconfig, err)
	}
	s.config.QPS = -1
	return s, nil
}

// component writes the kubeconfig of a component and returns its path. It has
// all rights, but a user name of its own, which identifies it in the audit log.
func (s *server) component(name string) (string, error) {
	path := filepath.Join(s.dir, name+".kubeconfig")
	return path, s.writeKubeconfig(path, name, administrators)
}

func (s *server) writeKubeconfig(path, user, group string) error {
	issued, err := s.authority.client(user, group)
	if err != nil {
		return err
	}
	var identity clientcmdapi.AuthInfo
	if identity.ClientCertificateData, err = os.ReadFile(issued.cert); err != nil {
		return fmt.Errorf("cannot read certificate %q: %w", user, err)
	}
	if identity.ClientKeyData, err = os.ReadFile(issued.key); err != nil {
		return fmt.Errorf("cannot read key %q: %w", user, err)
	}
	return s.write(path, &identity)
}

// write writes a kubeconfig that can be moved, because it refers to no other
// file.
func (s *server) write(path string, identity *clientcmdapi.AuthInfo) error {
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[s.name] = &clientcmdapi.Cluster{
		Server:                   httpsURL(s.port),
		CertificateAuthorityData: s.authority.pem,
	}
	kubeconfig.AuthInfos[s.name] = identity
	kubeconfig.Contexts[s.name] = &clientcmdapi.Context{Cluster: s.name, AuthInfo: s.name}
	kubeconfig.CurrentContext = s.name
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("cannot write kubeconfig %q: %w", path, err)
	}
	return nil
}
