// Package aggregate sums up what members report into the status of their source. It calls
// nothing and reads no clock.
//
// The sums are those of Karmada's native interpreter
// (pkg/resourceinterpreter/default/native/aggregatestatus.go, v1.18.2), with the exceptions
// that docs/decisions/status.md gives reasons for. A test in sandbox/parity compares the two,
// and lists each exception.
//
// # What health libraries make of a sum
//
// They compare it with spec.replicas of the source. If the replicas are divided, the sum is
// spec.replicas. If not, each of n members has spec.replicas, and the sum is n times as much:
//
//   - kstatus (pkg/kstatus/status/core.go in sigs.k8s.io/cli-utils, v0.37.2) takes more replicas
//     than spec.replicas for Pods that are still to be terminated. A Deployment, StatefulSet or
//     ReplicaSet in several members is InProgress forever, unless its replicas are divided.
//     Nothing but another number than the sum would change that.
//   - Argo CD (pkg/health in github.com/argoproj/gitops-engine, v0.7.3) accepts more. It calls a
//     StatefulSet or ReplicaSet healthy as soon as the sum of ready or available replicas has
//     reached spec.replicas, although only some of the members may have theirs: it compares
//     with no other number. For a Deployment it does, so that one is healthy only when all
//     replicas of all members are updated and available.
//   - Argo CD reads no condition but a missed deadline. While a new target of a Deployment that
//     was observed before has reported nothing, Argo CD sees what the other members have.
//   - kstatus wants fullyLabeledReplicas of a ReplicaSet, and the condition Ready of a Pod.
//     Members do not report the first, and the second says nothing about several Pods: it is
//     InProgress for a ReplicaSet with replicas, and for a running Pod.
//
// DaemonSets are right in both: they are compared with a sum as well.
package aggregate
