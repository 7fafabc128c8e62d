use agent_sandbox::pool::{Pool, PoolRequest};

use super::Edge;
use super::interrupt::interruptible;
use crate::Failure;
use crate::cli::{PoolArgs, ProgressMode};
use crate::output::Table;
use crate::progress::{Detail, Reporter};

/// Shows pools, or makes one as large as is wanted.
pub(super) async fn pool(edge: &Edge, args: &PoolArgs) -> Result<u8, Failure> {
    let (Some(name), Some(size)) = (&args.name, args.size) else { return list(edge) };
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let request = PoolRequest { reference: name.clone(), size, ..PoolRequest::default() };
    let pool = interruptible(&progress, agent_sandbox::pool::set(&edge.context, &request, &progress)).await?;
    drop(progress);
    let text = match size {
        0 => format!("the pool of {} has ended", pool.reference),
        _ => format!("{} of {} wait", pool.ready, pool.reference),
    };
    edge.printer.done(&pool, &text)?;
    Ok(0)
}

fn list(edge: &Edge) -> Result<u8, Failure> {
    let pools = agent_sandbox::pool::list(&edge.context);
    let mut table = Table::new(["TEMPLATE", "READY", "SIZE", "STATUS"]);
    for pool in &pools {
        table.row([pool.reference.clone(), pool.ready.to_string(), pool.size.to_string(), status(pool)]);
    }
    edge.printer.table(&pools, &table)?;
    Ok(0)
}

fn status(pool: &Pool) -> String {
    match (&pool.keeper, &pool.error) {
        (None, _) => "its keeper is gone".to_owned(),
        (_, Some(error)) => error.clone(),
        (_, None) if pool.ready < pool.size => "filling".to_owned(),
        _ => "ready".to_owned(),
    }
}
