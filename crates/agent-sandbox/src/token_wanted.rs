//! Failures that a token for GitHub would mend.

use std::error::Error as StdError;

use abx_source::{CatalogError, GithubError, SourceError};

use crate::Error;

/// Why a token would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenWanted {
    /// Without one there are 60 requests an hour, and they are used up.
    Limit { host: String },
    /// Without one the repository cannot be told from one that is not there.
    Hidden { host: String, repository: String },
    /// The one that was sent is no good.
    Refused { host: String, repository: String },
    /// The one that is stored or given cannot even be sent.
    Malformed,
}

impl Error {
    /// Whether it would have gone well with a token, or with another one.
    pub fn wants_token(&self) -> Option<TokenWanted> {
        let wanted = |error: &GithubError| match error {
            GithubError::PrimaryLimit { host, has_token: false, .. } => {
                Some(TokenWanted::Limit { host: host.clone() })
            }
            GithubError::TokenWanted { host, repository }
            | GithubError::NoRepository { host, repository, has_token: false }
            | GithubError::Forbidden { host, repository, has_token: false, .. } => {
                Some(TokenWanted::Hidden { host: host.clone(), repository: repository.clone() })
            }
            GithubError::TokenRefused { host, repository } => {
                Some(TokenWanted::Refused { host: host.clone(), repository: repository.clone() })
            }
            GithubError::TokenMalformed => Some(TokenWanted::Malformed),
            _ => None,
        };
        match self.source_error() {
            Some(SourceError::Catalog(CatalogError::Limit { host, wants_token: true, .. })) => {
                Some(TokenWanted::Limit { host: host.clone() })
            }
            _ => self.github().and_then(wanted),
        }
    }

    /// Whether it is GitHub, or the way there, that failed.
    pub fn is_of_github(&self) -> bool {
        self.github().is_some()
    }

    /// What failed before there was a package.
    fn source_error(&self) -> Option<&SourceError> {
        match self {
            Self::Source(error) => Some(error),
            _ => None,
        }
    }

    /// The failure of GitHub somewhere below.
    fn github(&self) -> Option<&GithubError> {
        let mut error: Option<&(dyn StdError + 'static)> = Some(self.stage());
        while let Some(current) = error {
            let found = current.downcast_ref::<GithubError>();
            if let Some(found) =
                found.or_else(|| current.downcast_ref::<Box<GithubError>>().map(|error| &**error))
            {
                return Some(found);
            }
            error = current.source();
        }
        None
    }
}

/// Where on the web the owner of an account makes a token for the API at this address.
pub fn token_page(api: &str) -> String {
    let (scheme, rest) = api.split_once("://").unwrap_or(("https", api));
    let host = rest.split('/').next().unwrap_or_default();
    match host.strip_prefix("api.") {
        Some(host) => format!("{scheme}://{host}/settings/personal-access-tokens/new"),
        None => format!("{scheme}://{host}/settings/tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_token_mends_asks_for_one() {
        let (host, repository) = (|| "h".to_owned(), || "o/r".to_owned());
        let hidden = TokenWanted::Hidden { host: host(), repository: repository() };
        let limit = |has_token| GithubError::PrimaryLimit { host: host(), reset: None, has_token };
        let absent =
            |has_token| GithubError::NoRepository { host: host(), repository: repository(), has_token };
        for (error, expected) in [
            (limit(false), Some(TokenWanted::Limit { host: host() })),
            (limit(true), None),
            (absent(false), Some(hidden.clone())),
            (absent(true), None),
            (GithubError::TokenWanted { host: host(), repository: repository() }, Some(hidden)),
            (GithubError::TokenMalformed, Some(TokenWanted::Malformed)),
            (GithubError::EmptyRepository { repository: repository() }, None),
        ] {
            let error = Error::from(SourceError::Github { error: Box::new(error), beside: None });
            assert_eq!(error.wants_token(), expected, "{error}");
            assert!(error.is_of_github());
        }
        assert_eq!(Error::NoHome.wants_token(), None);
        for (wants_token, expected) in [(true, Some(TokenWanted::Limit { host: host() })), (false, None)] {
            let error = SourceError::from(CatalogError::Limit { host: host(), reset: None, wants_token });
            assert_eq!(Error::from(error).wants_token(), expected);
        }
    }

    #[test]
    fn the_page_is_on_the_hosts_own_site() {
        for (api, page) in [
            ("https://api.github.com", "https://github.com/settings/personal-access-tokens/new"),
            ("https://ghe.example/api/v3", "https://ghe.example/settings/tokens"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/settings/tokens"),
        ] {
            assert_eq!(token_page(api), page);
        }
    }
}
