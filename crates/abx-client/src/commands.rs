//! The service of named commands inside.

use std::time::Duration;

use abx_protocol::private::{COMMANDS, CommandService};
use http::Method;

use crate::transport::RequestBody;
use crate::{Client, ClientError};

/// What its `commands.py` imports may take its time.
const PATIENCE: Duration = Duration::from_secs(150);

impl Client {
    /// Who answers for named commands. Where nobody does yet, the service is started, which takes as long as the
    /// template's `commands.py` takes to load.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with the service's last words where it does not come up (500), or where the sandbox
    /// has neither Python nor a server of its own (404).
    pub async fn command_service(&self) -> Result<CommandService, ClientError> {
        let call = "the start of the service of named commands";
        let builder = self.endpoint.request(Method::POST, COMMANDS, None);
        let answer = self.endpoint.json(call, builder, RequestBody::empty(), None);
        tokio::time::timeout(PATIENCE, answer).await.unwrap_or(Err(ClientError::Timeout { call }))
    }
}
