// Command sandbox runs a real Karmada with three member clusters on this
// machine, to try things on. Run it in its folder:
//
//	go run . up      starts it, building it first; it runs until:
//	go run . down    stops it and removes its files
//	go run . demo    shows karmada-mirror at work, until Ctrl-C
//
// With SANDBOX_KARMADA=1.17 in the environment, it runs an older Karmada.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/karmada-target/karmada-mirror/sandbox/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command.New().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
