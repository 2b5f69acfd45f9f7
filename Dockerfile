# The program alone: Restate and Postgres are containers of their own (docker-compose.yml).
FROM docker.io/library/node:26-slim

ENV NODE_ENV=production \
    VEDETTE_DATA_DIR=/data \
    VEDETTE_LOG__FORMAT=json
WORKDIR /app

# The base image is Node 26: the copy that npm brings along for laptops is not needed.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
  && npm cache clean --force \
  && rm -f node_modules/.bin/node \
  && install -d -o node -g node -m 0700 /data

COPY tsconfig.json restate.toml ./
COPY migrations migrations
COPY src src

USER node
VOLUME /data
EXPOSE 7071
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.VEDETTE_CONTROL__PORT || 7071) + '/healthz').then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "src/main.ts"]
CMD ["start"]
