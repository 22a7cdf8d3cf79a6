package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/karmada-target/karmada-mirror/sandbox/build"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// stage is a Karmada to measure on, and what has been compiled for it.
type stage struct {
	*karmada.Karmada
	repository, daemon string
	// dir is deleted after the run, unless that fails: its logs explain why.
	dir string
}

// onKarmada starts a Karmada with these members and flags, and runs something on it. The name is part
// of that of its folder.
func onKarmada(ctx context.Context, out io.Writer, name string, o karmada.Options, run func(stage) error) (err error) {
	builder, err := build.New(ctx, out)
	if err != nil {
		return err
	}
	o.Programs.Karmada, o.Progress = builder.KarmadaSources(), out
	if o.Programs.Hyperkarmada, err = builder.Hyperkarmada(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(o.Members, func(m karmada.Member) bool { return m.Nodes > 0 }) {
		if o.Programs.Kwok, o.Programs.Stages, err = builder.Kwok(ctx); err != nil {
			return err
		}
	}
	s := stage{repository: builder.Repository()}
	if s.daemon, err = builder.Daemon(ctx); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "karmada-mirror-"+name+"-"); err != nil {
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(s.dir)
		}
	}()
	o.Dir = filepath.Join(s.dir, "karmada")
	if s.Karmada, err = karmada.Start(ctx, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	return run(s)
}
