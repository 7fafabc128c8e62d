//! Name or digest in, Image out: layer store, registry pull, OCI export
