package karmada

import (
	"fmt"
	"os"
	"path/filepath"
)

// The names of the control plane's components, for [Karmada.Component].
const (
	Etcd                  = "etcd"
	APIServer             = "karmada-apiserver"
	KubeControllerManager = "kube-controller-manager"
	AggregatedAPIServer   = "karmada-aggregated-apiserver"
	Webhook               = "karmada-webhook"
	ControllerManager     = "karmada-controller-manager"
	Scheduler             = "karmada-scheduler"
)

// MemberAPIServer is the name of a member's kube-apiserver.
func MemberAPIServer(member string) string { return member + "-apiserver" }

// MemberControllerManager is the name of a member's kube-controller-manager.
func MemberControllerManager(member string) string { return member + "-kube-controller-manager" }

// MemberScheduler is the name of the kube-scheduler of a member with nodes.
func MemberScheduler(member string) string { return member + "-kube-scheduler" }

// MemberKwok is the name of the program that plays the kubelets of a member with nodes.
func MemberKwok(member string) string { return member + "-kwok" }

// Agent is the name of the karmada-agent of a member in pull mode.
func Agent(member string) string { return member + "-karmada-agent" }

// karmadaPrefix is where the Karmada API server and karmada-aggregated-apiserver
// keep their objects in the one etcd.
const karmadaPrefix = "/karmada"

// karmadaControllers run beside the API server in Karmada's own installation:
// artifacts/deploy/kube-controller-manager.yaml, v1.18.2.
const karmadaControllers = "namespace,garbagecollector,serviceaccount-token,ttl-after-finished," +
	"bootstrapsigner,tokencleaner,csrcleaner,csrsigning,clusterrole-aggregation"

// memberControllers are a cluster's controllers that make sense without nodes or with
// nodes that never fail: a Deployment gets its ReplicaSet and Pods, a namespace its
// ServiceAccount.
const memberControllers = "namespace,garbagecollector,serviceaccount,serviceaccount-token,root-ca-cert-publisher," +
	"clusterrole-aggregation,deployment,replicaset,statefulset,daemonset,job,cronjob,ttl-after-finished,endpointslice"

// statusFlags set how fast an outage of a member is noticed: within 10 s in push
// mode (probed every 2 s, and may be silent for 4 s) and within 12 s in pull mode (a
// lease of 8 s, renewed every 2 s and checked every second). Karmada's defaults are
// 10 s, 30 s and 40 s. With much less, a busy machine would make members look lost,
// and the executor would then back off for up to 1000 s.
func statusFlags() []string {
	return []string{
		"--cluster-status-update-frequency=2s",
		"--cluster-success-threshold=1s",
		"--cluster-failure-threshold=4s",
	}
}

func (k *Karmada) etcdSpec() (spec, error) {
	ports, err := k.ports.take(2)
	if err != nil {
		return spec{}, err
	}
	client, peer := "http://"+address(ports[0]), "http://"+address(ports[1])
	k.etcd = client
	return spec{
		name: Etcd, program: "etcd", tier: storage, probe: client + "/health",
		flags: []string{
			"--name=sandbox",
			"--data-dir=" + filepath.Join(k.options.Dir, "etcd"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=sandbox=" + peer,
			// A crash of the machine may lose data, which no one would miss.
			"--unsafe-no-fsync",
			"--quota-backend-bytes=8589934592",
		},
	}, nil
}

// kubeAPIServerSpec specifies any API server of the sandbox, including the Karmada
// API server; etcdPrefix separates their objects.
func (k *Karmada) kubeAPIServerSpec(s *server, name, etcdPrefix string, more ...string) (spec, error) {
	serving, err := s.authority.serving("apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return spec{}, err
	}
	proxy, err := s.authority.client("front-proxy-client")
	if err != nil {
		return spec{}, err
	}
	ca := s.authority.self().cert
	tokens := s.authority.self().key // the controller manager has it, too
	return spec{
		name: name, program: "kube-apiserver", tier: servers,
		probe: httpsURL(s.port) + "/readyz", ca: s.authority.pem,
		flags: append([]string{
			"--etcd-servers=" + k.etcd, "--etcd-prefix=" + etcdPrefix,
			"--bind-address=" + host, fmt.Sprintf("--secure-port=%d", s.port),
			"--tls-cert-file=" + serving.cert, "--tls-private-key-file=" + serving.key,
			"--client-ca-file=" + ca,
			"--authorization-mode=RBAC",
			"--requestheader-client-ca-file=" + ca,
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + proxy.cert, "--proxy-client-key-file=" + proxy.key,
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + tokens, "--service-account-signing-key-file=" + tokens,
			"--service-cluster-ip-range=10.96.0.0/16",
			// The endpoint of the Service "kubernetes" must not be a loopback
			// address, and nothing uses it here.
			"--endpoint-reconciler-type=none",
		}, more...),
	}, nil
}

func (k *Karmada) karmadaAPIServerSpec() (spec, error) {
	policy := filepath.Join(k.options.Dir, "etc", "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return spec{}, fmt.Errorf("cannot write the audit policy: %w", err)
	}
	s, err := k.kubeAPIServerSpec(k.server, APIServer, karmadaPrefix,
		// As in Karmada's artifacts/deploy/karmada-apiserver.yaml, v1.18.2: no
		// Pod is ever admitted here.
		"--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection",
		"--audit-policy-file="+policy,
		"--audit-log-path="+k.AuditLog(),
		// A request is logged before its answer is sent, and in one file.
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=102400",
	)
	s.binary = k.options.Programs.APIServer
	return s, err
}

// auditPolicy records who requested what, and the result.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// identity gives a component what it needs to call a server and to serve others: a kubeconfig, a
// certificate for its names, and ports.
func (k *Karmada) identity(s *server, name string, ports int, names ...string) (kubeconfig string, serving pair, taken []int, err error) {
	if kubeconfig, err = s.component(name); err != nil {
		return "", pair{}, nil, err
	}
	if serving, err = s.authority.serving(name+"-serving", names...); err != nil {
		return "", pair{}, nil, err
	}
	taken, err = k.ports.take(ports)
	return kubeconfig, serving, taken, err
}

func (k *Karmada) kubeControllerManagerSpec(s *server, name, controllers string) (spec, error) {
	kubeconfig, serving, ports, err := k.identity(s, "kube-controller-manager", 1)
	if err != nil {
		return spec{}, err
	}
	ca := s.authority.self()
	return spec{
		name: name, program: "kube-controller-manager", tier: callers,
		probe: httpsURL(ports[0]) + "/healthz", ca: s.authority.pem,
		flags: []string{
			"--kubeconfig=" + kubeconfig,
			"--bind-address=" + host, fmt.Sprintf("--secure-port=%d", ports[0]),
			"--tls-cert-file=" + serving.cert, "--tls-private-key-file=" + serving.key,
			"--cluster-name=" + s.name,
			"--cluster-signing-cert-file=" + ca.cert, "--cluster-signing-key-file=" + ca.key,
			"--controllers=" + controllers,
			"--leader-elect=false",
			"--root-ca-file=" + ca.cert,
			"--service-account-private-key-file=" + ca.key,
		},
	}, nil
}

func (k *Karmada) aggregatedAPIServerSpec() (s spec, port int, err error) {
	// The Karmada API server verifies the name of the Service, not the address
	// behind it.
	kubeconfig, serving, ports, err := k.identity(k.server, AggregatedAPIServer, 1, AggregatedAPIServer+"."+systemNamespace+".svc")
	if err != nil {
		return spec{}, 0, err
	}
	return spec{
		name: AggregatedAPIServer, program: AggregatedAPIServer, tier: servers,
		probe: httpsURL(ports[0]) + "/readyz", ca: k.server.authority.pem,
		flags: []string{
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--etcd-servers=" + k.etcd, "--etcd-prefix=" + karmadaPrefix,
			"--bind-address=" + host, fmt.Sprintf("--secure-port=%d", ports[0]),
			"--tls-cert-file=" + serving.cert, "--tls-private-key-file=" + serving.key,
		},
	}, ports[0], nil
}

func (k *Karmada) webhookSpec() (s spec, port int, err error) {
	kubeconfig, serving, ports, err := k.identity(k.server, Webhook, 2)
	if err != nil {
		return spec{}, 0, err
	}
	return spec{
		name: Webhook, program: Webhook, tier: servers,
		probe: httpsURL(ports[0]) + "/readyz", ca: k.server.authority.pem,
		flags: []string{
			"--kubeconfig=" + kubeconfig,
			"--bind-address=" + host, fmt.Sprintf("--secure-port=%d", ports[0]),
			"--cert-dir=" + filepath.Dir(serving.cert),
			"--tls-cert-file-name=" + filepath.Base(serving.cert),
			"--tls-private-key-file-name=" + filepath.Base(serving.key),
			"--health-probe-bind-address=" + address(ports[1]),
			"--metrics-bind-address=0",
		},
	}, ports[0], nil
}

// controllerSpec specifies a component of Karmada that only calls others.
func (k *Karmada) controllerSpec(name, program, kubeconfigFlag string, flags ...string) (spec, error) {
	ports, err := k.ports.take(1)
	if err != nil {
		return spec{}, err
	}
	return spec{
		name: name, program: program, tier: callers,
		probe: "http://" + address(ports[0]) + "/healthz",
		flags: append([]string{
			kubeconfigFlag,
			"--leader-elect=false",
			"--health-probe-bind-address=" + address(ports[0]),
			"--metrics-bind-address=0",
		}, flags...),
	}, nil
}

// administratorSpec specifies one with all rights.
func (k *Karmada) administratorSpec(name string, flags ...string) (spec, error) {
	kubeconfig, err := k.server.component(name)
	if err != nil {
		return spec{}, err
	}
	return k.controllerSpec(name, name, "--kubeconfig="+kubeconfig, flags...)
}

func (k *Karmada) controllerManagerSpec() (spec, error) {
	return k.administratorSpec(ControllerManager, append(statusFlags(),
		// As in Karmada's artifacts/deploy/karmada-controller-manager.yaml, v1.18.2.
		"--controllers=*,hpaScaleTargetMarker,deploymentReplicasSyncer",
		"--cluster-monitor-period=1s",
		"--cluster-monitor-grace-period=12s",
	)...)
}

func (k *Karmada) schedulerSpec() (spec, error) {
	// The estimator is one more component per member, which estimates free nodes.
	return k.administratorSpec(Scheduler, "--enable-scheduler-estimator=false")
}

func (k *Karmada) agentSpec(m *member) (spec, error) {
	kubeconfig := k.AgentKubeconfig(m.Name)
	if err := k.server.writeKubeconfig(kubeconfig, agentUser(m.Name), agentGroup); err != nil {
		return spec{}, err
	}
	return k.controllerSpec(Agent(m.Name), "karmada-agent", "--karmada-kubeconfig="+kubeconfig, append(statusFlags(),
		"--kubeconfig="+m.server.kubeconfig,
		"--cluster-name="+m.Name,
		"--cluster-api-endpoint="+m.server.config.Host,
		"--cluster-lease-duration=8s",
	)...)
}
