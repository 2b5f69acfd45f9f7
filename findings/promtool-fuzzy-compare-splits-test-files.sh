#!/usr/bin/env bash
# promtool of Prometheus 2.42.0 (Debian bookworm) and 3.5.3 (Debian forky); 2.53.3 (trixie) answers as 2.42.0 does.
#
# A ratio of two rates over exact counters (10 of 100 a minute) is 0.1 for 2.42 and 0.09999999999999999 for 3.5.
# promql_expr_test compares all digits, so that a rule test that passed fails with the newer program although
# nobody has changed it. The newer one has fuzzy_compare: true for that, which the
# older one refuses as an unknown field: no test file with such a value passes with both. What helps is to choose
# counters whose ratio has no remainder in binary, such as 30 of 120.
#
# Output seen:
#   2.42 exact: SUCCESS; 3.5 exact: 9.999999999999999E-02
#   2.42 fuzzy: field fuzzy_compare not found; 3.5 fuzzy: SUCCESS
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

mkdir lists cache
key=/usr/share/keyrings/debian-archive-keyring.gpg
for pinned in bookworm:prometheus=2.42.0+ds-5+deb12u1 forky:promtool=3.5.3+ds1-6; do
  suite=${pinned%%:*}
  echo "deb [signed-by=$key] http://deb.debian.org/debian $suite main" >sources.list
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache")
  { "${apt[@]}" update && "${apt[@]}" download "${pinned#*:}"; } >/dev/null 2>&1
  dpkg-deb -x ./*.deb "$suite"
  rm ./*.deb
done

cat >rules.yml <<'Y'
groups:
  - name: ratios
    rules:
      - record: ratio
        expr: sum(rate(requests_total{status="500"}[5m])) / sum(rate(requests_total[5m]))
Y
cat >exact.yml <<'Y'
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: 'requests_total{status="200"}', values: "0+90x20" }
      - { series: 'requests_total{status="500"}', values: "0+10x20" }
    promql_expr_test:
      - { expr: ratio, eval_time: 15m, exp_samples: [{ labels: ratio, value: 0.1 }] }
Y
{ echo "fuzzy_compare: true" && cat exact.yml; } >fuzzy.yml

check() { "$1/usr/bin/promtool" test rules "$2.yml" 2>&1 | grep -oE "SUCCESS|got: .*|field \w+ not found" || true; }
for suite in bookworm forky; do
  "$suite/usr/bin/promtool" --version 2>&1 | head -1 | cut -d' ' -f1-3
  for file in exact fuzzy; do echo "$suite $file: $(check "$suite" "$file")"; done
done | tee seen
grep -q "bookworm exact: SUCCESS" seen
grep -q "bookworm fuzzy: field fuzzy_compare not found" seen
grep -q "forky exact: .*9.999999999999999E-02" seen
grep -q "forky fuzzy: SUCCESS" seen
