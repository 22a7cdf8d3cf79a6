# syntax=docker/dockerfile:1

# The compiler runs on the builder's own platform and cross-compiles: no
# emulation, whatever the target.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src

# A separate layer: modules are downloaded again only when go.mod or go.sum change.
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download

COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG REVISION=unknown
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build \
      -trimpath \
      -ldflags "-s -w -X github.com/karmada-target/karmada-mirror/cli.version=$VERSION -X github.com/karmada-target/karmada-mirror/cli.revision=$REVISION" \
      -o /karmada-mirror .

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="karmada-mirror" \
      org.opencontainers.image.description="Mirrors annotated objects from the Karmada API server to member clusters" \
      org.opencontainers.image.source="https://github.com/karmada-target/karmada-mirror" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /karmada-mirror /karmada-mirror
# By number: a kubelet cannot tell that a user given by name is not root.
USER 65532:65532
# metrics, probes
EXPOSE 8080 8081
ENTRYPOINT ["/karmada-mirror"]
CMD ["run"]
