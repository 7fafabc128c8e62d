//! The result of resolving.

use std::collections::BTreeSet;

use abx_spec::{Effective, Place};

use crate::lock::LockedBase;
use crate::{Package, Vendored};

/// A template with all it inherits from, and the image at the bottom.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// Root first; empty where an image was named directly.
    pub packages: Vec<Package>,
    /// What the root is built on.
    pub base: BaseImage,
    /// What a lock says that image is.
    pub locked: Option<LockedBase>,
}

/// The image at the bottom of a lineage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseImage {
    /// An image of a registry, as `docker pull` takes it, without a scheme. No place where it was named on the
    /// command line.
    Image { name: String, place: Option<Place> },
    /// An image that has this name here: built or snapshotted on this machine.
    Stored { name: String, tag: String, place: Option<Place> },
    /// The image in a vendored file.
    Vendored { vendored: Box<Vendored>, place: Option<Place> },
    /// No image: the root's Dockerfile begins with nothing.
    Scratch,
}

impl BaseImage {
    /// Where a file names it.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Image { place, .. } | Self::Stored { place, .. } | Self::Vendored { place, .. } => {
                place.as_ref()
            }
            Self::Scratch => None,
        }
    }
}

impl Lineage {
    /// The template itself; `None` where an image was named directly.
    pub fn leaf(&self) -> Option<&Package> {
        self.packages.last()
    }

    /// When the commit that the template itself is of was made, in seconds since 1970; `None` where it is of none.
    pub fn committed(&self) -> Option<i64> {
        self.leaf()?.committed
    }

    /// The images that its Dockerfiles begin stages with or copy from, the one at the bottom left out.
    pub fn images(&self) -> BTreeSet<String> {
        let mut images = BTreeSet::new();
        for dockerfile in self.packages.iter().filter_map(|package| package.dockerfile.as_deref()) {
            images.extend(dockerfile.images.iter().map(|(name, _)| name.clone()));
            for (_, lineage) in &dockerfile.templates {
                images.append(&mut lineage.images());
                if let BaseImage::Image { name, .. } = &lineage.base {
                    images.insert(name.clone());
                }
            }
        }
        if let BaseImage::Image { name, .. } = &self.base {
            images.remove(name);
        }
        images
    }

    /// What the lineage comes to.
    pub fn effective(&self) -> Effective {
        abx_spec::merge(self.packages.iter().map(|package| &package.spec))
    }
}
