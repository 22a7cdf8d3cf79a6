// Command checked is karmada-mirror as the end-to-end tests run it: compiled with the race
// detector, and checked for leaked goroutines at the end.
package main

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"

	"github.com/karmada-target/karmada-mirror/cli"
)

// leakPatience is how long client-go may take to finish an event that it was decoding when
// its watch was stopped: under the race detector, an event of a megabyte takes seconds.
const leakPatience = 10 * time.Second

// leaked is the exit code of a daemon that ended cleanly but leaked goroutines.
const leaked = 3

func main() { os.Exit(run()) }

func run() int {
	code := cli.Main()
	deadline := time.Now().Add(leakPatience)
	err := findLeaks()
	for err != nil && time.Now().Before(deadline) {
		err = findLeaks()
	}
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return leaked
	}
	return code
}

// findLeaks ignores client-go's connection pool, which belongs to the process, and klog's
// flusher. goleak cannot read the stack of a goroutine that is decoding an object nested thousands deep.
func findLeaks() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot look for leaks: %v", r)
		}
	}()
	return goleak.Find(
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}
