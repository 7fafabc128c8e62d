//! Debian release in, root file system layer out: verified archive, parallel fetch, unpack, configure
