//! The questions about a repository's tags.
//!
//! The first page has a hundred tags with their commits, which is all there is for most. Where there are more, one
//! other question lists all of them at once: it costs one request instead of one a page, and its ETag stands for the
//! whole list. Only a server that does not know it is asked for the remaining pages.

use abx_image::http::reqwest::header::{ETAG, HeaderMap, LINK};
use abx_image::http::reqwest::{Response, StatusCode, Url};
use abx_reference::Github;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;

use super::{Api, JSON, header, no_ref, shown_host};
use crate::github::cache::is_commit;
use crate::github::tags::{Asked, Tag, TagList};
use crate::github::{GithubError, now, repository};

/// Tags a page; the most that is given.
const PAGE: usize = 100;

/// No repository is asked for more pages, nor for more tags than they hold.
const PAGES: usize = 100;

/// So many pages are asked for at a time.
const AT_ONCE: usize = 6;

/// No version has a longer name.
const NAME: usize = 255;

/// A tag may lead to another one, so often.
const NESTING: usize = 4;

/// A page and what its headers say of the others.
struct Page {
    tags: Vec<Tag>,
    etag: Option<String>,
    next: Option<usize>,
    last: Option<usize>,
}

impl Api {
    /// All tags of a repository; `None` where they are those of `before`, which is then asked about.
    pub(in crate::github) async fn tags(
        &self,
        reference: &Github,
        before: Option<&TagList>,
    ) -> Result<Option<TagList>, GithubError> {
        let etag = |asked| before.filter(|list| list.asked == asked).and_then(|list| list.etag.as_deref());
        if let Some(etag) = etag(Asked::MatchingRefs) {
            match self.matching_refs(reference, Some(etag)).await? {
                Matching::Unchanged => return Ok(None),
                Matching::Tags { tags, etag } => return Ok(Some(list(tags, Asked::MatchingRefs, etag))),
                Matching::Unknown => {}
            }
        }
        let Some(first) = self.page(reference, 1, etag(Asked::FirstPage)).await? else { return Ok(None) };
        if first.next.is_none() {
            // A full page stays the same where a tag is added behind it.
            let etag = first.etag.filter(|_| first.tags.len() < PAGE);
            return Ok(Some(list(first.tags, Asked::FirstPage, etag)));
        }
        match self.matching_refs(reference, None).await? {
            Matching::Tags { tags, etag } => Ok(Some(list(tags, Asked::MatchingRefs, etag))),
            _ => Ok(Some(list(self.pages(reference, first).await?, Asked::Pages, None))),
        }
    }

    /// The commit that a tag stands for.
    pub(in crate::github) async fn tagged(
        &self,
        reference: &Github,
        tag: &Tag,
    ) -> Result<String, GithubError> {
        let mut tag = tag.clone();
        for _ in 0..NESTING {
            if !tag.is_object {
                return Ok(tag.sha);
            }
            let response = self.get(&self.address(reference, &["git", "tags", &tag.sha]), JSON, None).await?;
            if response.status() == StatusCode::NOT_FOUND {
                // It was moved or deleted since the list was made.
                return Err(no_ref(reference, &tag.name));
            }
            let about = self.json(self.accept(reference, response).await?).await?;
            let target = target(&tag.name, &about["object"]);
            tag = target.ok_or_else(|| self.senseless("a tag leads to no commit"))?;
        }
        Err(self.senseless("a tag leads to no commit"))
    }

    /// The pages behind the first one. How many there are is known beforehand, as a rule.
    async fn pages(&self, reference: &Github, first: Page) -> Result<Vec<Tag>, GithubError> {
        let mut tags = first.tags;
        let mut next = first.next;
        if let Some(last) = first.last {
            self.within_bounds(reference, last)?;
            let pages = stream::iter(2..=last).map(|number| self.full_page(reference, number));
            for page in pages.buffered(AT_ONCE).try_collect::<Vec<_>>().await? {
                next = page.next;
                tags.extend(page.tags);
            }
        }
        // One that was not told of, or all.
        while let Some(number) = next {
            self.within_bounds(reference, number)?;
            let page = self.full_page(reference, number).await?;
            next = page.next.filter(|next| *next > number);
            tags.extend(page.tags);
        }
        Ok(tags)
    }

    fn within_bounds(&self, reference: &Github, page: usize) -> Result<(), GithubError> {
        match page <= PAGES {
            true => Ok(()),
            false => Err(too_many(reference)),
        }
    }

    async fn full_page(&self, reference: &Github, number: usize) -> Result<Page, GithubError> {
        let page = self.page(reference, number, None).await?;
        page.ok_or_else(|| self.unconditional())
    }

    /// One page; `None` where it is the same as when its tag was got.
    async fn page(
        &self,
        reference: &Github,
        number: usize,
        etag: Option<&str>,
    ) -> Result<Option<Page>, GithubError> {
        let mut address = self.address(reference, &["tags"]);
        address.query_pairs_mut().append_pair("per_page", &PAGE.to_string());
        if number > 1 {
            address.query_pairs_mut().append_pair("page", &number.to_string());
        }
        let response = self.get(&address, JSON, etag).await?;
        if etag.is_some() && response.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let response = self.accept(reference, response).await?;
        let other = |relation| self.page_number(response.headers(), relation);
        let (next, last) = (other("next")?, other("last")?);
        let etag = header(response.headers(), ETAG.as_str());
        let tags = self.read_tags(response, |about| {
            target(about["name"].as_str()?, &serde_json::json!({ "sha": about["commit"]["sha"] }))
        });
        Ok(Some(Page { tags: tags.await?, etag, next, last }))
    }

    async fn matching_refs(&self, reference: &Github, etag: Option<&str>) -> Result<Matching, GithubError> {
        let address = self.address(reference, &["git", "matching-refs", "tags"]);
        let response = self.get(&address, JSON, etag).await?;
        match response.status() {
            StatusCode::NOT_MODIFIED if etag.is_some() => return Ok(Matching::Unchanged),
            StatusCode::NOT_FOUND => return Ok(Matching::Unknown),
            _ => {}
        }
        let response = self.accept(reference, response).await?;
        if self.page_number(response.headers(), "next")?.is_some() {
            return Ok(Matching::Unknown);
        }
        let etag = header(response.headers(), ETAG.as_str());
        let tags = self.read_tags(response, |about| {
            target(about["ref"].as_str()?.strip_prefix("refs/tags/")?, &about["object"])
        });
        let tags = tags.await?;
        if tags.len() > PAGE * PAGES { Err(too_many(reference)) } else { Ok(Matching::Tags { tags, etag }) }
    }

    /// The tags that an answer lists; what stands for no commit is no version either.
    async fn read_tags(
        &self,
        response: Response,
        tag: impl Fn(&Value) -> Option<Tag>,
    ) -> Result<Vec<Tag>, GithubError> {
        match self.json(response).await? {
            Value::Array(listed) => Ok(listed.iter().filter_map(tag).collect()),
            _ => Err(self.senseless("it is no list of tags")),
        }
    }

    /// The number of the page that a `Link` header names. The page is then asked for at the address we know: where the
    /// header names another host, something is wrong.
    fn page_number(&self, headers: &HeaderMap, relation: &str) -> Result<Option<usize>, GithubError> {
        let Some(address) = header(headers, LINK.as_str()).and_then(|links| link(&links, relation)) else {
            return Ok(None);
        };
        let senseless = || self.senseless("its list of tags goes on nowhere");
        let address = self.base.join(&address).map_err(|_| senseless())?;
        if address.origin() != self.base.origin() {
            let host = shown_host(&address);
            return Err(self.senseless(&format!("its list of tags goes on at another host, {host}")));
        }
        page_of(&address).map(Some).ok_or_else(senseless)
    }
}

/// The answer to the question for all tags at once.
enum Matching {
    Tags {
        tags: Vec<Tag>,
        etag: Option<String>,
    },
    Unchanged,
    /// Nobody answers it.
    Unknown,
}

fn list(tags: Vec<Tag>, asked: Asked, etag: Option<String>) -> TagList {
    TagList { tags, asked, etag, checked: now(), without_latest: None }
}

fn too_many(reference: &Github) -> GithubError {
    GithubError::TooManyTags { repository: repository(reference), limit: PAGE * PAGES }
}

/// What a tag points at; `None` for what is neither commit nor tag, and can be no version.
fn target(name: &str, object: &Value) -> Option<Tag> {
    let is_object = match object["type"].as_str() {
        None | Some("commit") => false,
        Some("tag") => true,
        Some(_) => return None,
    };
    let sha = object["sha"].as_str().filter(|sha| is_commit(sha) && name.len() <= NAME)?;
    Some(Tag { name: name.to_owned(), sha: sha.to_ascii_lowercase(), is_object })
}

/// The address of one relation in a `Link` header: `<https://…?page=2>; rel="next", <…>; rel="last"`.
fn link(links: &str, relation: &str) -> Option<String> {
    links.split('<').skip(1).find_map(|link| {
        let (address, parameters) = link.split_once('>')?;
        let mut parameters = parameters.split([';', ',']).map(str::trim);
        let is_it = parameters.any(|parameter| {
            let value = parameter.strip_prefix("rel=").unwrap_or_default();
            value.trim_matches('"') == relation
        });
        is_it.then(|| address.to_owned())
    })
}

fn page_of(address: &Url) -> Option<usize> {
    address.query_pairs().find(|(key, _)| key == "page")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_by_their_relation() {
        let links =
            "<https://h/x?page=2&a=b,c>; rel=\"next\", <https://h/x?per_page=100&page=7>; rel=\"last\"";
        for (links, relation, expected) in [
            (links, "next", Some("https://h/x?page=2&a=b,c")),
            (links, "last", Some("https://h/x?per_page=100&page=7")),
            (links, "prev", None),
            ("<https://h/x?page=2>; rel=next", "next", Some("https://h/x?page=2")),
            ("https://h/x?page=2; rel=next", "next", None),
            ("<https://h/x", "next", None),
            ("", "next", None),
        ] {
            assert_eq!(link(links, relation).as_deref(), expected, "{relation} of {links}");
        }
        let page = |text| page_of(&Url::parse(text).expect(text));
        assert_eq!(page("https://h/x?per_page=100&page=7"), Some(7));
        assert_eq!((page("https://h/x?page=-1"), page("https://h/x")), (None, None));
    }
}
