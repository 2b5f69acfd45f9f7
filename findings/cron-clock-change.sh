#!/usr/bin/env bash
# Debian's cron 3.0pl1-162, where the clocks change: cron(8) says that jobs of a fixed time run once, and that those
# "with wildcards" go by the new time. A wildcard is an asterisk that BEGINS the minute or the hour, with or without a
# step: so "*/30 2" does not run at all on the day on which 02:00 to 03:00 is skipped, and four times in autumn;
# "0-59/30 2", the same times, runs twice on both days, in spring for both right after the gap; and "15 0-23", each
# hour, leaves out one of the two hours of 02:00 in autumn, which "15 *" does not. Seen in Europe/Berlin in 2026:
#   29 March: */30 2: - | 0-59/30 2: 03:00 03:00 | 15 0-23: 03:00 03:15 | 15 *: 03:15
#   25 October: */30 2: 02:00 02:30 02:00 02:30 | 0-59/30 2: 02:00 02:30 | 15 0-23: 02:15 | 15 *: 02:15 02:15
# For root: the daemon runs in a mount namespace of its own, by a clock that this script sets (libfaketime).
set -euo pipefail
work=$(mktemp -d)
trap '[ -z "${daemon:-}" ] || kill "$daemon"; wait; rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download cron=3.0pl1-162 libfaketime=0.9.10-2.1
for package in *.deb; do dpkg-deb -x "$package" .; done

fields=("*/30 2" "0-59/30 2" "15 0-23" "15 *")
{
  echo "* * * * * echo \$(cat $work/clock) tick >>$work/runs" # of a minute, the first line runs last
  for i in "${!fields[@]}"; do echo "${fields[i]} * * * echo \$(cat $work/clock) $i >>$work/runs"; done
  echo "0 3 29 3 * echo \$(cat $work/clock) tack >>$work/runs" # the last that is made up for after the gap
} >crontab
export FAKETIME_TIMESTAMP_FILE=$work/clock FAKETIME_FMT=%s FAKETIME_NO_CACHE=1 TZ=Europe/Berlin

run() { # <from> <minutes>: the runs, by what the clock shows
  local at until last
  at=$(date -ud "$1" +%s) until=$(($(date -ud "$1" +%s) + $2 * 60))
  echo "$at" >clock
  : >runs
  unshare -m bash -c 'set -e
    for folder in /var/spool/cron /etc/cron.d /run; do mount -t tmpfs none "$folder"; done
    mount --bind /dev/null /etc/crontab
    mkdir -m 700 /var/spool/cron/crontabs
    install -m 600 crontab /var/spool/cron/crontabs/root
    LD_PRELOAD=$(echo "$PWD"/usr/lib/*/faketime/libfaketime.so.1) exec ./usr/sbin/cron -f -L 0' &
  daemon=$!
  until [ -s "/proc/$daemon/root/run/crond.pid" ]; do sleep 0.05; done
  while at=$((at + 60)) && [ "$at" -le "$until" ]; do
    echo "$at" >next && mv next clock
    last=tick && [ "$(date -d "@$at" +%d%H%M)" = 290300 ] && last=tack
    # A signal ends its sleep; it forks the jobs, and the last of them writes the word.
    until grep -q "$at $last" runs && [ -z "$(cat /proc/$daemon/task/$daemon/children)" ]; do
      kill -CHLD "$daemon"
      sleep 0.02
    done
  done
  kill "$daemon" && wait "$daemon" || true
  daemon=
  for i in "${!fields[@]}"; do
    echo "${fields[i]}: $(sort -n runs | awk -v i="$i" '$2 == i { print strftime("%H:%M", $1) }' | xargs)"
  done | paste -sd'|' | sed 's/|/ | /g'
}

run "2026-03-29 00:58:01" 20 >spring
run "2026-10-24 23:58:01" 130 >autumn
cat spring autumn
grep -Fqx "*/30 2:  | 0-59/30 2: 03:00 03:00 | 15 0-23: 03:00 03:15 | 15 *: 03:15" spring
grep -Fqx "*/30 2: 02:00 02:30 02:00 02:30 | 0-59/30 2: 02:00 02:30 | 15 0-23: 02:15 | 15 *: 02:15 02:15" autumn
