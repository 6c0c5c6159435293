# docker build --tag countersign:0.1.0 .
# How to run it: deploy/README.md. What of this is checked without an engine: test/deploy/dockerfile.test.ts.

FROM node:22.23.2-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
RUN npm ci
COPY build.js bundle.js compiled-in.js vite.config.ts tsconfig.json ./
COPY src ./src
# The console's playground holds them.
COPY policies ./policies
COPY examples ./examples
RUN npm run build
# The SDK is compiled in. Without the flag its link stays, and points at nothing in the image.
RUN npm prune --omit=dev --workspaces=false

# Debian, because lmdb's binary wants glibc 2.34 or newer. The same base as above, so that its binary fits.
FROM node:22.23.2-bookworm-slim
LABEL org.opencontainers.image.title="countersign" \
      org.opencontainers.image.description="Approval gateway for AI agents: policy in git, people in the loop, one-time proof, evidence." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /opt/countersign
COPY package.json LICENSE README.md CHANGELOG.md SECURITY.md ./
COPY schemas ./schemas
COPY policies ./policies
COPY docs ./docs
COPY clients ./clients
COPY examples ./examples
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/dist/bin ./dist/bin
COPY --from=build /src/dist/console ./dist/console
# The embedded store's directory: a new volume takes over this owner. With Redis nothing is written at all.
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/countersign

# `::` takes connections of IPv4, too.
ENV NODE_ENV=production \
    COUNTERSIGN_HOST=:: \
    COUNTERSIGN_METRICS_HOST=:: \
    COUNTERSIGN_STORE=file:/var/lib/countersign \
    COUNTERSIGN_POLICIES=/etc/countersign/policies
# A countersign.yaml that is mounted here is read. No policies are here until they are mounted: every call is rejected until then.
WORKDIR /etc/countersign
VOLUME ["/var/lib/countersign"]
EXPOSE 8787 9464
USER 10001:10001
STOPSIGNAL SIGTERM
# Address and port by the flags of process 1, the environment, or countersign.yaml: as the gateway reads them.
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
  CMD ["node", "/opt/countersign/dist/bin/main.js", "health", "--of", "1"]
# What V8 is told, and why: docs/operations.md.
ENTRYPOINT ["node", "--v8-pool-size=0", "--min-semi-space-size=16", "/opt/countersign/dist/bin/main.js"]
CMD ["serve"]
