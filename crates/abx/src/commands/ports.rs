use abx_client::ListeningPort;
use agent_sandbox::sandbox::{PortMapping, Status};
use agent_sandbox::{PortRequest, Sandbox};
use serde::Serialize;

use super::Edge;
use crate::Failure;
use crate::cli::PortsArgs;
use crate::output::{Table, human};

/// A port that somebody inside listens on, or that is forwarded, or both.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    /// Inside.
    port: u16,
    /// The addresses inside that somebody listens on; empty where nobody does.
    addresses: Vec<String>,
    /// Where this host reaches it.
    host: Option<String>,
    process: Option<Process>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Process {
    pid: u32,
    name: String,
    command: String,
    /// Seconds since the epoch.
    started: u64,
}

impl Row {
    fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.pid)
    }

    /// `python3 (7)`, or that there is none, where that `is_known`.
    fn shown_process(&self, is_known: bool) -> String {
        match &self.process {
            Some(process) => format!("{} ({})", process.name, process.pid),
            None if is_known && self.addresses.is_empty() => "nothing listens".to_owned(),
            None => String::new(),
        }
    }

    /// `2m ago`
    fn shown_age(&self, now: u64) -> String {
        let age = |process: &Process| format!("{} ago", human::age(now.saturating_sub(process.started)));
        self.process.as_ref().map(age).unwrap_or_default()
    }
}

/// Forwards what is to be forwarded, then shows a row for each port.
pub(super) async fn ports(edge: &Edge, args: &PortsArgs) -> Result<u8, Failure> {
    let sandbox = agent_sandbox::find(&edge.context, &args.id)?;
    let live = sandbox.info().live;
    let mut forwarded = live.map(|live| live.ports).unwrap_or_default();
    for port in &args.forward {
        let mapping = sandbox.forward(PortRequest { host: port.host, guest: port.guest }).await?;
        edge.printer.note(&format!("{} leads to port {} inside", mapping.host, mapping.guest));
        if !forwarded.contains(&mapping) {
            forwarded.push(mapping);
        }
    }
    let now = super::now();
    let listening = listening(edge, &sandbox).await?;
    let is_known = listening.is_some();
    let rows = rows(listening.unwrap_or_default(), &forwarded, now);
    let mut table = Table::new(["PORT", "ADDRESS", "HOST", "PROCESS", "STARTED"]);
    for row in &rows {
        table.row([
            row.port.to_string(),
            row.addresses.join(", "),
            row.host.clone().unwrap_or_default(),
            row.shown_process(is_known),
            row.shown_age(now),
        ]);
    }
    edge.printer.table(&rows, &table)?;
    Ok(0)
}

/// A frozen sandbox cannot tell, and is not woken for a look.
async fn listening(edge: &Edge, sandbox: &Sandbox) -> Result<Option<Vec<ListeningPort>>, Failure> {
    if sandbox.info().status == Status::Running {
        return Ok(Some(sandbox.client().ports().await?));
    }
    edge.printer.note("it does not run: only what is forwarded is known");
    Ok(None)
}

/// In order of port. The addresses of one port are one row where they are one process's; a port that is forwarded to
/// several places has a row for each.
fn rows(listening: Vec<ListeningPort>, forwarded: &[PortMapping], now: u64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for found in listening {
        let pid = found.process.as_ref().map(|process| process.pid);
        if let Some(row) = rows.iter_mut().find(|row| row.port == found.port && row.pid() == pid) {
            row.addresses.push(found.address);
            continue;
        }
        let process = found.process.map(|owner| Process {
            pid: owner.pid,
            name: owner.name,
            command: owner.command,
            started: now.saturating_sub(owner.age_seconds as u64),
        });
        rows.push(Row { port: found.port, addresses: vec![found.address], host: None, process });
    }
    for mapping in forwarded {
        let host = Some(mapping.host.to_string());
        match rows.iter_mut().find(|row| row.port == mapping.guest && row.host.is_none()) {
            Some(row) => row.host = host,
            None => rows.push(Row { port: mapping.guest, addresses: Vec::new(), host, process: None }),
        }
    }
    rows.sort_by_key(|row| row.port);
    rows
}

#[cfg(test)]
mod tests {
    use abx_client::Owner;

    use super::*;

    fn listening(port: u16, address: &str, pid: u32) -> ListeningPort {
        let process = Owner { pid, name: "server".into(), command: "server -x".into(), age_seconds: 60.4 };
        ListeningPort { port, address: address.into(), process: Some(process) }
    }

    fn forwarded(host: &str, guest: u16) -> PortMapping {
        PortMapping { guest, host: host.parse().expect("an address") }
    }

    #[test]
    fn what_listens_and_what_is_forwarded_come_together() {
        let found =
            vec![listening(80, "0.0.0.0", 7), listening(80, "::", 7), listening(3000, "127.0.0.1", 9)];
        let rows = rows(found, &[forwarded("127.0.0.1:8080", 80), forwarded("127.0.0.1:4000", 443)], 100);
        let seen: Vec<_> = rows
            .iter()
            .map(|row| {
                let pid = row.process.as_ref().map(|process| (process.pid, process.started));
                (row.port, row.addresses.join(" "), row.host.as_deref(), pid)
            })
            .collect();
        assert_eq!(
            seen,
            [
                (80, "0.0.0.0 ::".to_owned(), Some("127.0.0.1:8080"), Some((7, 40))),
                (443, String::new(), Some("127.0.0.1:4000"), None),
                (3000, "127.0.0.1".to_owned(), None, Some((9, 40))),
            ]
        );
    }

    #[test]
    fn a_port_forwarded_twice_has_both_places() {
        let rows = rows(
            vec![listening(80, "0.0.0.0", 7)],
            &[forwarded("127.0.0.1:1", 80), forwarded("127.0.0.1:2", 80)],
            0,
        );
        let hosts: Vec<_> = rows.iter().map(|row| row.host.as_deref()).collect();
        assert_eq!(hosts, [Some("127.0.0.1:1"), Some("127.0.0.1:2")]);
    }
}
