ln -s loop2 loop
ln -s loop loop2
