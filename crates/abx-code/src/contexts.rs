//! All contexts, and which of them a request means.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use abx_protocol::code::{ContextInfo, ExecuteRequest, NewContext};
use thiserror::Error;

use crate::context::Context;
use crate::kernel::random_hex;
use crate::language::{self, canonical};
use crate::settings::Settings;

/// So many contexts there may be; each may hold a kernel's memory.
const MOST: usize = 64;

/// Why a request has no context.
#[derive(Debug, Error)]
pub(crate) enum ContextError {
    #[error("Context {0} not found")]
    Unknown(String),
    #[error("Only one of context_id or language can be provided")]
    Both,
    #[error("the directory {} does not exist", .0.display())]
    Directory(PathBuf),
    #[error("no kernel for the language `{language}`{}", among(known))]
    Language { language: String, known: Vec<String> },
    #[error("there are {MOST} contexts already; remove one")]
    TooMany,
}

fn among(known: &[String]) -> String {
    if known.is_empty() {
        "; there is none for any".to_owned()
    } else {
        format!("; there are {}", known.join(", "))
    }
}

/// The contexts in the order they were made; the default ones first.
pub(crate) struct Contexts {
    pub(crate) settings: Settings,
    all: RefCell<Vec<Entry>>,
}

#[derive(Clone)]
struct Entry {
    context: Rc<Context>,
    /// It serves those who name no context.
    default: bool,
}

impl Contexts {
    /// With the contexts that everybody expects, for languages that can be run. Nothing starts yet.
    pub(crate) fn new(settings: Settings) -> Self {
        let contexts = Self { settings, all: RefCell::default() };
        for language in ["python", "javascript"] {
            let home = contexts.settings.home();
            // Where there is no kernel there is no context.
            let _ = contexts.make(language, &home, true);
        }
        contexts
    }

    pub(crate) fn infos(&self) -> Vec<ContextInfo> {
        self.all.borrow().iter().map(|entry| entry.context.info()).collect()
    }

    pub(crate) fn find(&self, id: &str) -> Result<Rc<Context>, ContextError> {
        let all = self.all.borrow();
        let entry = all.iter().find(|entry| entry.context.id == id);
        entry.map(|entry| entry.context.clone()).ok_or_else(|| ContextError::Unknown(id.to_owned()))
    }

    /// The one that runs the request: that of its id, or the default one of its language and directory, which
    /// is made where there is none yet.
    pub(crate) fn of(&self, request: &ExecuteRequest) -> Result<Rc<Context>, ContextError> {
        if let Some(id) = &request.context_id {
            return if request.language.is_some() { Err(ContextError::Both) } else { self.find(id) };
        }
        let language = canonical(request.language.as_deref().unwrap_or_default());
        let directory = self.directory(request.cwd.as_deref())?;
        let found = self.all.borrow().iter().find_map(|entry| {
            let context = &entry.context;
            (entry.default && context.language == language && context.directory == directory)
                .then(|| context.clone())
        });
        found.map_or_else(|| self.make(&language, &directory, true), Ok)
    }

    pub(crate) fn create(&self, request: &NewContext) -> Result<Rc<Context>, ContextError> {
        let language = canonical(request.language.as_deref().unwrap_or_default());
        self.make(&language, &self.directory(request.cwd.as_deref())?, false)
    }

    pub(crate) async fn remove(&self, id: &str) -> Result<(), ContextError> {
        let context = self.find(id)?;
        self.all.borrow_mut().retain(|entry| entry.context.id != id);
        context.remove().await;
        Ok(())
    }

    fn make(&self, language: &str, directory: &Path, default: bool) -> Result<Rc<Context>, ContextError> {
        if self.all.borrow().len() >= MOST {
            return Err(ContextError::TooMany);
        }
        let program = language::program(language, &self.settings).ok_or_else(|| ContextError::Language {
            language: language.to_owned(),
            known: language::known(&self.settings),
        })?;
        let context = Rc::new(Context::new(random_hex(), language.to_owned(), directory.to_owned(), program));
        self.all.borrow_mut().push(Entry { context: context.clone(), default });
        Ok(context)
    }

    /// A relative one is below the home.
    fn directory(&self, wanted: Option<&str>) -> Result<PathBuf, ContextError> {
        let home = self.settings.home();
        let directory = match wanted.filter(|wanted| !wanted.is_empty()) {
            None => home,
            Some(wanted) => match wanted.strip_prefix('~') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    home.join(rest.trim_start_matches('/'))
                }
                _ => home.join(wanted),
            },
        };
        if directory.is_dir() { Ok(directory) } else { Err(ContextError::Directory(directory)) }
    }
}
