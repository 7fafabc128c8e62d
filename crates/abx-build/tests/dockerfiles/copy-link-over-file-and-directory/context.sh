mkdir c
ln -s /new c/l
