//! Frame to message and back: the services the daemon inside a sandbox speaks
