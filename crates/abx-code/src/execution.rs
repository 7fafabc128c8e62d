//! One cell in its context, from the wait for its turn to its last event.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use abx_protocol::code::{CodeError, ContextState, Event};
use tokio::time::{sleep, timeout};

use crate::context::{Context, Slot};
use crate::forms;
use crate::install;
use crate::kernel::{Happening, Kernel, Surroundings};
use crate::outlet::Outlet;
use crate::settings::Settings;
use crate::variables;

/// How long a kernel may take to stop at an interrupt, and how often it is asked before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);
const ASKED: usize = 3;
/// The longest that variables may take to be set or put back.
const SHORTLY: Duration = Duration::from_secs(10);

/// What to run.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) code: String,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) installs: bool,
}

/// How a cell came to its end.
enum End {
    Done,
    /// Not told yet: the cell lacked a module, and nothing else happened after.
    Missing(CodeError),
    /// The client went away; the kernel has stopped.
    Left,
    /// The kernel is no more.
    Lost(String),
    /// The context was restarted or removed.
    Aborted,
}

/// Runs the cell and tells everything. Returns early where nobody listens any more; the context then is ready for
/// the next cell.
pub(crate) async fn run(context: Rc<Context>, settings: &Settings, cell: Cell, mut outlet: Outlet) {
    let mut slot = tokio::select! {
        slot = context.slot.lock() => slot,
        () = outlet.gone() => return,
    };
    if context.is_removed() {
        return tell(&mut outlet, "ContextRemoved", "the context was removed".to_owned()).await;
    }
    context.state.set(ContextState::Busy);
    let generation = context.generation();
    let end = match ready(&context, settings, &mut slot, &mut outlet, generation).await {
        Ok(kernel) => {
            Run { context: &context, cell: &cell, kernel, outlet: &mut outlet, generation }.whole().await
        }
        Err(message) => {
            tell(&mut outlet, "KernelError", message).await;
            End::Aborted
        }
    };
    match end {
        End::Done | End::Missing(_) | End::Left => {}
        End::Aborted => slot.kernel = None,
        End::Lost(reason) => {
            tell(&mut outlet, "KernelEnded", format!("the kernel ended: {reason}; what was defined is lost"))
                .await;
            // Who went away did not hear of it; the next one will.
            *slot = Slot { kernel: None, lost: outlet.is_gone().then_some(reason) };
        }
    }
    context.state.set(if slot.kernel.is_some() { ContextState::Idle } else { ContextState::Ended });
    outlet.emit(&Event::EndOfExecution).await;
}

/// The kernel, started where there is none or where it has ended by itself.
async fn ready<'a>(
    context: &Context,
    settings: &Settings,
    slot: &'a mut Slot,
    outlet: &mut Outlet,
    generation: u64,
) -> Result<&'a mut Kernel, String> {
    if let Some(reason) = slot.kernel.as_mut().and_then(Kernel::ended) {
        *slot = Slot { kernel: None, lost: Some(reason) };
    }
    if let Some(reason) = slot.lost.take() {
        outlet.emit(&Event::KernelRestarted { reason }).await;
    }
    if slot.kernel.is_none() {
        let surroundings = Surroundings { directory: &context.directory, env: &settings.env };
        // Who goes away meanwhile leaves a kernel for the next.
        let started = tokio::select! {
            started = outlet.beside(Kernel::start(&context.program, surroundings)) => started,
            () = context.aborted(generation) => return Err("the context was restarted".to_owned()),
        };
        slot.kernel = Some(started.map_err(|error| error.to_string())?);
    }
    Ok(slot.kernel.as_mut().expect("it was started above"))
}

async fn tell(outlet: &mut Outlet, name: &str, value: String) {
    let traceback = value.clone();
    outlet.emit(&Event::Error(CodeError { name: name.to_owned(), value, traceback })).await;
}

/// Everything around one cell on a kernel.
struct Run<'a> {
    context: &'a Context,
    cell: &'a Cell,
    kernel: &'a mut Kernel,
    outlet: &'a mut Outlet,
    /// The context's when the cell began.
    generation: u64,
}

impl Run<'_> {
    async fn whole(&mut self) -> End {
        let around = variables::around(&self.context.language, &self.cell.variables);
        if let Some((before, _)) = &around {
            self.quietly(before).await;
        }
        let end = self.installing().await;
        if let (Some((_, after)), End::Done | End::Left) = (&around, &end) {
            self.quietly(after).await;
        }
        end
    }

    /// The cell, and once more where it lacked a module that is there now.
    async fn installing(&mut self) -> End {
        let hold = self.cell.installs && self.context.language == "python";
        let error = match self.once(&self.cell.code, hold).await {
            End::Missing(error) => error,
            end => return end,
        };
        let Some(request) = install::request(&error, &self.cell.code) else {
            self.outlet.emit(&Event::Error(error)).await;
            return End::Done;
        };
        let (installed, end) = self.install(&request).await;
        match end {
            End::Done if installed => self.once(&self.cell.code, false).await,
            End::Done => {
                self.outlet.emit(&Event::Error(error)).await;
                End::Done
            }
            end => end,
        }
    }

    /// Runs the installer in the kernel, so that what it installs is what the kernel imports.
    async fn install(&mut self, request: &str) -> (bool, End) {
        self.kernel.submit(request, true).await;
        let mut installed = false;
        let end = self
            .drive(async |outlet, happening| {
                let Happening::Shown { forms, .. } = happening else { return };
                let Some(news) = install::news(&forms) else { return };
                installed |= news.installed;
                outlet.stderr(install::said(&news)).await;
                outlet.emit(&Event::AutoInstall(news)).await;
            })
            .await;
        (installed, end)
    }

    /// The cell once; an error for want of a module is held back where somebody can do something about it.
    async fn once(&mut self, code: &str, hold: bool) -> End {
        self.kernel.submit(code, false).await;
        let mut held = None;
        let end = self
            .drive(async |outlet, happening| match happening {
                Happening::Raised(error) if hold && install::is_missing(&error) => held = Some(error),
                happening => report(outlet, happening).await,
            })
            .await;
        match (end, held) {
            (End::Done, Some(error)) => End::Missing(error),
            (end, _) => end,
        }
    }

    /// Hands what happens to `each` until the cell is done, the client gone, or the kernel lost.
    async fn drive(&mut self, mut each: impl AsyncFnMut(&mut Outlet, Happening)) -> End {
        loop {
            let happening = tokio::select! {
                biased;
                () = self.context.aborted(self.generation) => {
                    tell(self.outlet, "ContextRestarted", "the context was restarted".to_owned()).await;
                    return End::Aborted;
                }
                happening = self.kernel.next() => happening,
                () = self.outlet.gone() => return self.stop().await,
            };
            match happening {
                Happening::Done => return End::Done,
                Happening::Ended(reason) => return End::Lost(reason),
                happening => {
                    tokio::select! {
                        () = each(self.outlet, happening) => {}
                        () = self.context.aborted(self.generation) => return End::Aborted,
                    }
                }
            }
        }
    }

    /// Interrupts the cell, again and again; one that goes on all the same goes with its kernel.
    async fn stop(&mut self) -> End {
        for _ in 0..ASKED {
            self.kernel.interrupt().await;
            let stopped = async {
                loop {
                    match self.kernel.next().await {
                        Happening::Done => return End::Left,
                        Happening::Ended(reason) => return End::Lost(reason),
                        _ => {}
                    }
                }
            };
            tokio::select! {
                end = stopped => return end,
                () = sleep(PATIENCE) => {}
                () = self.context.aborted(self.generation) => return End::Aborted,
            }
        }
        End::Lost("it did not stop when it was interrupted".to_owned())
    }

    /// Runs something of ours; what comes of it is nobody's business.
    async fn quietly(&mut self, code: &str) {
        self.kernel.submit(code, true).await;
        let done =
            async { while !matches!(self.kernel.next().await, Happening::Done | Happening::Ended(_)) {} };
        let _ = timeout(SHORTLY, done).await;
    }
}

async fn report(outlet: &mut Outlet, happening: Happening) {
    match happening {
        Happening::Count(count) => outlet.emit(&Event::NumberOfExecutions { execution_count: count }).await,
        Happening::Stdout(text) => outlet.stdout(text).await,
        Happening::Stderr(text) => outlet.stderr(text).await,
        Happening::Shown { main, forms } => {
            outlet.emit(&Event::Result(Box::new(forms::result(forms, main)))).await;
        }
        Happening::Raised(error) => outlet.emit(&Event::Error(error)).await,
        Happening::Done | Happening::Ended(_) => {}
    }
}
