package daemon

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/lru"
)

const (
	metricsPath = "/metrics"
	// verdictTTL is how long a verdict holds, and so how long a revoked token or
	// permission may still work: as in Kubernetes' own components
	// (k8s.io/apiserver/pkg/server/options, v0.35.4).
	verdictTTL = 10 * time.Second
	// reviewedTokens bounds the memory for tokens that strangers make up.
	reviewedTokens = 1024
	reviewTimeout  = 10 * time.Second
	// reviewQPS and reviewBurst bound the reviews of all peers together, as in
	// Kubernetes' own components (k8s.io/apiserver/pkg/server/options, v0.35.4).
	reviewQPS, reviewBurst = 200, 400
	// peerQPS and peerBurst bound the reviews for one peer: a Prometheus needs two
	// for each scrape at most, and none may use up what is for all.
	peerQPS, peerBurst = 2, 20
	// peers bounds what is remembered of peers.
	peers = 1024
)

// reviewer lets a cluster decide who may read the metrics. It fails closed.
type reviewer struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
	// verdicts are HTTP status codes by the hash of the token: a token that is not
	// kept cannot be found in a memory dump.
	verdicts *cache.LRUExpireCache
	// budgets are *rate.Limiter by the peer's IP address.
	budgets *lru.Cache
	logger  *zap.Logger
}

// guard passes to next the requests that the cluster allows.
func (r *reviewer) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		verdict, err := r.verdict(request)
		if err != nil {
			r.logger.Error("cannot review a request for /metrics", zap.Error(err))
			verdict = http.StatusInternalServerError
		}
		if verdict == http.StatusOK {
			next.ServeHTTP(w, request)
			return
		}
		if verdict == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, http.StatusText(verdict), verdict)
	})
}

// mayAsk reports whether a peer has reviews left.
func (r *reviewer) mayAsk(request *http.Request) bool {
	peer, _, err := net.SplitHostPort(request.RemoteAddr)
	if err != nil {
		peer = request.RemoteAddr
	}
	budget, ok := r.budgets.Get(peer)
	if !ok {
		budget = rate.NewLimiter(peerQPS, peerBurst)
		r.budgets.Add(peer, budget)
	}
	return budget.(*rate.Limiter).Allow()
}

// verdict returns 200, 401, 403 or 429, and caches the first three. A review that fails is not cached.
func (r *reviewer) verdict(request *http.Request) (int, error) {
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return http.StatusUnauthorized, nil
	}
	key := sha256.Sum256([]byte(token))
	if known, ok := r.verdicts.Get(key); ok {
		return known.(int), nil
	}
	if !r.mayAsk(request) {
		return http.StatusTooManyRequests, nil
	}
	ctx, cancel := context.WithTimeout(request.Context(), reviewTimeout)
	defer cancel()
	verdict, err := r.review(ctx, token)
	if err != nil {
		return 0, err
	}
	r.verdicts.Add(key, verdict, verdictTTL)
	return verdict, nil
}

func (r *reviewer) review(ctx context.Context, token string) (int, error) {
	who, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("cannot review a token: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user, extra := who.Status.User, map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := r.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: metricsPath, Verb: "get"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("cannot review a user's permissions: %w", err)
	}
	if !may.Status.Allowed || may.Status.Denied {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
