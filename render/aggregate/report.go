package aggregate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

func (m Member) hasReported() bool {
	text := bytes.TrimSpace(m.Status)
	return len(text) > 0 && string(text) != "null"
}

// maxSummed and maxCopied are the bytes of a status that is summed up, far more than what Kubernetes' own controllers write,
// and of one that is copied: what a member reports is written to the control plane's etcd, and to everyone who watches.
const (
	maxSummed = 32 << 10
	maxCopied = 256 << 10
)

// checkSize refuses what is too large to be taken over.
func checkSize(members []Member, most int) error {
	for _, m := range members {
		if len(m.Status) > most {
			return fmt.Errorf("cannot take over the status that cluster %q reports: it has %d bytes, and at most %d are taken over", m.Cluster, len(m.Status), most)
		}
	}
	return nil
}

// undecodable bounds the message: it may repeat a number of any length.
func (m Member) undecodable(err error) error {
	return fmt.Errorf("cannot decode the status that cluster %q reports: %.200s", m.Cluster, err)
}

// read decodes what each member reports. It returns nil for a member that has reported nothing.
func read[T any](members []Member) ([]*T, error) {
	reports := make([]*T, len(members))
	for i, m := range members {
		if !m.hasReported() {
			continue
		}
		reports[i] = new(T)
		if err := json.Unmarshal(m.Status, reports[i]); err != nil {
			return nil, m.undecodable(err)
		}
	}
	return reports, nil
}

// count is a field of a status that is summed up.
type count struct {
	name  string
	value *int32
}

// sum adds up the counts of what members report.
func sum[T any](members []Member, reports []*T, countsOf func(*T) []count) (*T, error) {
	total := new(T)
	sums := countsOf(total)
	for i, report := range reports {
		if report == nil {
			continue
		}
		for j, c := range countsOf(report) {
			if *c.value < 0 {
				return nil, fmt.Errorf("cannot add up the status that cluster %q reports: its %s is negative", members[i].Cluster, c.name)
			}
			*sums[j].value = int32(min(int64(*sums[j].value)+int64(*c.value), math.MaxInt32))
		}
	}
	return total, nil
}

// namesOf returns the fields that are summed up.
func namesOf(counts []count) (names []string) {
	for _, c := range counts {
		names = append(names, c.name)
	}
	return names
}

// setSum sums up a kind that has nothing but counts, and returns the reports.
func setSum[T any](s *summary, countsOf func(*T) []count) ([]*T, error) {
	reports, err := read[T](s.members)
	if err != nil {
		return nil, err
	}
	total, err := sum(s.members, reports, countsOf)
	if err != nil {
		return nil, err
	}
	return reports, s.set(total, namesOf(countsOf(total))...)
}
