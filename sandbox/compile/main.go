// Command compile compiles the sandbox, the Karmada that it runs, and karmada-mirror, to .cache/bin. It imports little, so
// that it says after some seconds what takes minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
)

func main() {
	checked := flag.Bool("checked", false, "also compile karmada-mirror with the race detector, for the end-to-end tests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	builder, err := build.New(ctx, os.Stdout)
	if err == nil {
		err = builder.All(ctx, *checked)
	}
	isStopped := ctx.Err() != nil
	stop()
	switch {
	case isStopped:
		fmt.Println("stopped")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
