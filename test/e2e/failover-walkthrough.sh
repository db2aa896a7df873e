#!/bin/sh
# What docs/contracts/fencing.md, section 3 says of a failover, asked with curl as a person on call would.
#
# usage: failover-walkthrough.sh PUBLIC OLD ID TEXT
# PUBLIC is the proxy, OLD the address of the fenced node. ID and TEXT are a record that is written here unless it is
# there already. Prints one line for each thing that holds, and stops at the first one that does not.
set -eu

public=$1 old=$2 id=$3 text=$4
body=$(mktemp)
trap 'rm -f "$body"' EXIT

# expect WHAT WANTED FOUND
expect() {
  if [ "$2" != "$3" ]; then
    echo "NOT ok: $1: expected '$2', found '$3'"
    exit 1
  fi
  echo "ok: $1"
}

# ask CURL-ARGUMENT...: the status; the body goes to $body
ask() {
  curl --silent --show-error --output "$body" --write-out '%{http_code}' "$@"
}

expect 'GET /health is 200' 200 "$(ask "$public/health")"
expect 'its body is exactly "ready"' ready "$(cat "$body")"
expect 'without a newline' 5 "$(wc -c <"$body" | tr -d ' ')"
expect 'GET /role is 200' 200 "$(ask "$public/role")"
expect 'its body is exactly "primary"' primary "$(cat "$body")"
for kept in r-1 r-2 r-3; do
  expect "GET /records/$kept is 200" 200 "$(ask "$public/records/$kept")"
  expect "$kept is intact" "text of $kept" "$(cat "$body")"
done
expect 'a missing id is 404' 404 "$(ask "$public/records/missing")"
expect 'with an empty body' 0 "$(wc -c <"$body" | tr -d ' ')"
if [ "$(ask "$public/records/$id")" = 404 ]; then
  expect 'PUT is 204' 204 "$(ask --request PUT --data-binary "$text" "$public/records/$id")"
fi
expect 'the read-back is 200' 200 "$(ask "$public/records/$id")"
expect 'and exact' "$text" "$(cat "$body")"
expect 'a body that is not UTF-8 is 400' 400 "$(printf '\377\376' | ask --request PUT --data-binary @- "$public/records/bad")"
expect 'nothing of it is there' 404 "$(ask "$public/records/bad")"
expect 'a body over the limit is 413' 413 \
  "$(head -c 1048577 /dev/zero | tr '\0' x | ask --request PUT --header 'Expect:' --data-binary @- "$public/records/big")"
expect 'the fenced node does not listen' 7 "$(curl --silent --output "$body" "$old/health" || echo $?)"
