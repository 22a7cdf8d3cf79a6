package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror"
	"github.com/karmada-target/karmada-mirror/watch"
)

const (
	// statusPeriod is how often the status is looked at, and statusPause the shortest time between two writes of what may change often.
	statusPeriod = time.Second
	statusPause  = 10 * time.Second
	// statusAge is how old a written status may be before it is looked at whether it is still there, and why watches fail is written again.
	statusAge = 2 * time.Minute
	// statusTimeout is how long a read and a write of it may take.
	statusTimeout = 30 * time.Second
	// brief is for how long a watch may fail before the status says so: they end and begin again.
	brief = 30 * time.Second
	// maxStatus is how many bytes of a status are written, of the 1 MiB that a ConfigMap holds, and maxStatusMessage how many characters of
	// a message.
	maxStatus        = 900 << 10
	maxStatusMessage = 1024
)

// statusKey is the key of a [Status], as YAML, in its ConfigMap.
const statusKey = "status"

// Status is what the replica that leads says of itself in a ConfigMap beside that of its configuration. There is no name of a
// mirrored object in it.
type Status struct {
	Version string      `json:"version"`
	Leader  string      `json:"leader"`
	Since   metav1.Time `json:"since"`
	// Lease is namespace/name of its Lease; empty without leader election.
	Lease         string        `json:"lease,omitempty"`
	Configuration Configuration `json:"configuration"`
	// Rejected is the configuration that the ConfigMap has, if that is not in force.
	Rejected *Rejection `json:"rejected,omitempty"`
	// Denied: its rights do not let it write some Works that it wants to write.
	Denied bool `json:"denied,omitempty"`
	// Resources are those that are watched.
	Resources []ResourceStatus `json:"resources"`
}

// Configuration is the one in force.
type Configuration struct {
	// Hash is that of the parts, see [HashOf], and ResourceVersion that of the ConfigMap when they were read.
	Hash            string      `json:"hash"`
	ResourceVersion string      `json:"resourceVersion"`
	Since           metav1.Time `json:"since"`
	// Parts are nil if they are too long.
	Parts config.Parts `json:"parts,omitempty"`
}

// Rejection is a configuration that has a mistake, or is missing.
type Rejection struct {
	Hash    string      `json:"hash"`
	Since   metav1.Time `json:"since"`
	Message string      `json:"message"`
}

// ResourceStatus is the state of the watch of a resource.
type ResourceStatus struct {
	Resource string      `json:"resource"`
	State    watch.State `json:"state"`
	// Since is when the failure behind it began, and Reason what it is; nil and empty if there is none.
	Since  *metav1.Time `json:"since,omitempty"`
	Reason string       `json:"reason,omitempty"`
}

// StatusName returns the ConfigMap with the [Status] of the daemon that has its configuration in another.
func StatusName(configMap types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: configMap.Namespace, Name: configMap.Name + "-status"}
}

// StatusOf returns the Status in a ConfigMap; nil if there is none yet.
func StatusOf(c *corev1.ConfigMap) (*Status, error) {
	text, ok := c.Data[statusKey]
	if !ok {
		return nil, nil
	}
	s := new(Status)
	if err := yaml.Unmarshal([]byte(text), s); err != nil {
		return nil, fmt.Errorf("cannot decode the status in ConfigMap %s/%s: %w", c.Namespace, c.Name, err)
	}
	return s, nil
}

// HashOf returns what tells parts from others.
func HashOf(parts config.Parts) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(sum, "%q %q\n", name, parts[name])
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// accepted notes that a configuration is in force.
func (d *daemon) accepted(c *configuration) {
	d.inForce.Store(&Configuration{Hash: HashOf(c.parts), ResourceVersion: c.ResourceVersion, Since: metav1.Now(), Parts: c.parts})
	d.rejected.Store(nil)
}

// rejects notes that another one stays in force.
func (d *daemon) rejects(parts config.Parts, err error) {
	d.rejected.Store(&Rejection{Hash: HashOf(parts), Since: metav1.Now(), Message: shortened(err.Error())})
}

func shortened(message string) string { return fmt.Sprintf("%.*s", maxStatusMessage, message) }

// publishStatus keeps the Status of a replica that leads up to date until ctx is done.
func (d *daemon) publishStatus(ctx context.Context) error {
	if d.configMap == nil {
		return nil
	}
	var written *Status
	var next, rewrite time.Time
	failures := d.logger.WithOptions(mirror.Sparing())
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		since, configuration := d.controller.LeadsSince(), d.inForce.Load()
		if since.IsZero() || configuration == nil {
			written, next, rewrite = nil, time.Time{}, time.Time{}
			return
		}
		now, rejected := time.Now(), d.rejected.Load()
		isNews := written == nil || written.Configuration.Since != configuration.Since || written.Rejected != rejected
		if now.Before(next) && !isNews {
			return
		}
		next = now.Add(statusPause)
		status := d.status(since, configuration, rejected)
		if now.Before(rewrite) && !isNews && reflect.DeepEqual(written.withoutReasons(), status.withoutReasons()) {
			return
		}
		rewrite, written = now.Add(statusAge), status
		if err := d.writeStatus(ctx, status); err != nil && ctx.Err() == nil {
			failures.Warn("cannot write what the commands show of this replica", zap.Stringer("configmap", StatusName(d.options.configMapName)), zap.Error(err))
			rewrite = next
		}
	}, statusPeriod)
	return nil
}

func (d *daemon) status(since time.Time, configuration *Configuration, rejected *Rejection) *Status {
	s := &Status{Version: d.build.Version, Leader: d.options.lease.identity, Since: metav1.NewTime(since), Configuration: *configuration, Rejected: rejected, Denied: d.controller.IsDenied()}
	if d.options.leaderElect {
		s.Lease = d.options.lease.namespace + "/" + d.options.lease.name
	}
	for _, w := range d.controller.Watches() {
		s.Resources = append(s.Resources, resourceStatus(w.Resource.GroupResource.String(), w.Status()))
	}
	slices.SortFunc(s.Resources, func(a, b ResourceStatus) int { return cmp.Compare(a.Resource, b.Resource) })
	return s
}

func resourceStatus(resource string, of watch.Status) ResourceStatus {
	s := ResourceStatus{Resource: resource, State: of.State}
	switch {
	case of.Err == nil:
	case of.State == watch.Degraded && time.Since(of.ErrSince) < brief:
		s.State = watch.Ready
	default:
		since := metav1.NewTime(of.ErrSince)
		s.Since, s.Reason = &since, shortened(redacted(of.Err))
	}
	return s
}

// withoutReasons returns a copy without why watches fail: that may differ at each attempt.
func (s *Status) withoutReasons() *Status {
	clone := *s
	clone.Resources = slices.Clone(s.Resources)
	for i := range clone.Resources {
		clone.Resources[i].Reason = ""
	}
	return &clone
}

// encode returns the Status as YAML, without what does not fit into a ConfigMap.
func (s *Status) encode() ([]byte, error) {
	text, err := yaml.Marshal(s)
	if err != nil || len(text) <= maxStatus {
		return text, err
	}
	short := *s
	short.Configuration.Parts = nil
	if text, err = yaml.Marshal(&short); err != nil || len(text) <= maxStatus {
		return text, err
	}
	return yaml.Marshal(short.withoutReasons())
}

// writeStatus writes the Status unless the ConfigMap, which must exist, has it already.
func (d *daemon) writeStatus(ctx context.Context, status *Status) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	text, err := status.encode()
	if err != nil {
		return err
	}
	name := StatusName(d.options.configMapName)
	configMaps := d.client.CoreV1().ConfigMaps(name.Namespace)
	stored, err := configMaps.Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil || stored.Data[statusKey] == string(text) {
		return err
	}
	if stored.Data == nil {
		stored.Data = map[string]string{}
	}
	stored.Data[statusKey] = string(text)
	_, err = configMaps.Update(ctx, stored, metav1.UpdateOptions{})
	return err
}
