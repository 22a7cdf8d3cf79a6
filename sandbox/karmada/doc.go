// Package karmada runs a real Karmada on the loopback interface: etcd, the
// Karmada control plane and its member clusters, each component as a process
// of the operating system. No container engine is needed.
//
//	k, err := karmada.Start(ctx, karmada.Options{
//		Dir:      dir,
//		Programs: programs, // from package build
//		Members: []karmada.Member{
//			{Name: "member1", Mode: clusterv1alpha1.Push},
//			{Name: "member3", Mode: clusterv1alpha1.Pull, Nodes: 1}, // Pods become ready
//		},
//	})
//	if err != nil { … }
//	defer k.Stop()
//
// The folder in Options.Dir holds everything and is kept after Stop:
//
//	karmada.kubeconfig, member1.kubeconfig, …   for people
//	log/<component>.log                         appended to by every run
//	audit.log                                   of the Karmada API server
//	state.json                                  what runs, for Down
//	etc/, pki/, etcd/                           the components' own
//
// Components differ from an installation that Karmada documents only for these
// reasons: a member has no nodes, or nodes that run no container; everything is on
// 127.0.0.1; each component has one instance; an outage is noticed within seconds. The
// flags are in flags.go and nodes.go.
//
// The package knows nothing about karmada-mirror.
package karmada
