//go:build deps

package render

import (
	_ "github.com/go-logr/zapr"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/karmada-io/api/cluster/v1alpha1"
	_ "github.com/karmada-io/api/policy/v1alpha1"
	_ "github.com/karmada-io/api/work/v1alpha1"
	_ "github.com/karmada-io/api/work/v1alpha2"
	_ "github.com/karmada-io/api/networking/v1alpha1"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/testutil"
	_ "github.com/prometheus/client_golang/prometheus/testutil/promlint"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/goleak"
	_ "go.uber.org/zap"
	_ "golang.org/x/sync/errgroup"
	_ "k8s.io/api/batch/v1"
	_ "k8s.io/client-go/dynamic/dynamicinformer"
	_ "k8s.io/client-go/dynamic/fake"
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/restmapper"
	_ "k8s.io/client-go/tools/leaderelection"
	_ "k8s.io/component-base/version"
	_ "k8s.io/klog/v2"
	_ "k8s.io/utils/clock/testing"
	_ "sigs.k8s.io/yaml"
)
