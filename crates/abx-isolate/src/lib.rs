//! Root file system and process in, running isolated process out: namespaces, cgroups, mounts, seccomp, network
