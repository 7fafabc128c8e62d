//! A pool begins, changes its size or ends.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use abx_core::progress::{Unit, start};
use abx_core::{Home, Progress};

use super::Pool;
use super::keeper::ENTRY;
use super::place::{Place, absolute, remove_unkept};
use super::talk::{self, Ask, Said};
use crate::{Context, CreateRequest, Error, FetchOptions};

/// What is wanted of a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolRequest {
    /// Any spelling of a template reference.
    pub reference: String,
    /// How many sandboxes are to wait; with 0 the pool ends.
    pub size: u64,
    pub fetch: FetchOptions,
}

/// The most sandboxes of one pool.
const MOST: u64 = 1000;

/// How long a keeper may take to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// All pools, those whose keeper is gone too.
pub fn list(context: &Context) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Place::all(&context.home).iter().filter_map(Place::look).collect();
    pools.sort_by(|one, other| one.reference.cmp(&other.reference));
    pools
}

/// Sees to it that `size` sandboxes of the reference wait, and returns when they do. With 0 the pool ends, with all that
/// wait in it.
///
/// # Errors
/// Whatever a create of the reference reports. A pool that never had a sandbox is gone then.
pub async fn set(context: &Context, request: &PoolRequest, progress: &dyn Progress) -> Result<Pool, Error> {
    let reference = absolute(context, &request.reference)?;
    let place = Place::of(&context.home, &reference);
    if request.size > MOST {
        let (value, high) = (request.size.to_string(), MOST.to_string());
        return Err(Error::OutOfBounds { what: "--size".into(), value, low: "0".into(), high });
    }
    if request.size == 0 {
        return end(&place, reference).await;
    }
    // Built here, where there is somebody to see it.
    let wanted =
        CreateRequest { reference: reference.clone(), fetch: request.fetch.clone(), ..Default::default() };
    crate::create::prepare(context, &wanted, progress).await?;
    let task = start(progress, format!("pool of {reference}"), Some(request.size), Unit::Items);
    let mut keeper = keeper(context, &place, &reference, request.size).await?;
    let mut told = 0;
    loop {
        let said: Said = talk::hear(&mut keeper).await.map_err(|_| keeper_died(&place))?;
        let ready = said.into_result()?;
        task.advance(ready.saturating_sub(told));
        told = told.max(ready);
        if ready >= request.size {
            break;
        }
    }
    task.finish("ready");
    place.look().ok_or_else(|| keeper_died(&place))
}

async fn end(place: &Place, reference: String) -> Result<Pool, Error> {
    if !place.dir.exists() {
        return Err(Error::NoPool { reference });
    }
    // One that does not answer is gone, or about to be.
    let _ = talk::ask(place, Ask::Size(0)).await;
    let until = Instant::now() + PATIENCE;
    while place.is_kept() {
        if Instant::now() >= until {
            return Err(Error::KeeperSilent { reference });
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    remove_unkept(place)?;
    Ok(Pool { reference, size: 0, ready: 0, keeper: None, error: None })
}

/// A keeper that has been told the size: the one there is, else a new one.
async fn keeper(
    context: &Context,
    place: &Place,
    reference: &str,
    size: u64,
) -> Result<tokio::io::BufReader<tokio::net::UnixStream>, Error> {
    let until = Instant::now() + PATIENCE;
    let mut started = false;
    loop {
        if let Ok(keeper) = talk::ask(place, Ask::Size(size)).await {
            return Ok(keeper);
        }
        if !place.is_kept() && !started {
            spawn(&context.home, place, reference, &context.exe)?;
            started = true;
        } else if !place.is_kept() && started && place.log().metadata().is_ok_and(|log| log.len() > 0) {
            return Err(keeper_died(place));
        }
        if Instant::now() >= until {
            return Err(Error::KeeperSilent { reference: reference.to_owned() });
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts a keeper, in a session of its own and with the caller's environment: what it starts must come to what the
/// caller's own creates come to.
fn spawn(home: &Home, place: &Place, reference: &str, exe: &std::path::Path) -> Result<(), Error> {
    std::fs::create_dir_all(&place.dir).map_err(Error::state(&place.dir))?;
    let log = File::create(place.log()).map_err(Error::state(&place.log()))?;
    let mut command = Command::new(exe);
    command
        .arg0("abx-pool")
        .arg(ENTRY)
        .arg(reference)
        .env("ABX_HOME", home.root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    // SAFETY: between fork and exec only `setsid` runs, which neither allocates nor locks.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
    let mut child = command.spawn().map_err(Error::state(exe))?;
    // A caller that lives on collects it; others leave it to process 1.
    std::thread::spawn(move || child.wait());
    Ok(())
}

fn keeper_died(place: &Place) -> Error {
    let log = std::fs::read_to_string(place.log()).unwrap_or_default();
    Error::KeeperDied { log: log.lines().map(str::to_owned).collect() }
}
