//! The process that keeps a pool filled.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use abx_core::fs::Lock;
use abx_core::{Fault, progress::Silent};
use abx_engine::{Record as SandboxRecord, SandboxId};
use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::fingerprint;
use super::place::{Place, Record};
use super::talk::{self, Ask, Said};
use crate::create::{Prepared, prepare};
use crate::{Context, CreateRequest, Error};

/// First argument of the executable when it serves as a keeper.
pub const ENTRY: &str = "__pool";

/// Between two looks at the template, where nobody asks for one.
const LOOK: Duration = Duration::from_secs(10);
/// After a sandbox that did not start.
const PAUSE: Duration = Duration::from_secs(5);

/// The whole life of a keeper. The reference is its argument, and the caller's environment its own.
pub fn main() -> ExitCode {
    let _ = rustix::thread::set_name(c"abx-pool");
    let Some(reference) = std::env::args().nth(2) else { return ExitCode::from(2) };
    match keep(reference) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever started it reads this.
            let _ = writeln!(std::io::stderr(), "{}: {error}", error.code());
            ExitCode::FAILURE
        }
    }
}

fn keep(reference: String) -> Result<(), Error> {
    let context = Context::from_env()?;
    let place = Place::of(&context.home, &reference);
    let path = place.lock();
    // Another that was started at the same time does the work.
    let Some(_lock) = Lock::try_exclusive(&path).map_err(Error::state(&path))? else { return Ok(()) };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::state(&place.dir))?;
    let result = runtime.block_on(Keeper::new(context, place.clone(), reference).run());
    runtime.shutdown_background();
    // Before the lock falls: who begins the pool anew finds nothing of it.
    match std::fs::remove_dir_all(&place.dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::state(&place.dir)(error)),
        _ => result,
    }
}

/// A sandbox that waits.
struct Member {
    fingerprint: String,
    /// Waits for it to be taken; aborted, it lets go of the sandbox, which ends.
    wait: AbortHandle,
}

struct Keeper {
    context: Context,
    place: Place,
    reference: String,
    size: u64,
    members: BTreeMap<SandboxId, Member>,
    /// Each ends with the id of a sandbox that waits no more.
    waits: JoinSet<SandboxId>,
    /// Those who want to hear when the pool is full.
    listeners: Vec<UnixStream>,
    /// Whether any ever waited.
    has_begun: bool,
    /// What the template comes to now.
    current: Option<(Prepared, String)>,
    error: Option<String>,
}

impl Keeper {
    fn new(context: Context, place: Place, reference: String) -> Self {
        Self {
            context,
            place,
            reference,
            size: 0,
            members: BTreeMap::new(),
            waits: JoinSet::new(),
            listeners: Vec::new(),
            has_begun: false,
            current: None,
            error: None,
        }
    }

    /// Until the pool ends.
    async fn run(mut self) -> Result<(), Error> {
        let mut asked = self.listen()?;
        let mut terminated = signal(SignalKind::terminate()).map_err(Error::state(&self.place.dir))?;
        let mut look_at = Instant::now();
        loop {
            let wants = (self.members.len() as u64) < self.size;
            tokio::select! {
                biased;
                _ = terminated.recv() => return Ok(()),
                Some((ask, stream)) = asked.recv() => match ask {
                    Ask::Size(0) => return Ok(()),
                    Ask::Size(size) => {
                        self.resize(size)?;
                        self.listeners.push(stream);
                        self.tell(&Said::Ready(self.members.len() as u64)).await;
                        look_at = Instant::now();
                    }
                    Ask::Look => look_at = Instant::now(),
                },
                Some(Ok(id)) = self.waits.join_next() => self.forget(&id),
                () = sleep_until(look_at), if self.size > 0 => {
                    look_at = Instant::now() + LOOK;
                    if let Err(error) = self.look().await {
                        self.failed(error).await?;
                    }
                }
                () = std::future::ready(()), if wants && self.current.is_some() => {
                    if let Err(error) = self.add().await {
                        self.failed(error).await?;
                        self.current = None;
                        look_at = Instant::now() + PAUSE;
                    }
                }
            }
            // The state directory may be gone as a whole.
            if !self.place.dir.exists() {
                return Ok(());
            }
        }
    }

    fn listen(&self) -> Result<mpsc::Receiver<(Ask, UnixStream)>, Error> {
        let socket = self.place.socket();
        let failed = || Error::state(&socket);
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed()(error)),
            _ => {}
        }
        // A keeper before us may have left some; theirs ended with it.
        let _ = std::fs::remove_dir_all(self.place.dir.join("ready"));
        // By a relative name: a socket's path may have 107 bytes only, wherever the home is.
        let cwd = std::env::current_dir().map_err(failed())?;
        std::env::set_current_dir(&self.place.dir).map_err(failed())?;
        let listener = UnixListener::bind("keeper.sock").map_err(failed())?;
        std::env::set_current_dir(cwd).map_err(failed())?;
        let (send, asked) = mpsc::channel(8);
        tokio::spawn(serve(listener, send));
        Ok(asked)
    }

    fn resize(&mut self, size: u64) -> Result<(), Error> {
        self.size = size;
        while self.members.len() as u64 > size {
            let Some(id) = self.members.keys().next().cloned() else { break };
            self.forget(&id);
        }
        self.write()
    }

    /// Sees what the template comes to, and lets go of sandboxes of what it came to before.
    async fn look(&mut self) -> Result<(), Error> {
        let request = CreateRequest { reference: self.reference.clone(), ..CreateRequest::default() };
        let mut prepared = prepare(&self.context, &request, &Silent).await?;
        // Held for ever, it would keep the store from ever being cleaned.
        prepared.let_go();
        let fingerprint = fingerprint(&prepared.bare, &prepared.template);
        let old: Vec<SandboxId> = self
            .members
            .iter()
            .filter(|(_, member)| member.fingerprint != fingerprint)
            .map(|(id, _)| id.clone())
            .collect();
        old.iter().for_each(|id| self.forget(id));
        self.current = Some((prepared, fingerprint));
        Ok(())
    }

    /// Starts one more.
    async fn add(&mut self) -> Result<(), Error> {
        let Some((prepared, fingerprint)) = &self.current else { return Ok(()) };
        let (engine, fingerprint) = (self.context.engine(), fingerprint.clone());
        let started = abx_engine::create::create_pooled(&engine, &prepared.bare, &prepared.template).await;
        let (SandboxRecord { id, .. }, tie) = started?;
        let marker = self.marker(&fingerprint, &id);
        let made = std::fs::create_dir_all(self.place.ready(&fingerprint))
            .and_then(|()| std::fs::File::create(&marker).map(drop));
        made.map_err(Error::state(&marker))?;
        let waits = id.clone();
        let wait = self.waits.spawn(async move {
            tie.loosed().await;
            waits
        });
        self.has_begun = true;
        self.members.insert(id, Member { fingerprint, wait });
        self.error = None;
        self.write()?;
        self.tell(&Said::Ready(self.members.len() as u64)).await;
        Ok(())
    }

    fn marker(&self, fingerprint: &str, id: &SandboxId) -> PathBuf {
        self.place.ready(fingerprint).join(id.as_str())
    }

    /// One that was taken, has ended, or is to.
    fn forget(&mut self, id: &SandboxId) {
        if let Some(member) = self.members.remove(id) {
            member.wait.abort();
            let _ = std::fs::remove_file(self.marker(&member.fingerprint, id));
            let _ = std::fs::remove_dir(self.place.ready(&member.fingerprint));
        }
    }

    /// Tells those who wait, and goes on; a pool that never had a sandbox ends.
    async fn failed(&mut self, error: Error) -> Result<(), Error> {
        self.error = Some(error.to_string());
        self.write()?;
        self.tell(&Said::failed(&error)).await;
        self.listeners.clear();
        if self.has_begun { Ok(()) } else { Err(error) }
    }

    fn write(&self) -> Result<(), Error> {
        let record = Record {
            reference: self.reference.clone(),
            size: self.size,
            keeper: std::process::id(),
            error: self.error.clone(),
        };
        self.place.write(&record).map_err(Error::state(&self.place.dir))
    }

    /// Those who have heard that the pool is full listen no more.
    async fn tell(&mut self, said: &Said) {
        let mut still = Vec::new();
        for mut listener in std::mem::take(&mut self.listeners) {
            let told = timeout(Duration::from_secs(1), talk::say(&mut listener, said)).await;
            let is_full = self.members.len() as u64 >= self.size;
            if matches!(told, Ok(Ok(()))) && !is_full {
                still.push(listener);
            }
        }
        self.listeners = still;
    }
}

/// Reads one question from each connection. A slow, silent or endless one holds up nobody.
async fn serve(listener: UnixListener, send: mpsc::Sender<(Ask, UnixStream)>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let send = send.clone();
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            if let Ok(Ok(ask)) = timeout(Duration::from_secs(5), talk::hear::<Ask>(&mut stream)).await {
                let _ = send.send((ask, stream.into_inner())).await;
            }
        });
    }
}
