//! Starts a sandbox: makes its entry, starts its monitor, waits until it is ready.

use std::path::PathBuf;
use std::time::Duration;

use abx_core::Home;
use abx_core::fs::{Lock, spread};

use crate::start::{Request, Starting, Tie, claim_name};
use crate::{EngineError, Record, SandboxId, SandboxSettings, registry};

/// What every sandbox of this user shares.
#[derive(Clone, Debug)]
pub struct Engine {
    pub home: Home,
    /// The executable that serves as monitor: it must call [`crate::monitor::main`] for [`crate::monitor::ENTRY`].
    pub exe: PathBuf,
}

/// How long a monitor may take to clean up after a sandbox that did not get ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a sandbox and returns when it is ready. `template` is kept with it, see [`crate::registry::template`].
///
/// Dropping the future, or the end of this process, before that ends the sandbox.
///
/// # Errors
/// E2000, E2010, E2011, E3010 and whatever the launch reports. Nothing of the sandbox is left then.
pub async fn create(
    engine: &Engine,
    settings: &SandboxSettings,
    template: &str,
) -> Result<Record, EngineError> {
    Ok(start(engine, settings, template, false).await?.0)
}

/// [`create`] for a pool: nobody finds the sandbox, its clocks stand still, and it lives until it is claimed or the tie
/// is dropped.
pub async fn create_pooled(
    engine: &Engine,
    settings: &SandboxSettings,
    template: &str,
) -> Result<(Record, Tie), EngineError> {
    start(engine, settings, template, true).await
}

async fn start(
    engine: &Engine,
    settings: &SandboxSettings,
    template: &str,
    pooled: bool,
) -> Result<(Record, Tie), EngineError> {
    let name_lock = settings.name.as_deref().map(|name| claim_name(&engine.home, name)).transpose()?;
    let id = SandboxId::random().map_err(EngineError::state("/dev/urandom"))?;
    let (dir, lock) = make_entry(&engine.home, &id, template)?;
    let request = Request::Fresh { settings: Box::new(settings.clone()), pooled };
    let result = match Starting::spawn(engine, &dir, &request, lock, name_lock) {
        Ok(starting) => starting.ready(&dir).await,
        Err(error) => Err(error),
    };
    if result.is_err() {
        // The monitor tells first and cleans up then.
        registry::until_dead(&dir, PATIENCE).await;
        crate::clean::remove_dead(&engine.home, &id, None);
    }
    result
}

/// Makes the entry under a hidden name, locks it, and lets it appear. The lock is there from the first moment
/// that others can see it.
fn make_entry(home: &Home, id: &SandboxId, template: &str) -> Result<(PathBuf, Lock), EngineError> {
    let hidden = home.sandboxes().join(format!(".{id}"));
    let failed = || EngineError::state(&hidden);
    if !home.sandboxes().exists() {
        std::fs::create_dir_all(home.sandboxes()).map_err(failed())?;
        spread(&home.sandboxes()).map_err(failed())?;
    }
    // Clean-up looks at hidden entries only while nobody makes one.
    let _making = Lock::shared(&making(home)).map_err(failed())?;
    let private =
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&hidden);
    private.map_err(failed())?;
    let lock = Lock::exclusive(&hidden.join("lock")).map_err(failed())?;
    std::fs::write(hidden.join(registry::TEMPLATE), template).map_err(failed())?;
    let dir = registry::dir_of(home, id);
    std::fs::rename(&hidden, &dir).map_err(failed())?;
    Ok((dir, lock))
}

/// The lock that is shared by those who make or remove an entry.
pub(crate) fn making(home: &Home) -> PathBuf {
    home.sandboxes().join(".making")
}
