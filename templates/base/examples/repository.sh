#!/usr/bin/env bash
# Makes a git repository with one commit and packs it; needs no network.
#   abx upload ID examples/repository.sh repository.sh && abx exec ID -- bash /home/user/repository.sh
set -euo pipefail

git init --quiet --initial-branch=main demo
cd demo
echo "hello" > greeting.txt
git add greeting.txt
git -c user.name=example -c user.email=example@localhost commit --quiet --message="first"
git archive --format=zip --output=../demo.zip HEAD
cd ..
unzip -l demo.zip
