#!/usr/bin/env bash
# amtool and Alertmanager 0.25.0 (Debian bookworm, prometheus-alertmanager=0.25.0-1+b4).
#
# `amtool config routes test` answers which receiver a set of labels reaches. A route's active_time_intervals and
# mute_time_intervals play no part in the answer, and there is no flag for the time: for a route that is active in the
# year 2020 alone it names the receiver with exit code 0, and --verify.receivers is content, while Alertmanager by the
# same file and labels sends nothing. A test of routes by amtool so says nothing about nights and weekends.
#
# Output seen:
#   amtool: oncall, exit 0
#   sent by Alertmanager: always 1, oncall 0
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

cat >am.yml <<'YAML'
time_intervals: [{ name: in-2020, time_intervals: [{ years: ["2020"] }] }]
route:
  receiver: always
  group_wait: 1s
  group_by: [alertname]
  routes: [{ matchers: [team="night"], receiver: oncall, active_time_intervals: [in-2020] }]
receivers:
  - { name: always, webhook_configs: [{ url: "http://127.0.0.1:9/always" }] }
  - { name: oncall, pagerduty_configs: [{ routing_key: none, url: "http://127.0.0.1:9/oncall" }] }
YAML
answer=$(root/usr/bin/amtool config routes test --config.file=am.yml --verify.receivers=oncall team=night 2>log)
echo "amtool: $answer, exit $?"

url=127.0.0.1:$((20000 + RANDOM % 10000))
root/usr/bin/prometheus-alertmanager --config.file=am.yml --storage.path=data \
  --web.listen-address="$url" --cluster.listen-address= 2>log &
pid=$!
for _ in $(seq 100); do curl -fs "$url/-/ready" >/dev/null && break; sleep 0.1; done
curl -fs -H 'content-type: application/json' "$url/api/v2/alerts" -d '[
  { "labels": { "alertname": "A", "team": "night" } }, { "labels": { "alertname": "B" } }]'
sleep 5
# Each attempt counts, also one that nobody answers.
sent() { curl -s "$url/metrics" | grep -c "^alertmanager_notification_requests_total{integration=\"$1\"} [1-9]" || true; }
echo "sent by Alertmanager: always $(sent webhook), oncall $(sent pagerduty)"
test "$answer" = oncall && test "$(sent webhook)" = 1 && test "$(sent pagerduty)" = 0
