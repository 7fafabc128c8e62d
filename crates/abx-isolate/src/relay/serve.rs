//! The thread that serves all sockets of a sandbox.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::{Errno, Result};

use super::connect::{Address, begin, reset};
use super::dns::{self, Query};
use super::names;
use super::serving::{Order, Orders};
use super::stream::{Pair, Turn};
use super::{Activity, Listener, Relay, Target};
use crate::guard::{Guard, Question};

/// Everything that is polled, by the number it was registered under.
#[derive(Debug)]
pub(super) struct Server {
    epoll: OwnedFd,
    netns: OwnedFd,
    own_address: Option<Ipv4Addr>,
    sources: HashMap<u64, Source>,
    next: u64,
    orders: Arc<Orders>,
    guard: Option<Arc<Guard>>,
    streams: names::Streams,
    activity: Arc<Activity>,
    buffer: Vec<u8>,
    /// Connections that could pass more at once.
    busy: Vec<u64>,
}

#[derive(Debug)]
enum Source {
    Orders,
    /// The kernel has refused something.
    Refusals(Arc<Guard>),
    Listener(TcpListener, Target),
    Names(Arc<UdpSocket>),
    Query(Query, Arc<UdpSocket>),
    /// Accepted, and being continued; `rest` is where to try next, the last one first.
    Connecting {
        client: TcpStream,
        server: TcpStream,
        rest: Vec<Address>,
    },
    Pair(Pair),
}

/// Connections open at once; more are refused. What they cost is the owner's, not the sandbox's, and the sandbox can
/// open as many as it likes.
const MOST_CONNECTIONS: u64 = 1024;

/// Questions under way at once; more are dropped, and asked again by whoever waits.
const MOST_QUERIES: usize = 512;

const LEVEL: epoll::EventFlags = epoll::EventFlags::IN;
const EDGE: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

impl Server {
    pub(super) fn new(relay: Relay, orders: Arc<Orders>, activity: Arc<Activity>) -> Result<Self> {
        let mut server = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            netns: relay.netns,
            own_address: relay.own_address,
            sources: HashMap::new(),
            next: 0,
            orders: orders.clone(),
            guard: relay.guard,
            streams: names::Streams::default(),
            activity,
            buffer: vec![0; 64 * 1024],
            busy: Vec::new(),
        };
        let number = server.register(&orders.event, LEVEL)?;
        server.sources.insert(number, Source::Orders);
        if let Some(guard) = server.guard.clone() {
            let number = server.register(guard.listening(), LEVEL)?;
            server.sources.insert(number, Source::Refusals(guard));
        }
        for listener in relay.listeners {
            server.listen(listener)?;
        }
        if let Some(names) = relay.dns {
            rustix::io::ioctl_fionbio(&names, true)?;
            let number = server.register(&names, LEVEL)?;
            server.sources.insert(number, Source::Names(Arc::new(names)));
        }
        Ok(server)
    }

    fn listen(&mut self, listener: Listener) -> Result<()> {
        rustix::io::ioctl_fionbio(&listener.socket, true)?;
        let number = self.register(&listener.socket, LEVEL)?;
        self.sources.insert(number, Source::Listener(listener.socket, listener.target));
        Ok(())
    }

    fn register(&mut self, socket: impl AsFd, events: epoll::EventFlags) -> Result<u64> {
        self.next += 1;
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(self.next), events)?;
        Ok(self.next)
    }

    /// Serves until told to stop.
    pub(super) fn run(&mut self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(64);
        loop {
            let timeout = self.timeout();
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let mut ready: Vec<u64> = events.iter().map(|event| event.data.u64()).collect();
            ready.append(&mut self.busy);
            for number in ready {
                // An earlier one of this round may have removed it.
                let Some(source) = self.sources.remove(&number) else { continue };
                if matches!(source, Source::Orders) {
                    self.keep(number, source);
                    if !self.follow_orders() {
                        return;
                    }
                } else {
                    self.serve(number, source);
                }
            }
            self.drop_late_queries();
        }
    }

    /// `false` once it is to stop.
    fn follow_orders(&mut self) -> bool {
        for order in self.orders.clone().take() {
            match order {
                // A socket that cannot be polled is closed, and connections to it are refused.
                Order::Serve(listener) => drop(self.listen(listener)),
                Order::Stop => return false,
            }
        }
        true
    }

    fn serve(&mut self, number: u64, source: Source) {
        match source {
            Source::Orders => self.keep(number, Source::Orders),
            Source::Refusals(guard) => {
                guard.drain();
                self.keep(number, Source::Refusals(guard));
            }
            Source::Listener(listener, target) => {
                self.accept(&listener, target);
                self.keep(number, Source::Listener(listener, target));
            }
            Source::Names(socket) => {
                self.take_question(&socket);
                self.keep(number, Source::Names(socket));
            }
            Source::Query(query, names) => {
                if !query.answer(&names, self.guard.as_deref(), &mut self.buffer) {
                    self.ask(query.ask_next(), &names);
                }
            }
            Source::Connecting { client, server, rest } => self.connected(number, client, server, rest),
            Source::Pair(pair) => self.pass(number, pair),
        }
    }

    fn keep(&mut self, number: u64, source: Source) {
        self.sources.insert(number, source);
    }

    fn accept(&mut self, listener: &TcpListener, target: Target) {
        match listener.accept() {
            Ok((client, _)) if self.activity.open() >= MOST_CONNECTIONS => reset(&client),
            Ok((client, _)) if !self.may_go_on(target) => reset(&client),
            Ok((client, _)) if matches!(target, Target::Resolver) && self.guard.is_some() => {
                if let Some(guard) = &self.guard {
                    self.streams.serve(client, guard);
                }
            }
            Ok((client, _)) => {
                let addresses = self.addresses(target);
                self.activity.connected();
                self.connect(client, addresses);
            }
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM)) =>
            {
                // Nothing to be done but wait for one to close.
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(_) => {}
        }
    }

    /// Where to connect, the first to be tried last: many servers listen on one kind of loopback alone, or on the
    /// sandbox's own address.
    fn addresses(&self, target: Target) -> Vec<Address> {
        match target {
            Target::Guest(port) => [
                self.own_address.map(IpAddr::V4),
                Some(Ipv6Addr::LOCALHOST.into()),
                Some(Ipv4Addr::LOCALHOST.into()),
            ]
            .into_iter()
            .flatten()
            .map(|address| Address::Guest((address, port).into()))
            .collect(),
            Target::Host(address) => vec![Address::Host(address)],
            Target::Resolver => dns::host_resolvers().into_iter().rev().map(Address::Host).collect(),
        }
    }

    fn may_go_on(&self, target: Target) -> bool {
        match (target, &self.guard) {
            (Target::Host(address), Some(guard)) => guard.may_reach_host(address.port()),
            _ => true,
        }
    }

    fn connect(&mut self, client: TcpStream, mut rest: Vec<Address>) {
        let address = rest.pop();
        let begun = address.ok_or(Errno::ADDRNOTAVAIL).and_then(|address| begin(&self.netns, address));
        let registered = begun.and_then(|server| Ok((self.register(&server, EDGE)?, server)));
        match registered {
            Ok((number, server)) => self.keep(number, Source::Connecting { client, server, rest }),
            Err(_) if !rest.is_empty() => self.connect(client, rest),
            Err(_) => self.refuse(client),
        }
    }

    fn refuse(&mut self, client: TcpStream) {
        reset(&client);
        self.activity.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn connected(&mut self, number: u64, client: TcpStream, server: TcpStream, rest: Vec<Address>) {
        let outcome = match server.take_error() {
            Ok(None) if server.peer_addr().is_ok() => Ok(true),
            Ok(None) => Ok(false),
            Ok(Some(_)) | Err(_) => Err(()),
        };
        match outcome {
            Ok(false) => self.keep(number, Source::Connecting { client, server, rest }),
            Ok(true) => {
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let data = epoll::EventData::new_u64(number);
                let watched = client.set_nonblocking(true).is_ok()
                    && epoll::add(&self.epoll, &client, data, EDGE).is_ok();
                if watched {
                    self.pass(number, Pair::new(client, server));
                } else {
                    self.refuse(client);
                }
            }
            Err(()) if !rest.is_empty() => self.connect(client, rest),
            Err(()) => self.refuse(client),
        }
    }

    fn pass(&mut self, number: u64, mut pair: Pair) {
        let mut bytes = 0;
        match pair.turn(&mut self.buffer, &mut bytes) {
            Turn::Finished => {
                self.activity.open.fetch_sub(1, Ordering::Relaxed);
            }
            Turn::Busy => {
                self.busy.push(number);
                self.keep(number, Source::Pair(pair));
            }
            Turn::Waiting => self.keep(number, Source::Pair(pair)),
        }
        self.activity.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn take_question(&mut self, names: &Arc<UdpSocket>) {
        while let Ok((length, client)) = names.recv_from(&mut self.buffer) {
            self.activity.bytes.fetch_add(length as u64, Ordering::Relaxed);
            let under_way =
                self.sources.values().filter(|source| matches!(source, Source::Query(..))).count();
            let question = &self.buffer[..length];
            let verdict = self.guard.as_ref().map_or(Question::Ask, |guard| guard.question(question));
            match verdict {
                Question::Ask if under_way < MOST_QUERIES => {
                    let query = Query::ask(question, client);
                    self.ask(query, names);
                }
                Question::Answered(answer) => drop(names.send_to(&answer, client)),
                Question::Ask | Question::Nonsense => {}
            }
        }
    }

    fn ask(&mut self, query: Option<Query>, names: &Arc<UdpSocket>) {
        let Some(query) = query else { return };
        if let Ok(number) = self.register(&query.socket, LEVEL) {
            self.keep(number, Source::Query(query, names.clone()));
        }
    }

    fn drop_late_queries(&mut self) {
        let now = Instant::now();
        let late = |source: &Source| matches!(source, Source::Query(query, _) if query.deadline <= now);
        let numbers: Vec<u64> =
            self.sources.iter().filter(|(_, source)| late(source)).map(|(number, _)| *number).collect();
        for number in numbers {
            if let Some(Source::Query(query, names)) = self.sources.remove(&number) {
                self.ask(query.ask_next(), &names);
            }
        }
    }

    /// None waits for ever.
    fn timeout(&self) -> Option<Timespec> {
        if !self.busy.is_empty() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let deadlines = self.sources.values().filter_map(|source| match source {
            Source::Query(query, _) => Some(query.deadline),
            _ => None,
        });
        let left = deadlines.min()?.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        Some(Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::net::SocketAddr;

    use super::*;

    /// Connects, says a byte and hears it back.
    fn talk(address: SocketAddr) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"x")?;
        stream.read_exact(&mut [0])?;
        Ok(stream)
    }

    fn echo(listener: TcpListener) {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            if stream.read_exact(&mut [0]).and_then(|()| stream.write_all(b"x")).is_ok() {
                open.push(stream);
            }
        }
    }

    #[test]
    fn connections_beyond_the_most_are_refused_until_one_ends() {
        let target = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let host = target.local_addr().expect("address");
        std::thread::spawn(|| echo(target));
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let address = socket.local_addr().expect("address");
        let relay = Relay {
            netns: File::open("/proc/self/ns/net").expect("namespace").into(),
            listeners: vec![Listener { socket, target: Target::Host(host) }],
            dns: None,
            guard: None,
            own_address: None,
        };
        let serving = relay.start().expect("start");
        let mut open: Vec<TcpStream> =
            (0..MOST_CONNECTIONS).map(|_| talk(address).expect("within the most")).collect();
        assert_eq!(serving.activity.open(), MOST_CONNECTIONS);
        assert!(talk(address).is_err(), "one too many");
        // Reset, so that both directions are over at once.
        let ended = open.pop().expect("one");
        reset(&ended);
        drop(ended);
        while serving.activity.open() == MOST_CONNECTIONS {
            std::thread::yield_now();
        }
        talk(address).expect("room again");
    }
}
