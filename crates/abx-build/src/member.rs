//! A template of a lineage as planning sees it: its specification, and the files of its package that count.

use abx_spec::{At, Spec};

use crate::tree::Tree;

/// One member of a lineage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Member {
    pub spec: Spec,
    /// Whether it is in the base image already, steps and files: it adds nothing to the plan then, and has no
    /// files here.
    pub is_built: bool,
    /// `files/**`.
    pub files: Tree,
    /// What each entry of `build.copy` names, in their order.
    pub copies: Vec<Tree>,
    /// `scripts/setup.sh`.
    pub script: Option<At<String>>,
    /// What stays with the image though no step asks for it: `commands.py`, `commands/`,
    /// `scripts/healthcheck.sh`.
    pub keep: Tree,
    /// What lies among its files and cannot be copied, and why: for the user.
    pub left_out: Vec<String>,
    /// Whether `scripts/healthcheck.sh` is among what stays with the image.
    pub has_healthcheck: bool,
}
