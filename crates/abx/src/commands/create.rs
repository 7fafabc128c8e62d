use abx_reference::TagError;
use agent_sandbox::{CreateRequest, FetchOptions, PortRequest, Sandbox};

use super::Edge;
use super::foreground::{self, Job};
use super::interrupt::interruptible;
use crate::Failure;
use crate::attach::AttachOptions;
use crate::cli::{CreateArgs, NetworkArg, OverrideArgs, ProgressMode};
use crate::progress::{Detail, Reporter};

/// Creates a sandbox, and runs a command in it where there is one.
pub(super) async fn create(edge: &Edge, args: &CreateArgs) -> Result<u8, Failure> {
    let attach = foreground::attach_options(args.stdio)?;
    if args.rm && !args.attaches() {
        return Err(Failure::usage("--rm needs a command after `--`: the sandbox is removed when that ends"));
    }
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let request = request(args)?;
    let sandbox = interruptible(&progress, agent_sandbox::create(&edge.context, &request, &progress)).await?;
    drop(progress);
    if !args.attaches() {
        edge.printer.result(&sandbox.info(), sandbox.id())?;
        return Ok(0);
    }
    let result = foreground::run(edge, &sandbox, job(args, &sandbox, attach)).await;
    if args.rm {
        if let Err(error) = sandbox.kill().await {
            // The status stays the command's own.
            Failure::from(error).report(&edge.printer, true);
        }
        return result;
    }
    let which = args.name.as_deref().unwrap_or(sandbox.id());
    edge.printer.note(&format!("sandbox {which} runs on; `abx kill {which}` ends it"));
    result
}

fn request(args: &CreateArgs) -> Result<CreateRequest, Failure> {
    let rules = &args.overrides;
    let has_rules = !rules.allow_out.is_empty() || !rules.deny_out.is_empty();
    if has_rules && rules.network == Some(NetworkArg::None) {
        return Err(Failure::usage(
            "--allow-out and --deny-out mean nothing without a network; leave out --network none",
        ));
    }
    Ok(CreateRequest {
        name: args.name.clone(),
        fetch: FetchOptions { frozen: args.frozen, ..(&args.fetch).into() },
        ..overridden(reference(args)?, &args.overrides)
    })
}

/// A request that has nothing but the caller's wishes.
pub(super) fn overridden(reference: String, args: &OverrideArgs) -> CreateRequest {
    CreateRequest {
        reference,
        env: args.env.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect(),
        cpu: args.cpu,
        memory: args.memory.map(|memory| memory.0),
        disk: args.disk.map(|disk| disk.0),
        timeout: args.timeout,
        idle_timeout: args.idle_timeout,
        ports: args.port.iter().map(|port| PortRequest { host: port.host, guest: port.guest }).collect(),
        capabilities: args.capabilities.clone(),
        allow_out: args.allow_out.clone(),
        deny_out: args.deny_out.clone(),
        network: args.network.map(|network| network == NetworkArg::Default),
        ..CreateRequest::default()
    }
}

/// The reference, with what `--tag` adds to it.
fn reference(args: &CreateArgs) -> Result<String, Failure> {
    let Some(tag) = &args.tag else { return Ok(args.reference.clone()) };
    match abx_reference::tagged(&args.reference, tag) {
        Ok(reference) => Ok(reference.to_string()),
        Err(TagError::Malformed(error)) => Err(error.into()),
        Err(clash) => Err(Failure::usage(format!("--tag: {clash}"))),
    }
}

/// The command, else the template's shell. The caller's variables are the sandbox's own already.
fn job(args: &CreateArgs, sandbox: &Sandbox, attach: AttachOptions) -> Job {
    if args.command.is_empty() {
        foreground::shell(sandbox, AttachOptions { interactive: true, ..attach })
    } else {
        Job { command: args.command.clone(), attach, ..Job::default() }
    }
}
