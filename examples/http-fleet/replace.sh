#!/bin/sh
# Replaces the image of one sentinel: $1 is its id, $2 the image. Ends with 0 once it serves and is healthy, else
# with another code and the reason on the last line of stderr. Runs again after a restart, so it has to be repeatable.
set -eu

# Put yours here, for example:
#   ssh "deploy@$1" "docker pull $2 && IMAGE=$2 docker compose up --detach --wait gateway"

case $2 in
  *-bad) echo "crash_loop: $2 does not start" >&2; exit 1 ;;
esac
echo "$1 runs $2"
