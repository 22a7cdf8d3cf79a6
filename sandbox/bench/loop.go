package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// LoopCommand is the name of the subcommand that calls Loop.
const LoopCommand = "bench-loop"

// loop is the limit: a separate process that only POSTs the same bytes that karmada-mirror
// would, with as many requests in flight.
type loop struct{}

func (loop) name() string { return "bare loop" }

func (loop) start(_ context.Context, w *world, s scenario) (started, error) {
	program, err := os.Executable()
	if err != nil {
		return started{}, err
	}
	command := exec.Command(program, LoopCommand, w.kubeconfig, s.load.resource.Group, s.load.resource.Version, s.load.resource.Resource)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Stderr = os.Stderr
	signal, err := command.StdinPipe()
	if err != nil {
		return started{}, err
	}
	ready, err := command.StdoutPipe()
	if err != nil {
		return started{}, err
	}
	if err := command.Start(); err != nil {
		return started{}, err
	}
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		return started{}, errors.Join(fmt.Errorf("cannot start the bare loop: %w", err), command.Wait())
	}
	return started{
		pids:  []int{command.Process.Pid},
		users: []string{daemonUser},
		fire:  func(context.Context) error { _, err := signal.Write([]byte("\n")); return err },
		// It lives until its stdin ends, after its CPU has been read.
		stop: func() error { return errors.Join(signal.Close(), command.Wait()) },
	}, nil
}

// Loop writes a dot to stdout when it has rendered the Works of all sources of a resource, and
// POSTs them when it gets a line on stdin. It returns when stdin ends.
func Loop(ctx context.Context, kubeconfig string, resource schema.GroupVersionResource, stdin io.Reader, stdout io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := loopClient(config)
	if err != nil {
		return err
	}
	works, err := renderWorks(ctx, config, resource)
	if err != nil {
		return err
	}
	if _, err := stdout.Write([]byte(".")); err != nil {
		return err
	}
	if _, err := io.ReadFull(stdin, make([]byte, 1)); err != nil {
		return err
	}
	group, posting := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, work := range works {
		group.Go(func() error { return post(posting, client, work.namespace, work.body) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stdin)
	return err
}

type rendered struct {
	namespace string
	body      []byte
}

// renderWorks renders as the daemon does.
func renderWorks(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource) (works []rendered, err error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	sources, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(clustersResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	clusters := map[string]judge.ClusterFacts{}
	for _, cluster := range list.Items {
		clusters[cluster.GetName()] = judge.ClusterFacts{State: judge.ClusterJoined, Labels: cluster.GetLabels()}
	}
	for i := range sources.Items {
		source := judge.NewSource(&sources.Items[i], render.Wishes{})
		v := judge.Decide(judge.Facts{ID: source.ID, Source: source, Live: true, PoliciesLive: true, AllAtOnce: true, Clusters: clusters})
		if len(v.Refusals) > 0 {
			return nil, fmt.Errorf("cannot render %s: %v", v.ID, v.Refusals)
		}
		for _, op := range v.Plan() {
			body, err := op.Body(v)
			if err != nil {
				return nil, err
			}
			works = append(works, rendered{render.ExecutionNamespace(op.Cluster), body})
		}
	}
	return works, nil
}

func post(ctx context.Context, client rest.Interface, namespace string, body []byte) error {
	return client.Post().Namespace(namespace).Resource(worksResource.Resource).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").Body(body).Do(ctx).Error()
}

func loopClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	gv := worksResource.GroupVersion()
	config.APIPath, config.GroupVersion = "/apis", &gv
	config.NegotiatedSerializer = kubescheme.Codecs.WithoutConversion()
	config.ContentType = "application/json"
	return rest.RESTClientFor(config)
}
