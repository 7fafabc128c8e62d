#!/usr/bin/env bash
# Turns the release file of the system into JSON and reads it back.
#   abx upload ID examples/json.sh json.sh && abx exec ID -- bash /home/user/json.sh
set -euo pipefail

jq --raw-input --null-input '[inputs | select(test("=")) | split("=") | {(.[0]): (.[1] | ltrimstr("\"") | rtrimstr("\""))}] | add' \
    /etc/os-release > release.json
jq --raw-output '.PRETTY_NAME' release.json
