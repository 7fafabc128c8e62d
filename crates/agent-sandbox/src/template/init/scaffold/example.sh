#!/bin/sh
# Creates a sandbox, greets there, and removes it; to be run on the host, in the folder of the template.
set -eu
abx create . --rm -- ./hello "$(whoami)"
