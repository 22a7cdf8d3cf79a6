package daemon

import (
	"fmt"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"github.com/karmada-target/karmada-mirror/mirror"
)

// newLogger creates the process's logger.
func newLogger(level, format string) (*zap.Logger, error) {
	parsed, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("cannot use --log-level: %w", err)
	}
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(parsed)
	c.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	c.DisableStacktrace = true
	c.DisableCaller = true
	switch format {
	case "json":
	case "console":
		c.Encoding = "console"
		c.EncoderConfig = zap.NewDevelopmentEncoderConfig()
	default:
		return nil, fmt.Errorf("cannot use --log-format %q: want json or console", format)
	}
	logger, err := c.Build()
	if err != nil {
		return nil, fmt.Errorf("cannot make the logger: %w", err)
	}
	return logger, nil
}

// logForClients makes client-go, which logs through klog, log through a logger. It repeats some
// lines every few seconds while the API server is down.
func logForClients(logger *zap.Logger) {
	klog.SetLogger(zapr.NewLogger(logger.Named("client-go").WithOptions(namingObjects(), mirror.Sparing())))
}
