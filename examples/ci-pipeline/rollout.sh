#!/bin/sh
# Needs VEDETTE_CONTROL_URL, IMAGE, and INGRESS_TOKEN or VEDETTE_ID_TOKEN (of id_tokens in GitLab); VEDETTE_FLEET for another fleet than the default one.
# ON_FAILURE=rollback restores the previous images once the rollout has paused; it ends with 2 all the same.
set -eu
url=${VEDETTE_CONTROL_URL%/}
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
newline='
'
case $url in
  https://* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
  *) echo "$url: over http the token can be read on its way" >&2 ;;
esac
# Others' words must be no command of the CI that reads this log, such as ##vso[...] or ::set-output.
plain='def plain: tostring | gsub("##+|::+"; " ");'
# A token of the job counts once, for a session of an hour at most.
if [ -z "${INGRESS_TOKEN:-}" ]; then
  : "${VEDETTE_ID_TOKEN:?set it, or INGRESS_TOKEN}"
  session=$(printf 'Authorization: Bearer %s\n' "$VEDETTE_ID_TOKEN" |
    curl -s -X POST -H @- --max-time 30 "$url/ci/session" || true)
  INGRESS_TOKEN=$(printf '%s' "$session" | jq -er '.token?' 2>/dev/null) || {
    printf '%s' "$session" | jq -er "$plain .detail // empty | plain" >&2 2>/dev/null ||
      echo "$url does not exchange the token of this job" >&2
    exit 1
  }
fi
# Handler, body and seconds; prints the answer, and on a last line its status or 000 for none.
call() {
  # The token goes in by a pipe: arguments are for everyone on the machine to read.
  printf 'Authorization: Bearer %s\n' "$INGRESS_TOKEN" |
    curl -s -H @- -H 'Content-Type: application/json' -H "Idempotency-Key: $key-$1" \
      -H "traceparent:${TRACEPARENT:-}" -H "tracestate:${TRACESTATE:-}" \
      --max-time "$3" -d "$2" -w '\n%{http_code}' \
      "$url/vedette.v1.SentinelRolloutService/${VEDETTE_FLEET:-singleton}/$1" || printf '\n000'
}
# Reads an answer and prints where the rollout is; fails when it is no such answer.
show() {
  jq -er "$plain"'select(.state) | (if .outcome == "rolled_back" then "rolled back" else .state end) + ": " +
    if .state == "completed" and .total == 0 and .reason then .reason
    else "\(.succeeded) of \(.total) on the new image, \(.failed) failed" end | plain' 2>/dev/null
}
refused() {
  printf '%s' "$body" | jq -er "$plain .detail // empty | plain" >&2 2>/dev/null ||
    echo "$url answered $status, and not as Vedette's control does" >&2
  exit 1
}
# Handler and body; the call blocks until the rollout stands still. Leaves its answer in body.
to_end() {
  away=0
  while :; do
    answer=$(call "$1" "$2" "${POLL_SECONDS:-20}")
    status=${answer##*"$newline"}
    body=${answer%"$newline"*}
    case $status in
      200) break ;;
      000 | 408 | 429 | 502 | 503 | 504)
        # The rollout's own refusal: with the same key it stays the same.
        [ "$(printf '%s' "$body" | jq -r '.code?' 2>/dev/null)" != registry_unavailable ] || refused
        ;;
      *) refused ;;
    esac
    answer=$(call Status '{}' 10)
    if printf '%s' "${answer%"$newline"*}" | show; then
      away=0
    else
      away=$((away + 1))
      [ "$away" -lt "${AWAY_TRIES:-60}" ] ||
        { echo "Vedette cannot be reached; a rollout that has begun continues" >&2; exit 1; }
      sleep 1
    fi
  done
  printf '%s' "$body" | show || { echo "this is no answer of Vedette's" >&2; exit 1; }
}

to_end Rollout "$(jq -nc --arg image "$IMAGE" '{image: $image}')"
printf '%s' "$body" | jq -r "$plain"'.failed_sentinels[] | "\(.id): \(.reason)" | plain'
case $(printf '%s' "$body" | jq -r .state) in
  completed) exit 0 ;;
  paused)
    [ "${ON_FAILURE:-none}" = rollback ] || exit 2
    # {"include_failed": true} puts the failed ones back, too.
    to_end RollbackAll '{}'
    printf '%s' "$body" | jq -r "$plain"'(.not_reverted[]? | "\(.id) still has the new image: \(.reason)"),
      (.still_ordered[]? | "\(.id) failed and is still ordered to run the new image: \(.reason)") | plain'
    exit 2
    ;;
  cancelled) exit 3 ;;
  *) exit 1 ;;
esac
