mkdir -p t/d t/bin
echo one > t/d/one
echo two > t/bin/two
chmod 4755 t/bin/two
chmod 1770 t/d
ln t/d/one t/d/hard
ln -s ../bin/two t/d/soft
ln -s /nowhere t/dangling
tar --sort=name --mtime=@1000000 --owner=1000 --group=50 --numeric-owner -C t -cf a.tar .
