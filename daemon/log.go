package daemon

import (
	"fmt"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"github.com/karmada-target/karmada-mirror/mirror"
)

// newLogger creates the process's logger. It samples nothing: runbooks look for lines about single objects, and
// [Output] drops what is too much.
func newLogger(level, format string, out *Output) (*zap.Logger, error) {
	parsed, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("cannot use --log-level: %w", err)
	}
	var encoder zapcore.Encoder
	switch format {
	case "json":
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		encoder = zapcore.NewJSONEncoder(c)
	case "console":
		encoder = zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	default:
		return nil, fmt.Errorf("cannot use --log-format %q: want json or console", format)
	}
	return zap.New(zapcore.NewCore(encoder, out, parsed), zap.ErrorOutput(out)), nil
}

// logForClients makes client-go, which logs through klog, log through a logger. It repeats some
// lines every few seconds while the API server is down.
func logForClients(logger *zap.Logger) {
	klog.SetLogger(zapr.NewLogger(logger.Named("client-go").WithOptions(namingObjects(), mirror.Sparing())))
}
