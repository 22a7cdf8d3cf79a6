package disruptive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// documented is a metric as docs/reference/metrics.md describes it.
type documented struct {
	kind string
	// labels are its labels and, if they are bounded, their values.
	labels map[string][]string
}

var (
	documentedRow   = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (gauge|counter|histogram) \\| (.*?) \\|")
	documentedLabel = regexp.MustCompile("^`([a-z_]+)`(?:: (.*))?$")
)

func documentedMetrics(t *testing.T) map[string]documented {
	t.Helper()
	all := map[string]documented{}
	for _, row := range documentedRow.FindAllStringSubmatch(string(RepositoryFile(t, "docs", "reference", "metrics.md")), -1) {
		d := documented{row[2], map[string][]string{}}
		for text := range strings.SplitSeq(strings.ReplaceAll(row[3], "`, `", "`; `"), "; ") {
			if label := documentedLabel.FindStringSubmatch(text); label != nil {
				d.labels[label[1]] = nil
				if label[2] != "" {
					d.labels[label[1]] = strings.Split(label[2], ", ")
				}
			}
		}
		all[row[1]] = d
	}
	return all
}

// check compares a metric with what the daemon exposes.
func (d documented) check(family *dto.MetricFamily) error {
	if kind := strings.ToLower(family.GetType().String()); kind != d.kind {
		return fmt.Errorf("it is a %s", kind)
	}
	for _, metric := range family.GetMetric() {
		var names []string
		for _, label := range metric.GetLabel() {
			names = append(names, label.GetName())
			if values := d.labels[label.GetName()]; values != nil && !slices.Contains(values, label.GetValue()) {
				return fmt.Errorf("%s is %q", label.GetName(), label.GetValue())
			}
		}
		slices.Sort(names)
		if want := slices.Sorted(maps.Keys(d.labels)); !slices.Equal(names, want) {
			return fmt.Errorf("its labels are %q, not %q", names, want)
		}
	}
	return nil
}

// onOccasion are metrics that need a token that expires, a write that is denied, or a resource whose
// statuses are aggregated. The tests of the alerts and of rollouts look at their values.
var onOccasion = []string{
	"karmada_mirror_token_issued_timestamp_seconds", "karmada_mirror_token_expiration_timestamp_seconds", "karmada_mirror_denied_sources",
	"karmada_mirror_status_updates_total",
}

// TestMetricsReference compares the reference, which the alerts and the dashboard are
// checked against, with what a leader exposes, and checks which of two daemons says that
// it leads.
func TestMetricsReference(t *testing.T) {
	const status = `leader_election_master_status{name="karmada-mirror"}`
	leader := StartDaemon(t)
	Eventually(t, "the daemon to lead", Leads(leader))
	standby := StartDaemon(t)
	ns := NewNamespace(t)
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "nowhere", "no-such-cluster", "one"))
	Eventually(t, "the refusal", func(ctx context.Context) error {
		_, err := leader.Metric(ctx, `karmada_mirror_refused_sources{reason="UnknownCluster"}`)
		return err
	})
	Eventually(t, "the propagation", func(ctx context.Context) error {
		_, err := leader.Metric(ctx, `karmada_mirror_propagation_duration_seconds_count{resource="configmaps"}`)
		return err
	})

	families, err := leader.Families(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reference := documentedMetrics(t)
	for name, d := range reference {
		family, ok := families[name]
		if !ok && slices.Contains(onOccasion, name) {
			continue
		}
		if !ok {
			t.Errorf("the daemon does not expose %s", name)
			continue
		}
		if err := d.check(family); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range families {
		if _, ok := reference[name]; !ok && strings.HasPrefix(name, "karmada_mirror_") {
			t.Errorf("the reference lacks %s", name)
		}
	}

	for _, series := range []string{
		`karmada_mirror_watch_state{resource="works.work.karmada.io",state="ready"}`,
		`karmada_mirror_watch_state{resource="configmaps",state="ready"}`, ReloadSuccessful,
	} {
		Eventually(t, "the standby to have it as well", standby.WantMetric(series, 1))
	}
	if err := errors.Join(leader.WantMetric(status, 1)(t.Context()), standby.WantMetric(status, 0)(t.Context())); err != nil {
		t.Error(err)
	}
	leader.MustStop(t)
	Eventually(t, "the standby to say that it leads", standby.WantMetric(status, 1))
	Eventually(t, "the standby to know what is refused", func(ctx context.Context) error {
		_, err := standby.Metric(ctx, `karmada_mirror_refused_sources{reason="UnknownCluster"}`)
		return err
	})
}
