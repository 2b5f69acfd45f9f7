#!/usr/bin/env bash
# robfig/cron 3.0.1, the library of Kubernetes' CronJob controller: where the clocks skip midnight (Cairo and Beirut go
# from 00:00 to 01:00), a job of that DAY does not run, at no hour. Its walk from day to day lands at 01:00, goes back
# an hour to 23:00 of the day before, and from there on to the midnight after. Seen for Africa/Cairo, whose clocks
# change on Friday 24 April 2026:
#   "0 12 * * 5" from 18 April: 2026-05-01 (not 24 April, 12:00) | "0 12 24 4 *" from 1 January: 2027-04-24
#   "0 12 * * *" runs on the 24th; "0 3 * * 4", Thursdays, runs also on Friday the 24th.
# Half an hour is stepped over as well: in Australia/Lord_Howe "45 1 * * *" of 4 October 2026 runs at 01:45 and 02:45.
set -euo pipefail
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download \
  golang-1.19-go=1.19.8-2 golang-1.19-src=1.19.8-2 golang-github-robfig-cron-dev=3.0.1-1
for package in *.deb; do dpkg-deb -x "$package" .; done

cat >main.go <<'GO'
package main

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron"
)

func main() {
	for _, row := range [][3]string{
		{"Africa/Cairo", "2026-04-18", "0 12 * * 5"},
		{"Africa/Cairo", "2026-01-01", "0 12 24 4 *"},
		{"Africa/Cairo", "2026-04-23", "0 12 * * *"},
		{"Africa/Cairo", "2026-04-22", "0 3 * * 4"},
		{"Australia/Lord_Howe", "2026-10-04", "45 1 * * *"},
	} {
		zone, _ := time.LoadLocation(row[0])
		at, _ := time.ParseInLocation("2006-01-02", row[1], zone)
		schedule, err := cron.ParseStandard(row[2])
		if err != nil {
			panic(err)
		}
		fmt.Print(row[2], ":")
		for range "ab" {
			at = schedule.Next(at)
			fmt.Print(at.Format(" 2006-01-02T15:04"))
		}
		fmt.Println()
	}
}
GO
export GOROOT=$work/usr/lib/go-1.19 GOPATH=$work/usr/share/gocode GO111MODULE=off GOCACHE=$work/cache GOFLAGS=
"$GOROOT/bin/go" run main.go | tee found
diff found - <<'E2'
0 12 * * 5: 2026-05-01T12:00 2026-05-08T12:00
0 12 24 4 *: 2027-04-24T12:00 2028-04-24T12:00
0 12 * * *: 2026-04-23T12:00 2026-04-24T12:00
0 3 * * 4: 2026-04-23T03:00 2026-04-24T03:00
45 1 * * *: 2026-10-04T01:45 2026-10-04T02:45
E2
