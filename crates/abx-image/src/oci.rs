//! The OCI documents, as far as we read and write them.

mod config;
mod descriptor;
mod manifest;

pub(crate) use config::{ImageFile, write as write_config};
pub(crate) use descriptor::Descriptor;
pub(crate) use manifest::{ImageManifest, Index, Manifest};

pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
pub(crate) const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

pub(crate) const LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";

/// For `Accept`: every kind of manifest we read.
pub(crate) const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// The name OCI has for a layer's type, which may be docker's.
pub(crate) fn in_oci(media_type: &str) -> String {
    match media_type.rsplit(['.', '+']).next() {
        Some("gzip") => LAYER_GZIP.to_owned(),
        Some("zstd") => LAYER_ZSTD.to_owned(),
        _ => LAYER.to_owned(),
    }
}

/// Whether a blob of this type is a layer's tar, compressed somehow: encrypted ones and other artefacts are not.
pub(crate) fn is_layer(media_type: &str) -> bool {
    let oci = media_type.strip_prefix("application/vnd.oci.image.layer.");
    let kind = oci.and_then(|kind| kind.strip_prefix("v1.").or(kind.strip_prefix("nondistributable.v1.")));
    let docker = media_type.strip_prefix("application/vnd.docker.image.rootfs.");
    let docker = docker.and_then(|kind| kind.strip_prefix("diff.").or(kind.strip_prefix("foreign.diff.")));
    kind.or(docker)
        .is_some_and(|kind| matches!(kind, "tar" | "tar+gzip" | "tar+zstd" | "tar.gzip" | "tar.zstd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_told_from_other_blobs() {
        for yes in [LAYER, LAYER_GZIP, "application/vnd.docker.image.rootfs.diff.tar.gzip"] {
            assert!(is_layer(yes), "{yes}");
        }
        for no in ["application/vnd.oci.image.layer.v1.tar+gzip+encrypted", "application/json", CONFIG] {
            assert!(!is_layer(no), "{no}");
        }
    }
}
