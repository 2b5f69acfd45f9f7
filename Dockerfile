# The program alone: Restate and Postgres are containers of their own (docker-compose.yml).
FROM docker.io/library/node:26-slim

ENV NODE_ENV=production \
    VEDETTE_DATA_DIR=/data \
    VEDETTE_LOG__FORMAT=json
WORKDIR /app

# A layer of its own, which only another package-lock.json makes anew. The optional packages are the
# embedded servers; and the base image is Node 26, so the copy that npm brings for laptops goes too.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
  && npm cache clean --force \
  && rm -f node_modules/.bin/node \
  && install -d -o node -g node -m 0700 /data

COPY migrations migrations
COPY src src
# The console's page. The program would build it by itself, but may not write here.
RUN node src/console/build.ts
# So that `docker compose exec vedette vedette rollout status` works.
RUN chmod 0755 src/main.ts && ln -s /app/src/main.ts /usr/local/bin/vedette

USER node
VOLUME /data
EXPOSE 7070 7071 9480
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.VEDETTE_CONTROL__PORT || 7071) + '/healthz').then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
# Run it with --init (compose does): something has to collect what the sentinels leave behind.
ENTRYPOINT ["vedette"]
CMD ["start"]
