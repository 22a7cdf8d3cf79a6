package aggregate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// service leaves a Service of another type alone: members report no status of it
// (reflectServiceStatus in reflectstatus.go of Karmada, v1.18.2).
func service(s *summary) error {
	spec, _ := s.source.Object["spec"].(map[string]any)
	if spec["type"] != string(corev1.ServiceTypeLoadBalancer) {
		return nil
	}
	return s.setLoadBalancer(true)
}

func ingress(s *summary) error { return s.setLoadBalancer(false) }

// setLoadBalancer lists the addresses of all members. The status of an Ingress is that of a
// Service without ipMode. A Service gets the mode that the API server would set
// (SetDefaults_Service in pkg/apis/core/v1 of Kubernetes, v1.35.4): members before Kubernetes v1.30
// report none, and each look would find a difference.
func (s *summary) setLoadBalancer(hasIPMode bool) error {
	reports, err := read[corev1.ServiceStatus](s.members)
	if err != nil {
		return err
	}
	total := &corev1.ServiceStatus{}
	for _, r := range reports {
		if r == nil {
			continue
		}
		for _, address := range r.LoadBalancer.Ingress {
			switch {
			case !hasIPMode:
				address.IPMode = nil
			case address.IP != "" && address.IPMode == nil:
				address.IPMode = ptr.To(corev1.LoadBalancerIPModeVIP)
			}
			total.LoadBalancer.Ingress = append(total.LoadBalancer.Ingress, address)
		}
	}
	total.LoadBalancer.Ingress = mergeAddresses(total.LoadBalancer.Ingress)
	return s.set(total, "loadBalancer")
}

// mergeAddresses sorts addresses and merges the ports of equal ones, as Karmada does
// (DedupeAndSortServiceLoadBalancerIngress in pkg/util/helper/service.go, v1.18.2).
func mergeAddresses(addresses []corev1.LoadBalancerIngress) (merged []corev1.LoadBalancerIngress) {
	slices.SortStableFunc(addresses, compareAddresses)
	for _, a := range addresses {
		if last := len(merged) - 1; last >= 0 && compareAddresses(merged[last], a) == 0 {
			merged[last].Ports = append(slices.Clip(merged[last].Ports), a.Ports...)
			continue
		}
		merged = append(merged, a)
	}
	for i, a := range merged {
		slices.SortFunc(a.Ports, comparePorts)
		merged[i].Ports = slices.CompactFunc(a.Ports, func(p, q corev1.PortStatus) bool { return comparePorts(p, q) == 0 })
	}
	return merged
}

// compareAddresses puts those without a host name last, and of equal ones those without a mode.
func compareAddresses(a, b corev1.LoadBalancerIngress) int {
	return cmp.Or(
		compareBools(a.Hostname == "", b.Hostname == ""),
		cmp.Compare(a.Hostname, b.Hostname),
		cmp.Compare(a.IP, b.IP),
		compareBools(a.IPMode == nil, b.IPMode == nil),
		cmp.Compare(ptr.Deref(a.IPMode, ""), ptr.Deref(b.IPMode, "")),
	)
}

// comparePorts puts ports without an error first.
func comparePorts(a, b corev1.PortStatus) int {
	return cmp.Or(
		cmp.Compare(a.Port, b.Port),
		cmp.Compare(a.Protocol, b.Protocol),
		compareBools(a.Error != nil, b.Error != nil),
		cmp.Compare(ptr.Deref(a.Error, ""), ptr.Deref(b.Error, "")),
	)
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
