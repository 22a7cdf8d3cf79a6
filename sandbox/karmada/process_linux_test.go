package karmada

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A component does not outlive a test that is killed, such as by a timeout.
func TestOrphan(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), orphanVariable+"=1")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil {
		t.Error("the parent ended by itself")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = (&Karmada{}).Wait(ctx, "the orphan's end", func(context.Context) error {
		born, err := birth(pid)
		if err == nil && born != "" {
			return errors.New("it still runs")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
