package karmada

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// orphanVariable in the environment makes the test binary the parent of
// TestOrphan.
const orphanVariable = "SANDBOX_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(orphanVariable) != "" {
		parent()
	}
	goleak.VerifyTestMain(m)
}

// parent starts a component, prints its process ID, and waits to be killed.
func parent() {
	command := exec.Command("sleep", "1000")
	command.SysProcAttr = attributes(false)
	p, err := launch(command, func(error) {})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.command.Process.Pid)
	<-p.ended
}
