//! Log-ins, and where they come from.

use std::fmt::Debug;

use abx_core::Secret;

use crate::ImageError;

/// A log-in.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// Sent with each request, or for a token.
    Password { user: String, password: Secret },
    /// An identity token: whoever holds it is given the tokens that requests carry.
    Identity { token: Secret },
}

impl Credentials {
    /// A user's password.
    pub fn password(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self::Password { user: user.into(), password: Secret::new(password) }
    }
}

/// Knows log-ins. It is asked once for each transfer and only after a registry has asked for a log-in, so
/// what it takes (reading files, starting a helper) costs nothing where nobody asks.
pub trait CredentialSource: Debug + Send + Sync {
    /// The log-in for a repository (`team/app`) at a registry (`host[:port]`, `docker.io` for Docker Hub);
    /// `None` where there is none. May block.
    fn find(&self, registry: &str, repository: &str) -> Result<Option<Credentials>, ImageError>;
}
