//! Running code in a sandbox: cells, contexts, results in every form.
//!
//! ```no_run
//! # async fn example(sandbox: agent_sandbox::Sandbox) -> Result<(), agent_sandbox::Error> {
//! let code = sandbox.code()?;
//! let execution = code.run(&agent_sandbox::code::ExecuteRequest { code: "6 * 7".into(), ..Default::default() }).await?;
//! assert_eq!(execution.text(), Some("42"));
//! # Ok(()) }
//! ```

use abx_client::Client;
use abx_client::code::CAPABILITY;
pub use abx_client::code::{
    AutoInstall, CodeError, CodeEvents, CodeResult, ContextInfo, ContextState, Event, ExecuteRequest,
    NewContext,
};
use serde::Serialize;

use crate::{Error, Sandbox};

/// Runs code in one sandbox.
#[derive(Clone, Debug)]
pub struct Code {
    client: Client,
    workdir: String,
}

/// All that came of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Execution {
    /// How many cells its context has run, this one included.
    pub execution_count: Option<u64>,
    pub results: Vec<CodeResult>,
    pub stdout: String,
    pub stderr: String,
    /// What it raised.
    pub error: Option<CodeError>,
    /// Missing modules that were looked after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub installs: Vec<AutoInstall>,
    /// Why the context's kernel was replaced before the cell ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_restarted: Option<String>,
}

impl Execution {
    /// Text of the last expression.
    pub fn text(&self) -> Option<&str> {
        self.results.iter().find(|result| result.is_main_result)?.text.as_deref()
    }

    /// Adds what happened.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::NumberOfExecutions { execution_count } => self.execution_count = Some(execution_count),
            Event::Stdout(text) => self.stdout.push_str(&text.text),
            Event::Stderr(text) => self.stderr.push_str(&text.text),
            Event::Result(result) => self.results.push(*result),
            Event::Error(error) => self.error = Some(error),
            Event::AutoInstall(install) => self.installs.push(install),
            Event::KernelRestarted { reason } => self.kernel_restarted = Some(reason),
            Event::Keepalive | Event::EndOfExecution | Event::Unknown => {}
        }
    }
}

impl Sandbox {
    /// What runs code in it.
    ///
    /// # Errors
    /// E3004 where its template does not grant the capability `code`.
    pub fn code(&self) -> Result<Code, Error> {
        let settings = self.settings();
        if settings.capabilities.iter().any(|granted| granted == CAPABILITY) {
            return Ok(Code { client: self.client(), workdir: settings.workdir.clone() });
        }
        Err(Error::Capability {
            capability: CAPABILITY,
            template: settings.template.clone(),
            granted: settings.capabilities.clone(),
            origin: settings.capability_origin.clone(),
        })
    }
}

impl Code {
    /// Runs a cell to its end.
    ///
    /// # Errors
    /// That the cell raised is no error but part of the value. E5001 where the sandbox went away.
    pub async fn run(&self, request: &ExecuteRequest) -> Result<Execution, Error> {
        let mut events = self.start(request).await?;
        let mut execution = Execution::default();
        while let Some(event) = events.next().await? {
            execution.add(event);
        }
        Ok(execution)
    }

    /// Starts a cell; its events come as they happen, and dropping them stops it. Where the request names neither
    /// context nor directory, it runs in the context of the sandbox's workdir.
    pub async fn start(&self, request: &ExecuteRequest) -> Result<CodeEvents, Error> {
        let mut request = request.clone();
        if request.context_id.is_none() {
            request.cwd.get_or_insert_with(|| self.workdir.clone());
        }
        Ok(self.client.execute(&request).await?)
    }

    /// The contexts there are.
    pub async fn contexts(&self) -> Result<Vec<ContextInfo>, Error> {
        Ok(self.client.contexts().await?)
    }

    /// Makes a context, in the sandbox's workdir where no directory is named.
    pub async fn create_context(&self, wanted: &NewContext) -> Result<ContextInfo, Error> {
        let mut wanted = wanted.clone();
        wanted.cwd.get_or_insert_with(|| self.workdir.clone());
        Ok(self.client.create_context(&wanted).await?)
    }

    /// Forgets what was defined in a context, and stops what it runs.
    pub async fn restart(&self, id: &str) -> Result<(), Error> {
        Ok(self.client.restart_context(id).await?)
    }

    /// Removes a context, and stops what it runs.
    pub async fn remove(&self, id: &str) -> Result<(), Error> {
        Ok(self.client.remove_context(id).await?)
    }
}
