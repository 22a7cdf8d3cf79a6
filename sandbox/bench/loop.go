package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/render"
)

// LoopCommand is the name of the subcommand that calls Loop, and LoopWatches is its flag.
const (
	LoopCommand = "bench-loop"
	LoopWatches = "watch"
)

// loop is the limit: a separate process that only POSTs the same bytes that karmada-mirror
// would, with as many requests in flight.
type loop struct {
	// watches means that it also watches its Works, as every controller that must know
	// their state does, and discards the events.
	watches bool
}

func (l loop) name() string {
	if l.watches {
		return "bare loop that watches"
	}
	return "bare loop"
}

func (loop) mark() mark { return annotated }

func (l loop) start(ctx context.Context, w *world, s scenario) (started, error) {
	path, err := w.writeBodies(ctx, s)
	if err != nil {
		return started{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return started{}, err
	}
	command := exec.Command(program, LoopCommand, w.kubeconfig, path, strconv.Itoa(inFlight), fmt.Sprintf("--%s=%t", LoopWatches, l.watches))
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
	finished := make(chan struct{})
	go func() {
		if _, err := io.ReadFull(ready, make([]byte, 1)); err == nil {
			close(finished)
		}
	}()
	return started{
		pids:  map[string]int{l.name(): command.Process.Pid},
		users: []string{daemonUser},
		fire:  func(context.Context) error { _, err := signal.Write([]byte("\n")); return err },
		// It lives until its stdin ends, after its CPU has been read.
		stop: func() error { return errors.Join(signal.Close(), command.Wait(), os.Remove(path)) },
		unfinished: func(context.Context) error {
			select {
			case <-finished:
				return nil
			default:
				return errors.New("the bare loop still waits for responses")
			}
		},
	}, nil
}

// writeBodies renders every Work of a scenario into a file: one per line, after its namespace.
func (w *world) writeBodies(ctx context.Context, s scenario) (path string, err error) {
	list, err := w.admin.Resource(s.load.resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	path = filepath.Join(filepath.Dir(w.AuditLog()), "bodies")
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriter(file)
	clusters, policies, err := w.surroundings(ctx, s)
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		err := bodiesOf(&list.Items[i], clusters, policies, func(cluster string, body []byte) error {
			_, err := fmt.Fprintf(out, "%s\t%s\n", render.ExecutionNamespace(cluster), body)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return path, out.Flush()
}

// Loop writes a dot to stdout when it has read the bodies of a file, and POSTs them when it
// gets a line on stdin. It writes a second dot when all have a response and, if it watches,
// have come back. It returns when stdin ends.
func Loop(ctx context.Context, kubeconfig, path string, inFlight int, watches bool, stdin io.Reader, stdout io.Writer) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	client, err := loopClient(kubeconfig)
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))
	returned := func() error { return nil }
	if watches {
		stream, err := client.Get().Resource(worksResource.Resource).Param("watch", "true").Param("labelSelector", render.OurWorks).Stream(ctx)
		if err != nil {
			return err
		}
		defer stream.Close()
		var watching errgroup.Group
		// An event is a line.
		watching.Go(func() error { return skipLines(stream, len(lines)) })
		returned = watching.Wait
	}
	if _, err := stdout.Write([]byte(".")); err != nil {
		return err
	}
	if _, err := io.ReadFull(stdin, make([]byte, 1)); err != nil {
		return err
	}
	group, posting := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, line := range lines {
		group.Go(func() error {
			namespace, body, _ := bytes.Cut(line, []byte("\t"))
			return post(posting, client, string(namespace), body)
		})
	}
	if err := errors.Join(group.Wait(), returned()); err != nil {
		return err
	}
	if _, err := stdout.Write([]byte(".")); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stdin)
	return err
}

// skipLines reads n lines and discards them.
func skipLines(from io.Reader, n int) error {
	for buffer := make([]byte, 64<<10); n > 0; {
		read, err := from.Read(buffer)
		n -= bytes.Count(buffer[:read], []byte("\n"))
		if n > 0 && err != nil {
			return fmt.Errorf("the watch ended %d Works early: %w", n, err)
		}
	}
	return nil
}

func post(ctx context.Context, client rest.Interface, namespace string, body []byte) error {
	return client.Post().Namespace(namespace).Resource(worksResource.Resource).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").Body(body).Do(ctx).Error()
}

func loopClient(kubeconfig string) (rest.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	gv := worksResource.GroupVersion()
	config.APIPath, config.GroupVersion = "/apis", &gv
	config.NegotiatedSerializer = kubescheme.Codecs.WithoutConversion()
	config.ContentType = "application/json"
	return rest.RESTClientFor(config)
}
