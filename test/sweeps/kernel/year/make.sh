#!/usr/bin/env bash
# Makes times.json: which times of 2026 the real programs find for expressions.txt, in several zones. Debian's
# cron runs through the year by a clock of its own (debian.c); Kubernetes' part is robfig/cron, of Debian's package.
# For root, with gcc, cron 3.0pl1-162 and apt-get (bookworm): about 10 minutes. A row: how many, and a digest of them.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get -qq download golang-1.19-go golang-1.19-src golang-github-robfig-cron-dev \
  && for package in *.deb; do dpkg-deb -x "$package" .; done)
GOROOT=$work/usr/lib/go-1.19 GOPATH=$work/usr/share/gocode GO111MODULE=off GOCACHE=$work/cache \
  "$work/usr/lib/go-1.19/bin/go" build -o "$work/kubernetes" kubernetes.go
gcc -shared -fPIC -O1 -w -o "$work/debian.so" debian.c -ldl

FROM=$(date -d 2025-12-31T23:59:54Z +%s) TO=$(date -d 2027-01-01T00:00:00Z +%s)
export FROM TO work

# One line for each run: the second, and the number of the expression.
debian() {
  unshare -m bash -c '
    for folder in /var/spool/cron /etc/cron.d /run; do mount -t tmpfs none "$folder"; done
    mount --bind /dev/null /etc/crontab
    mkdir -m 700 /var/spool/cron/crontabs
    number=0
    while IFS= read -r expression; do
      # A single fault would make it leave out the whole file.
      [[ $expression =~ (^|[ ,])([?]|[0-9]+/) ]] || echo "$expression $number"
      number=$((number + 1))
    done <expressions.txt >/var/spool/cron/crontabs/root
    chmod 600 /var/spool/cron/crontabs/root
    OUT=$work/runs LD_PRELOAD=$work/debian.so /usr/sbin/cron -f' >&2
  sed -n 's/^\([0-9]*\) .*CMD (\([0-9]*\))$/\1 \2/p' "$work/runs"
  rm "$work/runs"
}
kubernetes() { "$work/kubernetes" <expressions.txt; }

rows() { # <the runs>
  number=-1
  while IFS= read -r expression; do
    number=$((number + 1))
    awk -v n=$number -v from="$FROM" -v to="$TO" \
      '$2 == n && $1 >= from + 6 && $1 < to { print int($1 / 60) }' "$1" | sort -nu >"$work/row"
    [ -s "$work/row" ] || continue
    printf '%s"%s": "%d %s"' "${comma-}" "$expression" "$(wc -l <"$work/row")" \
      "$(sha256sum "$work/row" | cut -c1-16)"
    comma=,
  done <expressions.txt
}

{
  outer=
  for TZ in Europe/Berlin America/New_York Australia/Lord_Howe Africa/Cairo Asia/Kolkata; do
    export TZ
    debian >"$work/debian.runs"
    kubernetes >"$work/kubernetes.runs"
    printf '%s"%s": {"debian": {%s}, "kubernetes": {%s}}' "$outer" "$TZ" \
      "$(rows "$work/debian.runs")" "$(rows "$work/kubernetes.runs")"
    outer=,
  done
} >"$work/all"
printf '{%s}\n' "$(cat "$work/all")" >times.json
