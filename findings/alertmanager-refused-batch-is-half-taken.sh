#!/usr/bin/env bash
# Alertmanager 0.25.0 (Debian bookworm, prometheus-alertmanager=0.25.0-1+b4).
#
# POST /api/v2/alerts with three alerts, of which the second has a label that this version does not know how to
# name (service.name, as Prometheus 3 may send it): it answers 400 "invalid label set", and yet it has taken the
# first and the third. So 400 is not "nothing was taken": who then drops the batch, or counts all of it
# as lost, is wrong about the other alerts, and who repairs the batch sends those twice.
# 0.28.1 knows such names: it answers 200 and takes all three.
#
# Output seen:
#   400 "invalid label set: invalid name \"service.name\""
#   taken: First Third
set -euo pipefail
dir=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"

mkdir lists cache
key=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$key] http://deb.debian.org/debian bookworm main" >sources.list
apt=(apt-get -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=-
  -o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache")
{ "${apt[@]}" update && "${apt[@]}" download prometheus-alertmanager=0.25.0-1+b4; } >/dev/null 2>&1
dpkg-deb -x prometheus-alertmanager_*.deb root

printf 'route: { receiver: n }\nreceivers: [{ name: n }]\n' >am.yml
url=127.0.0.1:$((20000 + RANDOM % 10000))
root/usr/bin/prometheus-alertmanager --config.file=am.yml --storage.path=data \
  --web.listen-address="$url" --cluster.listen-address= 2>log &
pid=$!
for _ in $(seq 100); do
  curl -fs "$url/-/ready" >/dev/null && break
  sleep 0.1
done

status=$(curl -s -o answer -w '%{http_code}' -H 'content-type: application/json' "$url/api/v2/alerts" -d '[
  { "labels": { "alertname": "First" } },
  { "labels": { "alertname": "Second", "service.name": "api" } },
  { "labels": { "alertname": "Third" } }]')
taken=$(curl -s "$url/api/v2/alerts" | grep -o '"alertname":"[A-Z][a-z]*"' | cut -d'"' -f4 | sort | xargs)
echo "$status $(cat answer)"
echo "taken: $taken"
test "$status" = 400
test "$taken" = "First Third"
