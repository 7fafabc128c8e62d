//! What the test program does inside a sandbox, as `probe VERB …`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// Exit status: 0 where it worked, 1 where it was refused, 2 where it made no sense.
pub(crate) fn run(arguments: &[String]) -> u8 {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let worked = match words[..] {
        ["hog", megabytes] => hog(megabytes),
        ["fork", count] => fork(count),
        ["call", name] => call(name),
        ["fetch", address] => fetch(address),
        ["echo", address] => echo(address),
        ["resolve", server] => resolve(server),
        ["overwrite", path] => overwrite(path),
        _ => return 2,
    };
    match worked {
        Ok(()) => 0,
        Err(error) => {
            super::say(&format!("probe: {error}"));
            1
        }
    }
}

fn number(text: &str) -> std::io::Result<usize> {
    text.parse().map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidInput))
}

/// Touches that much memory.
fn hog(megabytes: &str) -> std::io::Result<()> {
    let memory = vec![1u8; number(megabytes)? * 1024 * 1024];
    super::say(&format!("touched {}", std::hint::black_box(&memory).len()));
    Ok(())
}

/// Has that many children at once.
fn fork(count: &str) -> std::io::Result<()> {
    for made in 0..number(count)? {
        // SAFETY: the child only waits.
        match unsafe { libc::fork() } {
            -1 => {
                let error = std::io::Error::last_os_error();
                super::say(&format!("forked {made}"));
                return Err(error);
            }
            0 => loop {
                // SAFETY: waits for a signal.
                unsafe { libc::pause() };
            },
            _ => {}
        }
    }
    Ok(())
}

/// Makes one system call that is to be refused.
fn call(name: &str) -> std::io::Result<()> {
    // SAFETY: the arguments are numbers and constant strings.
    let result = unsafe {
        match name {
            "unshare" => i64::from(libc::unshare(libc::CLONE_NEWUSER)),
            "clone" => libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0),
            "clone3" => libc::syscall(libc::SYS_clone3, 0, 0),
            "keyctl" => libc::syscall(libc::SYS_keyctl, 0, 0),
            "bpf" => libc::syscall(libc::SYS_bpf, 0, 0, 0),
            "io_uring" => libc::syscall(libc::SYS_io_uring_setup, 1, 0),
            "sethostname" => i64::from(libc::sethostname(c"other".as_ptr(), 5)),
            "raw" => i64::from(libc::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)),
            "ping" => i64::from(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP)),
            "mknod" => {
                i64::from(libc::mknod(c"/tmp/device".as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(1, 3)))
            }
            "tiocsti" => i64::from(libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr())),
            _ => 0,
        }
    };
    if result == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Connects, says `hello` and prints the answer.
fn fetch(address: &str) -> std::io::Result<()> {
    let address = address.parse().map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(3))?;
    stream.write_all(b"hello")?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    super::say(&answer);
    Ok(())
}

/// Serves one connection after another: what comes goes back, after `guest:`.
fn echo(address: &str) -> std::io::Result<()> {
    let listener = TcpListener::bind(address)?;
    super::say("listening");
    loop {
        let (mut stream, _) = listener.accept()?;
        let mut text = b"guest:".to_vec();
        stream.read_to_end(&mut text)?;
        stream.write_all(&text)?;
    }
}

/// Asks a name server and prints the answer.
fn resolve(server: &str) -> std::io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    socket.send_to(b"\x12\x34 a question", server)?;
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer)?;
    super::say(&String::from_utf8_lossy(&answer[2..length]));
    Ok(())
}

fn overwrite(path: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new().append(true).open(path)?.write_all(b"x")
}
