//! Where an index is.

use std::path::PathBuf;

use abx_image::http::reqwest::Url;

use super::CatalogError;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// http or https.
    Url(Url),
    /// Relative paths start at the working directory.
    File(PathBuf),
}

impl Location {
    pub(super) fn parse(text: &str) -> Result<Self, CatalogError> {
        // A password in the address would end up in messages.
        let shown = || text.rsplit('@').next().unwrap_or_default().split('?').next().unwrap_or_default();
        let malformed = || CatalogError::Address { address: shown().to_owned() };
        if let Some(path) = text.strip_prefix("file:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(malformed()) } else { Ok(Self::File(path.into())) };
        }
        if !text.contains("://") {
            return if text.is_empty() { Err(malformed()) } else { Ok(Self::File(text.into())) };
        }
        let url = Url::parse(text).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.username().is_empty()
                && url.password().is_none()
        });
        url.map(Self::Url).ok_or_else(malformed)
    }
}

/// An address without its query, which may hold a signature.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_files_are_told_apart() {
        let url = |text: &str| Some(Location::Url(Url::parse(text).expect(text)));
        let file = |text: &str| Some(Location::File(text.into()));
        for (text, expected) in [
            ("https://h/i.yaml", url("https://h/i.yaml")),
            ("http://127.0.0.1:8/i.yaml", url("http://127.0.0.1:8/i.yaml")),
            ("HTTPS://H/i.yaml", url("https://h/i.yaml")),
            ("i.yaml", file("i.yaml")),
            ("./a:b.yaml", file("./a:b.yaml")),
            ("~/i.yaml", file("~/i.yaml")),
            ("file:///srv/i.yaml", file("/srv/i.yaml")),
            ("file:i.yaml", file("i.yaml")),
            ("", None),
            ("file:", None),
            ("ftp://h/i.yaml", None),
            ("https://", None),
            ("https://user:secret@h/i.yaml", None),
            ("https://:secret@h/i.yaml", None),
        ] {
            let found = Location::parse(text);
            if let Err(error) = &found {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
            assert_eq!(found.ok(), expected, "{text}");
        }
        assert_eq!(shown(&Url::parse("https://h/i.yaml?token=s#x").expect("url")), "https://h/i.yaml");
    }
}
