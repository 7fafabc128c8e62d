echo f > f
mkdir d loop-free
echo x > d/x
ln -s f to-file
ln -s d to-dir
ln -s /etc/passwd absolute
ln -s ../../../../etc/passwd climbing
ln -s nowhere dangling
ln -s ../d d/up
