package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/watch"
)

// filePeriod is how often a configuration file is read.
const filePeriod = time.Second

// configurationName is the ConfigMap as namespace/name, or the path of the file.
func (o *Options) configurationName() string {
	if o.configFile != "" {
		return o.configFile
	}
	return o.configMapName.String()
}

// loadConfiguration follows the configuration until ctx is done.
func (d *daemon) loadConfiguration(ctx context.Context) error {
	if d.options.configFile != "" {
		return d.followFile(ctx, d.options.configFile)
	}
	d.configMap.Run(ctx)
	return nil
}

// followFile polls the file: --config is for development and needs no more.
// The first read must succeed.
func (d *daemon) followFile(ctx context.Context, name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("cannot read the configuration: %w", err)
	}
	if err := d.controller.Configure(config.Parts{config.Key: string(data)}); err != nil {
		return err
	}
	missing := rate.Sometimes{First: 1, Interval: time.Minute}
	wait.UntilWithContext(ctx, func(context.Context) {
		now, err := os.ReadFile(name)
		if err != nil {
			missing.Do(func() {
				d.logger.Error("cannot read the configuration, the last good one stays in force", zap.Error(err))
			})
			return
		}
		if bytes.Equal(now, data) {
			return
		}
		data = now
		if err := d.controller.Configure(config.Parts{config.Key: string(now)}); err != nil {
			d.logger.Error("configuration rejected, the last good one stays in force", zap.Error(err))
		}
	}, filePeriod)
	return nil
}

// configuration is the part of the ConfigMap that is cached.
type configuration struct {
	metav1.ObjectMeta
	parts config.Parts
	// approvals is the annotation config.ApprovalsAnnotation, and written when that was.
	approvals string
	written   time.Time
}

func (c *configuration) reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
	}
}

// GetObjectKind implements runtime.Object.
func (*configuration) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (c *configuration) DeepCopyObject() runtime.Object {
	clone := *c
	clone.ObjectMeta, clone.parts = *c.ObjectMeta.DeepCopy(), maps.Clone(c.parts)
	return &clone
}

func newConfiguration(u *unstructured.Unstructured) *configuration {
	c := &configuration{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		},
		approvals: u.GetAnnotations()[config.ApprovalsAnnotation], written: config.WrittenAt(u, config.ApprovalsAnnotation),
	}
	// All values are strings: the API server checks that.
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	c.parts = config.PartsOf(data)
	return c
}

func (d *daemon) newConfigMapWatch() *watch.Watch {
	name := d.options.configMapName
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	var w *watch.Watch
	w = watch.New(watch.Options{
		Resource:  watch.In(resource),
		Client:    d.dynamic,
		Resolver:  watch.Fixed{Resource: resource, Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), Namespaced: true},
		Namespace: name.Namespace,
		Tweak:     onlyNamed(name.Name),
		Transform: watch.Keep(newConfiguration),
		Handler: watch.Handler{
			Changed: d.configurationChanged,
			Synced: func() {
				if len(w.List()) == 0 {
					d.controller.ConfigurationMissing()
					d.logger.Error("there is no configuration: create the ConfigMap", zap.Stringer("configmap", name))
				}
			},
		},
		Logger:       d.logger.With(zap.Stringer("configmap", name)),
		Clock:        clock.RealClock{},
		ListDeadline: d.options.listDeadline,
	})
	return w
}

// onlyNamed limits a list or watch to one object: RBAC rules with a resource name
// allow no more.
func onlyNamed(name string) dynamicinformer.TweakListOptionsFunc {
	return func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
}

// configurationChanged puts a new configuration into force. If anything is wrong
// with it, the last good one stays.
func (d *daemon) configurationChanged(old, new any) {
	before, _ := old.(*configuration)
	now, ok := new.(*configuration)
	if !ok {
		d.controller.ConfigurationMissing()
		d.rejects(nil, errDeleted)
		d.logger.Error("the ConfigMap was deleted, the last good configuration stays in force")
		return
	}
	d.subject.Store(now.reference())
	_, found := now.parts[config.Key]
	switch {
	case before != nil && maps.Equal(before.parts, now.parts):
	case !found:
		d.rejectConfiguration(now, fmt.Errorf("the ConfigMap has no key %q", config.Key))
		d.controller.ConfigurationMissing()
	default:
		if err := d.controller.Configure(now.parts); err != nil {
			d.rejectConfiguration(now, err)
		} else {
			d.accepted(now)
		}
	}
	if before == nil || before.approvals != now.approvals {
		d.approve(now)
	}
	d.taken.Store(&now.ResourceVersion)
}

// configurationVersions implements mirror.Options.ConfigurationVersions. A file is read every
// second anyway, and if the ConfigMap was deleted, the last good configuration stays in force.
func (d *daemon) configurationVersions(ctx context.Context) (taken, live string, err error) {
	if d.options.configFile != "" {
		return "", "", nil
	}
	// Before the read: what the watch brings meanwhile may be newer than its answer.
	if last := d.taken.Load(); last != nil {
		taken = *last
	}
	name := d.options.configMapName
	read, err := d.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("cannot read the configuration: %w", err)
	}
	return taken, read.GetResourceVersion(), nil
}

// approve passes on what the annotation approves. A value that is invalid, or lay
// in the future when it was written, approves nothing.
func (d *daemon) approve(c *configuration) {
	approvals, err := config.UsableApprovals(c.approvals, c.written, time.Now())
	d.controller.Approve(approvals)
	if err != nil {
		d.logger.Error("approval rejected", zap.Error(err))
		d.controller.Announce(c.reference(), "InvalidApproval", err.Error(), d.isCurrent(c))
	}
}

// errDeleted is why there is no configuration.
var errDeleted = errors.New("the ConfigMap was deleted")

func (d *daemon) rejectConfiguration(c *configuration, err error) {
	d.rejects(c.parts, err)
	stays := "the last good one stays in force"
	if d.inForce.Load() == nil {
		stays = "and none is in force: this replica does not lead"
	}
	d.logger.Error("configuration rejected, "+stays, zap.Error(err))
	d.controller.Announce(c.reference(), "InvalidConfiguration", err.Error(), d.isCurrent(c))
}

// isCurrent returns whether the ConfigMap still says the same.
func (d *daemon) isCurrent(c *configuration) func() bool {
	return func() bool {
		obj, _, _ := d.configMap.Get(c.Namespace, c.Name)
		now, ok := obj.(*configuration)
		return ok && maps.Equal(now.parts, c.parts) && now.approvals == c.approvals
	}
}
