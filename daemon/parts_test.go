package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// TestPartsEnd says what run returns, and after how long at most, when parts end in each order.
func TestPartsEnd(t *testing.T) {
	const at, later = time.Minute, 2 * time.Second
	errPart := errors.New("cannot serve")
	cases := map[string]struct {
		reason string
		// signal, fail, change and lose are when the process is signalled, a part fails, the
		// credentials change and the Lease is lost; 0 is never.
		signal, fail, change, lose time.Duration
		// hangs: a part does not stop. stuck: nor does leading.
		hangs, stuck bool
		want         error
		within       time.Duration
	}{
		"Signal":              {reason: "a good end", signal: at},
		"SignalHangs":         {reason: "the API server stalls: still a good end", signal: at, hangs: true, within: partsTimeout},
		"SignalStuck":         {reason: "nor can leading be ended", signal: at, hangs: true, stuck: true, within: shutdownTimeout},
		"Failed":              {reason: "why it ended", fail: at, want: errPart},
		"FailedHangs":         {reason: "why it ended, though another part hangs", fail: at, hangs: true, want: errPart, within: partsTimeout},
		"FailedThenSignal":    {reason: "the signal came when the part had failed", fail: at, hangs: true, signal: at + later, want: errPart, within: partsTimeout},
		"SignalThenFailed":    {reason: "a part fails to stop well", signal: at, stuck: true, fail: at + later, want: errPart, within: partsTimeout + later},
		"LostLease":           {reason: "why it ended", lose: at, want: errLostLease},
		"LostLeaseHangs":      {reason: "why it ended, though a part hangs", lose: at, hangs: true, want: errLostLease, within: partsTimeout},
		"Changed":             {reason: "it must be started again", change: at, want: errCredentialsChanged},
		"ChangedHangs":        {reason: "also if a part hangs", change: at, hangs: true, want: errCredentialsChanged, within: partsTimeout},
		"ChangedStuck":        {reason: "and if leading does", change: at, stuck: true, want: errCredentialsChanged, within: shutdownTimeout},
		"ChangedThenSignal":   {reason: "the signal asks for a good end", change: at, hangs: true, signal: at + later, within: partsTimeout},
		"ChangedStuckSignal":  {reason: "the time is counted from the change on", change: at, stuck: true, signal: at + later, within: shutdownTimeout},
		"ChangedAfterFailure": {reason: "the first reason counts", fail: at, hangs: true, change: at + later, want: errPart, within: partsTimeout},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signalled, signal := context.WithCancel(t.Context())
				defer signal()
				thaw := make(chan struct{})
				defer close(thaw)
				after := func(d time.Duration) <-chan time.Time {
					if d == 0 {
						return nil
					}
					return time.After(d)
				}
				if tc.signal > 0 {
					time.AfterFunc(tc.signal, signal)
				}
				p := parts{logger: zap.NewNop()}
				p.others = append(p.others, func(ctx context.Context) error {
					select {
					case <-after(tc.fail):
						return errPart
					case <-ctx.Done():
						return nil
					}
				}, func(ctx context.Context) error {
					if <-ctx.Done(); tc.hangs {
						<-thaw
					}
					return nil
				})
				p.follow = func(ctx context.Context) error {
					select {
					case <-after(tc.change):
						return errCredentialsChanged
					case <-ctx.Done():
						return nil
					}
				}
				p.lead = func(leading, running context.Context) error {
					select {
					case <-after(tc.lose):
						return errLostLease
					case <-leading.Done():
					case <-running.Done():
					}
					if tc.stuck {
						<-thaw
					}
					return nil
				}
				began := time.Now()
				err := p.run(signalled)
				if took := time.Since(began) - at; !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) || took != tc.within {
					t.Errorf("%s: it ended after %s with %v, want %s and %v", tc.reason, took, err, tc.within, tc.want)
				}
			})
		})
	}
}
