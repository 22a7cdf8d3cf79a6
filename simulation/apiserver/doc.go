// Package apiserver is a Kubernetes API server in memory: a Store is the etcd of one
// control plane with everything that its API servers share, and a Server is one of them, an
// http.RoundTripper for client-go. It follows kube-apiserver 1.35 in what clients can see,
// apart from the managers in managedFields and the validation of built-in kinds; sandbox/pinned compares the
// two.
//
// Time is the time package's, so that everything runs inside testing/synctest. No goroutine
// outlives the request or timer that it serves. The package knows nothing of Karmada or
// karmada-mirror, except which resources Karmada's API server has.
package apiserver
