#!/usr/bin/env bash
# Debian's cron 3.0pl1-162: crontab(5) says that either day field has to match if both are restricted ("ie, aren't *").
# What counts is the first character only: a field that begins with * is unrestricted, also */7, and then BOTH fields
# have to match, */7 included. So "1-7 * */7" is the first Sunday of the month, where "1-7 * 0" is seven days and
# every Sunday; and "1,* * 1" is each day, but "*,1 * 1" Mondays. Seen for November 2026 (1 is a Sunday):
#   1-7 * */7: 1 | 1-7 * 0: 1 2 3 4 5 6 7 8 15 22 29 | */2 * 1: 9 23 | 1-31/2 * 1: 1 2 3 5 7 9 11 13 15 16 17 19 ...
# For root: the daemon runs in a mount namespace of its own, by a clock that this script sets (libfaketime).
set -euo pipefail
work=$(mktemp -d)
trap '[ -z "${daemon:-}" ] || kill "$daemon"; wait; rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download cron=3.0pl1-162 libfaketime=0.9.10-2.1
for package in *.deb; do dpkg-deb -x "$package" .; done

fields=("1-7 * */7" "1-7 * 0" "*/2 * 1" "1-31/2 * 1" "1,* * 1" "*,1 * 1")
{
  echo "* * * * * echo \$(cat $work/clock) tick >>$work/runs" # of a minute, the first line runs last
  for i in "${!fields[@]}"; do echo "0 5 ${fields[i]} echo \$(cat $work/clock) $i >>$work/runs"; done
} >crontab
set_clock() { date -ud "$1" +%s >next && mv next clock; }
set_clock "2026-10-31 05:00:01"
: >runs
export FAKETIME_TIMESTAMP_FILE=$work/clock FAKETIME_FMT=%s FAKETIME_NO_CACHE=1 TZ=UTC
unshare -m bash -c 'set -e
  for folder in /var/spool/cron /etc/cron.d /run; do mount -t tmpfs none "$folder"; done
  mount --bind /dev/null /etc/crontab
  mkdir -m 700 /var/spool/cron/crontabs
  install -m 600 crontab /var/spool/cron/crontabs/root
  LD_PRELOAD=$(echo "$PWD"/usr/lib/*/faketime/libfaketime.so.1) exec ./usr/sbin/cron -f -L 0' &
daemon=$!
until [ -s "/proc/$daemon/root/run/crond.pid" ]; do sleep 0.05; done

for day in {01..30}; do
  set_clock "2026-11-$day 05:00:01"
  # A signal ends its sleep; it forks the jobs, and the last of them writes "tick".
  until grep -q "$(cat clock) tick" runs && [ -z "$(cat /proc/$daemon/task/$daemon/children)" ]; do
    kill -CHLD "$daemon"
    sleep 0.02
  done
done

days() { awk -v i="$1" '$2 == i { print strftime("%-d", $1, 1) }' runs | sort -nu | xargs; }
for i in "${!fields[@]}"; do echo "${fields[i]}: $(days "$i")"; done
[ "$(days 0)" = "1" ]
[ "$(days 1)" = "1 2 3 4 5 6 7 8 15 22 29" ]
[ "$(days 2)" = "9 23" ]
[ "$(days 3)" = "1 2 3 5 7 9 11 13 15 16 17 19 21 23 25 27 29 30" ]
[ "$(days 4)" = "$(seq 30 | xargs)" ]
[ "$(days 5)" = "2 9 16 23 30" ]
