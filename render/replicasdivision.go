package render

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"math"
	"math/bits"

	"k8s.io/apimachinery/pkg/types"
)

// Divide divides total over clusters by Webster's method, as Karmada divides by static weights
// (pkg/util/helper/webstermethod.go and tieBreakerByUID in binding.go there, v1.18.2): each
// replica in turn goes to the cluster with the highest weight/(2*share+1). Among equals, it
// goes to the cluster with the smallest share; among these, to the first or the last by name.
//
// The shares add up to total, unless no cluster has a weight. Clusters with the weight 0 get
// 0, and so do all if all weights are 0. There, Karmada gives each the weight 1: a user who
// writes 0 means 0. A negative total or weight counts as 0, and a weight as at most
// math.MaxInt32.
//
// Karmada goes through all replicas one by one. Divide starts from shares that are at most
// one replica per cluster short in total, so that n clusters take O(n log n) for any total. It
// compares integers, so that it stays exact where Karmada's int32 overflows, at more than 2^30
// replicas in one cluster.
func Divide(total int64, weights map[string]int64, ties Ties) map[string]int64 {
	shares := make(map[string]int64, len(weights))
	q := &shareQueue{ties: ties, list: make([]share, 0, len(weights))}
	for cluster, weight := range weights {
		shares[cluster] = 0
		if weight > 0 {
			q.list = append(q.list, share{cluster: cluster, weight: uint64(min(weight, math.MaxInt32))})
		}
	}
	if total <= 0 || len(q.list) == 0 {
		return shares
	}
	left := uint64(total) - q.start(uint64(total))
	heap.Init(q)
	for ; left > 0; left-- {
		q.list[0].replicas++
		heap.Fix(q, 0)
	}
	for _, s := range q.list {
		shares[s.cluster] = int64(s.replicas)
	}
	return shares
}

// Ties says which cluster wins a tie: the first by name, or the last if it is true.
type Ties bool

// TiesOf returns who wins the ties of a new source, so that not all favor the same cluster. A source without
// a UID was not read from an API server.
func TiesOf(uid types.UID) Ties {
	if uid == "" {
		return false
	}
	hash := fnv.New32a()
	hash.Write([]byte(uid))
	return hash.Sum32()&1 == 1
}

// share is what a cluster has been given so far.
type share struct {
	cluster          string
	weight, replicas uint64
}

// shareQueue is a heap with the cluster on top that gets the next replica.
type shareQueue struct {
	list []share
	ties Ties
}

// start gives each cluster what it is certain to get, and returns the sum, which is less than
// total by at most the number of clusters.
//
// Replicas are given in the order of their quotients, the highest first. Those with a quotient
// of at least t number floor((weight/t+1)/2) in each cluster. With n clusters and t =
// sum/(2*total-n), they are together at most ((2*total-n)+n)/2 = total: all of them are given
// before any other. Rounding down loses less than one per cluster.
func (q *shareQueue) start(total uint64) (given uint64) {
	n := uint64(len(q.list))
	if 2*total <= n {
		return 0
	}
	var sum uint64
	for _, s := range q.list {
		sum += s.weight
	}
	for i := range q.list {
		s := &q.list[i]
		high, low := bits.Mul64(s.weight, 2*total-n)
		low, carry := bits.Add64(low, sum, 0)
		s.replicas, _ = bits.Div64(high+carry, low, 2*sum)
		given += s.replicas
	}
	return given
}

// Len implements heap.Interface.
func (q *shareQueue) Len() int { return len(q.list) }

// Swap implements heap.Interface.
func (q *shareQueue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }

// Less implements heap.Interface. No two clusters are equal, so that the order in which a map
// yields them does not matter.
func (q *shareQueue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	if order := compareQuotients(a, b); order != 0 {
		return order > 0
	}
	if a.replicas != b.replicas {
		return a.replicas < b.replicas
	}
	return (a.cluster < b.cluster) != bool(q.ties)
}

// compareQuotients compares weight/(2*replicas+1) of two clusters.
func compareQuotients(a, b share) int {
	high, low := bits.Mul64(a.weight, 2*b.replicas+1)
	otherHigh, otherLow := bits.Mul64(b.weight, 2*a.replicas+1)
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}

// Push implements heap.Interface. Divide never calls it: no cluster joins meanwhile.
func (q *shareQueue) Push(s any) { q.list = append(q.list, s.(share)) }

// Pop implements heap.Interface. Divide never calls it.
func (q *shareQueue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}
