#!/usr/bin/env bash
# Creates a plant over REST, and shows what a caller has to be ready for.
set -euo pipefail

# A file: of each attempt, curl would add what came of its answer to standard output.
body=$(mktemp)
trap 'rm -f "$body"' EXIT

# A lost answer leaves it open whether the plant was stored; the next attempt settles it. Each may
# take 2 s, all together 20 s: the last pause, of 8 s, begins within 10 s. A 400 is not asked again.
create_plant() {
  curl --silent --show-error \
    --max-time 2 --retry 6 --retry-all-errors --retry-max-time 10 \
    --header "Authorization: Bearer $PLANT_STORE_TOKEN" \
    --header "Content-Type: application/json" \
    --data "$1" --output "$body" --write-out '%{http_code}' \
    "$PLANT_STORE_URL/plants"
}

# Prints the label and the body, if the status is the one that is expected.
expect() {
  local label=$1 expected=$2 status
  status=$(create_plant "$3")
  if [[ $status != "$expected" ]]; then
    echo "$label: HTTP $status: $(<"$body")" >&2
    return 1
  fi
  echo "$label: $(<"$body")"
}

# Any int64 is an id: this one is not a double.
expect created 200 '{"id": 9007199254740993, "name": "Basil", "tag": "herb"}'
# The same call again is safe: it has the same answer, and there is one plant.
expect again 200 '{"id": 9007199254740993, "name": "Basil", "tag": "herb"}'
# Everything that is wrong with the content is 400; the number is the google.rpc.Code.
expect taken 400 '{"id": 9007199254740993, "name": "Mint", "tag": "herb"}'
expect refused 400 '{"id": 9007199254740993, "tag": "herb"}'
