//! Reference in, ready sandbox out.

use abx_core::Progress;
use abx_core::egress::Target;
use abx_core::fs::Lock;
use abx_engine::{PortRequest, SandboxSettings};

use crate::{Context, Error, FetchOptions, Sandbox};

/// What a caller may ask for; `None` and empty mean the template's own value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateRequest {
    /// Any spelling of a template reference.
    pub reference: String,
    /// A second way to name the sandbox.
    pub name: Option<String>,
    /// On top of the template's environment.
    pub env: Vec<(String, String)>,
    /// Cores.
    pub cpu: Option<f64>,
    /// MB.
    pub memory: Option<u64>,
    /// MB.
    pub disk: Option<u64>,
    /// Seconds; 0 for never.
    pub timeout: Option<u64>,
    /// Seconds; 0 for never.
    pub idle_timeout: Option<u64>,
    /// Pauses the sandbox when its time is up, instead of ending it.
    pub pause_on_timeout: bool,
    /// Beside the template's own ports.
    pub ports: Vec<PortRequest>,
    /// Instead of the template's own set.
    pub capabilities: Option<Vec<String>>,
    /// `Some(false)`: loopback only.
    pub network: Option<bool>,
    /// What of the outside may be reached, before anything the template says of it.
    pub allow_out: Vec<Target>,
    /// What may not be reached, behind `allow_out` and before anything the template says of it.
    pub deny_out: Vec<Target>,
    pub fetch: FetchOptions,
}

/// Resolves, plans, builds, settles and starts, or takes a sandbox that waits in a pool and comes to the same. Returns when
/// the readiness probe has passed.
///
/// # Errors
/// Whatever the failing stage reports; nothing of the sandbox is left then. Finished build steps are kept.
pub async fn create(
    context: &Context,
    request: &CreateRequest,
    progress: &dyn Progress,
) -> Result<Sandbox, Error> {
    let Prepared { settings, bare, template, .. } = &prepare(context, request, progress).await?;
    let claimed = match request.fetch.no_cache {
        false => crate::pool::claim(context, request, bare, settings, template).await,
        true => None,
    };
    let record = match claimed {
        Some(record) => record,
        None => abx_engine::create::create(&context.engine(), settings, template).await?,
    };
    Ok(Sandbox::new(context, record))
}

/// All that a start needs.
pub(crate) struct Prepared {
    pub(crate) settings: SandboxSettings,
    /// The same without the caller's variables.
    pub(crate) bare: SandboxSettings,
    /// The files of the template, as they are kept with the sandbox.
    pub(crate) template: String,
    /// What keeps the store from being cleaned until the sandbox is there.
    in_use: Vec<Lock>,
}

impl Prepared {
    /// Lets the store be cleaned: the layers may be gone when they are needed.
    pub(crate) fn let_go(&mut self) {
        self.in_use.clear();
    }
}

/// Resolves, plans, builds and settles.
pub(crate) async fn prepare(
    context: &Context,
    request: &CreateRequest,
    progress: &dyn Progress,
) -> Result<Prepared, Error> {
    crate::settle::check(context, request)?;
    let looked = context.look_at_store().await;
    let lineage = crate::template::lineage(context, &request.reference, &request.fetch, progress).await?;
    let made = context.make_store().await?;
    let built = crate::template::build_lineage(context, &lineage, &request.fetch, progress).await?;
    let settings = crate::settle::settle(context, &built.built, request)?;
    let bare = match request.env.is_empty() {
        true => settings.clone(),
        false => {
            let request = CreateRequest { env: Vec::new(), ..request.clone() };
            crate::settle::settle(context, &built.built, &request)?
        }
    };
    let template = abx_source::kept::to_text(&built.lineage.packages);
    Ok(Prepared { settings, bare, template, in_use: looked.into_iter().chain(made).collect() })
}
