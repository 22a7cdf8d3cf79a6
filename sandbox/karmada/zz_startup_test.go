package karmada

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
)

func TestZZStartUp(t *testing.T) {
	p := programs(t)
	n, _ := strconv.Atoi(os.Getenv("RUNS"))
	for i := range 2 * n {
		nodes := i % 2
		begun := time.Now()
		k, err := Start(t.Context(), Options{Dir: t.TempDir(), Programs: p, Scheduler: true, Members: []Member{
			{Name: "member1", Mode: clusterv1alpha1.Push, Nodes: nodes},
			{Name: "member2", Mode: clusterv1alpha1.Push, Nodes: nodes},
			{Name: "member3", Mode: clusterv1alpha1.Pull, Nodes: nodes},
		}})
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		ticks := 0
		rss, extra := 0, 0
		for _, r := range k.records {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID))
			f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
			u, _ := strconv.Atoi(f[11])
			s, _ := strconv.Atoi(f[12])
			m, _ := strconv.Atoi(f[21])
			ticks += u + s
			if strings.Contains(r.Name, "kwok") || strings.Contains(r.Name, "-kube-scheduler") {
				extra += u + s
			}
			rss += m * 4 / 1024
		}
		load, _ := os.ReadFile("/proc/loadavg")
		fmt.Printf("nodes=%d took %.1fs cpu %.1fs (of nodes %.1fs) rss %d MB load %s", nodes, took.Seconds(), float64(ticks)/100, float64(extra)/100, rss, load)
		if err := k.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}
