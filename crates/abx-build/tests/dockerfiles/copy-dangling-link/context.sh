ln -s nowhere dangling
