//! Named commands: what a template offers by name, listed and called.
//!
//! - [`signature`]: what a command takes, as it is listed,
//! - [`arguments`]: words of a user → JSON values, by the declared types,
//! - [`service`]: the HTTP service inside that lists and calls,
//! - [`error`]: what can go wrong.

pub mod arguments;
pub mod error;
mod service;
pub mod signature;

use std::time::Duration;

use serde_json::{Map, Value};

pub use arguments::Words;
pub use error::CommandError;
pub use signature::{Argument, NamedCommand};

use crate::{Error, Sandbox};
use service::Service;

impl Sandbox {
    /// The commands that can be called by name, in order of their names. The first call in a sandbox starts the
    /// service that has them.
    ///
    /// # Errors
    /// [`CommandError::Service`] where it does not start: the template's `commands.py` fails, say.
    pub async fn commands(&self) -> Result<Vec<NamedCommand>, Error> {
        Ok(Service::find(self.client()).await?.list().await?)
    }

    /// Calls a named command and returns its value. `timeout` of zero is none; a call that is dropped, or whose time
    /// is up, is given up inside too.
    ///
    /// # Errors
    /// [`CommandError`]: no such command (E3005), arguments it does not take, what it raised (E3000), its time is up
    /// (E3001).
    pub async fn run(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        timeout: Duration,
    ) -> Result<Value, Error> {
        let service = Service::find(self.client()).await?;
        Ok(service.call(name, &arguments, timeout).await?)
    }

    /// Calls a named command with words as a user types them, each taken as the type that is declared for it.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    pub async fn run_with_words(&self, name: &str, words: &Words, timeout: Duration) -> Result<Value, Error> {
        let service = Service::find(self.client()).await?;
        let commands = service.list().await?;
        let arguments = match commands.iter().find(|command| command.name == name) {
            Some(command) => arguments::typed(command, words)?,
            // It may be one that is not listed: the service knows.
            None => words.untyped(),
        };
        let called = service.call(name, &arguments, timeout).await;
        Ok(called.map_err(|error| error.with_signature(&commands))?)
    }
}
