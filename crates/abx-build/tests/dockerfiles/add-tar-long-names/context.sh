long=$(seq -s- 1 60)
mkdir -p t/$long
echo x > t/$long/$long
ln -s $long/$long t/link
tar --sort=name --mtime=@1000000 --owner=0 --group=0 --numeric-owner --format=gnu -C t -cf a.tar .
